//! Interfaces that are unplugged, come back or get another name, jobs that somebody deletes, a module that is unloaded:
//! the gateway says so and goes on, and the routes that it does not concern notice nothing.

mod noticed;

use std::path::Path;
use std::time::Duration;

use candor_io::guest;
use candor_io::signal::Signal;
use candor_netlink::cangw::{self, CangwJob};
use candor_netlink::client::Client;
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_REQUEST};
use candor_netlink::link;

use crate::candor::{Candor, Run};
use crate::errors::require_module_away;
use crate::frames::{classic, hear, listener_on, send, sender_on};
use crate::require::{Bus, Feature, jobs_between, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];
const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(50);
/// Longer than candor takes for a look.
const A_LOOK: Duration = Duration::from_millis(300);

/// `over` is the route whose interfaces go; `beside` shares its source, `other` shares nothing with it.
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [bus.third]\ninterface = \"t-third\"\n[bus.fourth]\ninterface = \"t-fourth\"\n";
const ROUTES: [(&str, &str, &str); 3] =
    [("over", "left", "right"), ("beside", "left", "third"), ("other", "fourth", "third")];

/// With these keys a route is in user space.
const FOR_USER_SPACE: &str = "payload = \"0?\"\n";

fn gateway(user_routes: &[&str]) -> String {
    let route = |(name, from, to): &(&str, &str, &str)| {
        let keys = if user_routes.contains(name) { FOR_USER_SPACE } else { "" };
        format!(
            "[[route]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nframes = \"classic\"\necho = true\n{keys}"
        )
    };
    BUSES.to_owned() + &ROUTES.iter().map(route).collect::<String>()
}

/// All ways to run the routes: on one side with each kind of receiver and sender, and split with either side having the
/// route whose interfaces go.
fn ways() -> [(&'static str, String); 8] {
    [
        ("kernel", gateway(&[])),
        ("read-write", gateway(&[])),
        ("mmap-adaptive", gateway(&[])),
        ("mmapbusy-write", gateway(&[])),
        ("mmsg-mmsg", gateway(&[])),
        ("uring-uring", gateway(&[])),
        ("auto", gateway(&["over"])),
        ("auto", gateway(&["beside", "other"])),
    ]
}

fn run<'a>(gateway: &'a str, engine: &'a str, run_dir: &Path) -> Run<'a> {
    Run { gateway, engine, run_dir: run_dir.to_owned(), uid: None }
}

struct Place {
    left: Bus,
    right: Bus,
    third: Bus,
    fourth: Bus,
    run_dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let [left, right, third, fourth] = ["left", "right", "third", "fourth"].map(Bus::new);
        Self { left, right, third, fourth, run_dir: tempfile::tempdir().unwrap() }
    }

    fn jobs(&self) -> Vec<CangwJob> {
        jobs_between(&[&self.left, &self.right, &self.third, &self.fourth])
    }

    /// The other route still forwards.
    #[track_caller]
    fn other_goes_on(&self, way: &str) {
        assert!(passes(&self.fourth, &self.third), "{way}: a route whose interfaces are all there has stopped");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_comes_back_is_used_again() {
    let Some(_machine) = require(NEEDS) else { return };
    for (engine, text) in ways() {
        for unplugged in ["left", "right"] {
            let way = format!("{engine}, {unplugged} unplugged:\n{text}");
            let mut place = Place::new();
            let candor = run(&text, engine, place.run_dir.path()).start();
            assert!(passes(&place.left, &place.right), "{way}");
            // What the kernel has counted up to a look is kept.
            look();

            let gone = if unplugged == "left" { &place.left } else { &place.right };
            delete(gone);
            let name = format!("t-{unplugged}");
            let said = candor.notice();
            assert!(said.starts_with(&format!("Interface {name} (bus \"{unplugged}\") is gone")), "{way}: {said}");
            place.other_goes_on(&way);
            if unplugged == "right" {
                assert!(passes(&place.left, &place.third), "{way}: a route of the same source has stopped");
            }

            *(if unplugged == "left" { &mut place.left } else { &mut place.right }) = Bus::new(unplugged);
            let said = candor.notice();
            assert_eq!(said, format!("Interface {name} is back; its routes continue"), "{way}");
            wait_until_up(&candor, &name);
            assert!(passes(&place.left, &place.right), "{way}: not after it came back");
            place.other_goes_on(&way);

            look();
            let ended = candor.end(Signal::Terminate);
            assert!(ended.status.success(), "{ended:?}");
            let counters = ended.event("final-counters")["routes"].clone();
            assert_eq!(
                (&counters[0]["route"], &counters[0]["handled"]),
                (&"over".into(), &2.into()),
                "{way}: {counters}"
            );
            assert_eq!(place.jobs(), []);
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_is_replaced_at_once_is_noticed() {
    let Some(_machine) = require(NEEDS) else { return };
    for (engine, text) in ways() {
        let mut place = Place::new();
        let candor = run(&text, engine, place.run_dir.path()).start();
        delete(&place.right);
        place.right = Bus::new("right");
        while candor.notice() != "Interface t-right is back; its routes continue" {}
        wait_until_up(&candor, "t-right");
        assert!(passes(&place.left, &place.right), "{engine}");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}

#[test]
#[ignore = "runs in a guest"]
fn what_died_after_an_interface_came_back_is_adopted() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    let text = gateway(&["other"]);
    let candor = run(&text, "auto", place.run_dir.path()).start();
    delete(&place.right);
    place.right = Bus::new("right");
    while !candor.notice().contains("is back") {}
    let pid = candor.pid();
    candor.kill();
    let next = run(&text, "auto", place.run_dir.path()).start();
    let said = format!("Adopted 2 can-gw jobs of candor process {pid}, which died");
    assert!(next.before_ready.iter().any(|event| event["text"] == said), "{:?}", next.before_ready);
    assert_eq!(place.jobs().len(), 2);
    assert!(next.end(Signal::Terminate).status.success());
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_with_another_name_stays_in_use() {
    let Some(_machine) = require(NEEDS) else { return };
    for (engine, text) in ways() {
        let mut place = Place::new();
        let candor = run(&text, engine, place.run_dir.path()).start();
        let mut client = Client::open().unwrap();
        // Kernels before 6.2 rename only what is down.
        place.right.set_down();
        assert!(candor.notice().starts_with("Interface t-right is down"), "{engine}");
        link::rename(&mut client, place.right.index, "t-new").unwrap();
        let said = candor.notice();
        assert!(said.starts_with("Interface t-right (bus \"right\") was renamed to t-new"), "{engine}: {said}");
        place.right.set_up();
        assert_eq!(candor.notice(), "Interface t-new is up again");
        assert!(passes(&place.left, &place.right), "{engine}");

        // When it goes, the name in the file is waited for.
        delete(&place.right);
        let said = candor.notice();
        assert!(said.starts_with("Interface t-new (bus \"right\") is gone"), "{engine}: {said}");
        assert!(said.contains("wait for an interface t-right"), "{engine}: {said}");
        place.right = Bus::new("right");
        assert_eq!(candor.notice(), "Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        assert!(passes(&place.left, &place.right), "{engine}");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}

/// Five routes between the same buses and in the same receive list, so that their order matters.
fn ordered() -> String {
    let route = |number| {
        format!(
            "[[route]]\nname = \"r{number}\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\nmatch = \"10{number}:7FF\"\necho = true\n"
        )
    };
    BUSES.to_owned() + &(0..5).map(route).collect::<String>()
}

#[test]
#[ignore = "runs in a guest"]
fn deleted_jobs_are_put_back_in_their_order() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    let text = ordered();
    let candor = run(&text, "kernel", place.run_dir.path()).start();
    let ids = || place.jobs().iter().map(|job| job.filter.id).collect::<Vec<_>>();
    let all = [0x100, 0x101, 0x102, 0x103, 0x104];
    assert_eq!(ids(), all);
    settle();
    flush();
    look();
    let said = candor.notice();
    assert!(said.starts_with("Another program deleted 5 can-gw jobs of route \"r0\""), "{said}");
    assert_eq!(ids(), all);
    for deleted in 1..4 {
        settle();
        cangw::delete(&mut Client::open().unwrap(), &place.jobs()[deleted]).unwrap();
        look();
        let said = candor.notice();
        assert!(said.starts_with(&format!("Another program deleted 1 can-gw job of route \"r{deleted}\"")), "{said}");
        assert_eq!(ids(), all, "after r{deleted} was deleted");
    }
    assert!(candor.end(Signal::Terminate).status.success());
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn somebody_who_deletes_jobs_again_and_again_wins() {
    let Some(_machine) = require(NEEDS) else { return };
    let place = Place::new();
    // What is in user space is not concerned, but it ends with the rest.
    let text = gateway(&["other"]);
    let candor = run(&text, "auto", place.run_dir.path()).start();
    for _ in 0..5 {
        settle();
        flush();
        look();
        assert!(candor.notice().starts_with("Another program deleted 2 can-gw jobs of route \"over\""));
        place.other_goes_on("auto");
    }
    settle();
    flush();
    look();
    let ended = candor.wait();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(ended.errors.contains("another program keeps deleting the can-gw jobs of route"), "{}", ended.errors);
    assert!(ended.errors.contains("5 times within 300 s"), "{}", ended.errors);
    assert_eq!(place.jobs(), []);
    assert_eq!(place.run_dir.path().read_dir().unwrap().count(), 1, "only the lock is left");
}

#[test]
#[ignore = "runs in a guest"]
fn a_module_that_is_loaded_again_gets_its_jobs_back() {
    let Some(_machine) = require(NEEDS) else { return };
    for (engine, text) in [("kernel", gateway(&[])), ("auto", gateway(&["other"]))] {
        let place = Place::new();
        let candor = run(&text, engine, place.run_dir.path()).start();
        let before = place.jobs().len();
        assert!(passes(&place.left, &place.right), "{engine}");
        let Ok(Some(file)) = require_module_away() else { return };
        look();
        let said = candor.notice();
        assert!(said.starts_with("The kernel module can-gw was unloaded"), "{engine}: {said}");
        if engine == "auto" {
            place.other_goes_on(engine);
        }
        guest::load_module(&std::fs::read(file).unwrap(), "").unwrap();
        // Nothing nudges it: it looks by itself.
        assert!(candor.notice().starts_with("The kernel module can-gw is loaded again"), "{engine}");
        assert_eq!(place.jobs().len(), before, "{engine}");
        assert!(passes(&place.left, &place.right), "{engine}");
        assert!(candor.end(Signal::Terminate).status.success());
        assert_eq!(place.jobs(), []);
    }
}

/// Sends a frame and says whether it arrives, once.
fn passes(from: &Bus, to: &Bus) -> bool {
    let listener = listener_on(to.index);
    send(&sender_on(from.index), &classic(0x123, &[1, 2, 3]));
    hear(&listener, PATIENCE).is_some() && hear(&listener, SILENCE).is_none()
}

fn delete(bus: &Bus) {
    link::delete(&mut Client::open().unwrap(), bus.index).unwrap();
}

/// `cangw -F`: a request to delete whose interfaces are 0.
fn flush() {
    let mut message = MessageWriter::new(RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&[AF_CAN, CGW_TYPE_CAN_CAN, 0, 0]).attribute(CGW_SRC_IF, &[0; 4]).attribute(CGW_DST_IF, &[0; 4]);
    Client::open().unwrap().request(message).unwrap();
}

const RTM_DELROUTE: u16 = 25;
const AF_CAN: u8 = 29;
const CGW_TYPE_CAN_CAN: u8 = 1;
const CGW_SRC_IF: u16 = 9;
const CGW_DST_IF: u16 = 10;

/// Waits until the kernel has told of all that was done to interfaces, which makes candor look.
fn settle() {
    std::thread::sleep(Duration::from_millis(1500));
}

/// Makes candor look: any interface that appears does that. Waits until it has looked.
fn look() {
    let _nudge = Bus::new("nudge");
    std::thread::sleep(A_LOOK);
}

/// Waits until candor has seen that a new interface is up.
fn wait_until_up(candor: &Candor, name: &str) {
    // It may have been up already when it was seen first.
    std::thread::sleep(A_LOOK);
    while let Some(said) = candor.notice_now() {
        let expected = said.starts_with(&format!("Interface {name} is"));
        assert!(expected, "{said}");
    }
}
