//! Interfaces that are unplugged, replaced or renamed, jobs that another program deletes, an unloaded module: the gateway
//! reports it and resumes, without disturbing other routes. Also lost events, a second candor, and qdiscs that drop frames.

use candor_egress::discipline::Discipline;
use candor_io::guest;

use crate::errors::unload_cangw;
use crate::hazards::ETF;
use crate::kernel::flush;
use crate::prelude::*;
use crate::queues;

const SILENCE: Duration = Duration::from_millis(50);
/// Longer than candor takes to look at the interfaces.
const A_LOOK: Duration = Duration::from_millis(300);

/// The interfaces of `over` disappear; `beside` shares its source, `other` shares nothing with it.
const ROUTES: [(&str, &str, &str); 3] =
    [("over", "left", "right"), ("beside", "left", "third"), ("other", "fourth", "third")];

fn gateway(user_routes: &[&str]) -> String {
    let one = |(name, from, to): &(&str, &str, &str)| {
        let user = if user_routes.contains(name) { "payload = \"0?\"\nmax-age = \"10s\"" } else { "" };
        route(name, from, to, &format!("frames = \"classic\"\necho = true\n{user}"))
    };
    buses(&["left", "right", "third", "fourth"]) + &ROUTES.iter().map(one).collect::<String>()
}

/// All routes on one side with each kind of receiver and sender, and split with `over` on either side.
fn setups() -> [(&'static str, String); 8] {
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

fn scene() -> Option<Scenario> {
    Scenario::new(VCAN_AND_CANGW, ["left", "right", "third", "fourth"])
}

impl Scenario {
    /// Sends a frame, which must arrive once.
    fn passes(&self, from: &str, to: &str) -> bool {
        let listener = self.listener(to);
        send(&self.sender(from), &classic(0x123, &[1, 2, 3]));
        hear(&listener, PATIENCE).is_some() && hear(&listener, SILENCE).is_none()
    }

    #[track_caller]
    fn other_route_passes(&self, setup: &str) {
        assert!(self.passes("fourth", "third"), "{setup}: a route with all its interfaces has stopped");
    }

    fn replace(&mut self, bus: &str) {
        self.unplug(bus);
        self.plug_in(bus);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn resumes_when_an_interface_is_back() {
    for (engine, text) in setups() {
        for unplugged in ["left", "right"] {
            let setup = format!("{engine}, {unplugged} unplugged:\n{text}");
            let Some(mut place) = scene() else { return };
            let candor = place.start(&text, engine);
            assert!(place.passes("left", "right"), "{setup}");
            // candor keeps the kernel's counters of its last look.
            look();

            place.unplug(unplugged);
            let name = format!("t-{unplugged}");
            let notice = candor.notice();
            assert!(
                notice.starts_with(&format!("Interface {name} (bus \"{unplugged}\") is gone")),
                "{setup}: {notice}"
            );
            place.other_route_passes(&setup);
            if unplugged == "right" {
                assert!(place.passes("left", "third"), "{setup}: a route of the same source has stopped");
            }

            place.plug_in(unplugged);
            assert_eq!(candor.notice(), format!("Interface {name} is back; its routes continue"), "{setup}");
            wait_until_up(&candor, &name);
            assert!(place.passes("left", "right"), "{setup}: not after it is back");
            place.other_route_passes(&setup);

            look();
            assert_eq!(candor.stop().counted("over")[0], 2, "{setup}");
            assert_eq!(place.jobs(), []);
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn notices_an_interface_that_is_replaced_at_once() {
    for (engine, text) in setups() {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        place.replace("right");
        candor.notice_with("Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        assert!(place.passes("left", "right"), "{engine}");
        candor.stop();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn adopts_jobs_of_an_interface_that_was_replaced() {
    let Some(mut place) = scene() else { return };
    let text = gateway(&["other"]);
    let candor = place.start(&text, "auto");
    place.replace("right");
    candor.notice_with("is back");
    let pid = candor.pid();
    candor.kill();
    let next = place.start(&text, "auto");
    let notice = format!("Adopted 2 can-gw jobs of candor process {pid}, which died");
    assert!(next.before_ready.iter().any(|event| event["text"] == notice), "{:?}", next.before_ready);
    assert_eq!(place.jobs().len(), 2);
    next.stop();
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn a_renamed_interface_stays_in_use() {
    for (engine, text) in setups() {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        // Kernels before 6.2 rename only interfaces that are down.
        place.bus("right").set_down();
        assert!(candor.notice().starts_with("Interface t-right is down"), "{engine}");
        link::rename(&mut Client::open().unwrap(), place.index("right"), "t-new").unwrap();
        let notice = candor.notice();
        assert!(notice.starts_with("Interface t-right (bus \"right\") was renamed to t-new"), "{engine}: {notice}");
        place.bus("right").set_up();
        assert_eq!(candor.notice(), "Interface t-new is up again");
        assert!(place.passes("left", "right"), "{engine}");

        // After its end candor waits for the name in the file.
        place.unplug("right");
        let notice = candor.notice();
        assert!(notice.starts_with("Interface t-new (bus \"right\") is gone"), "{engine}: {notice}");
        assert!(notice.contains("wait for an interface t-right"), "{engine}: {notice}");
        place.plug_in("right");
        assert_eq!(candor.notice(), "Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        assert!(place.passes("left", "right"), "{engine}");
        candor.stop();
    }
}

#[test]
#[ignore = "runs in a guest"]
fn restores_deleted_jobs_in_order() {
    let Some(place) = scene() else { return };
    // In the same receive list, where the order matters.
    let one = |number| {
        let keys = format!("frames = \"classic\"\nmatch = \"10{number}:7FF\"\necho = true");
        route(&format!("r{number}"), "left", "right", &keys)
    };
    let candor = place.start(&(LEFT_RIGHT.to_owned() + &(0..5).map(one).collect::<String>()), "kernel");
    let ids = || place.jobs().iter().map(|job| job.filter.id).collect::<Vec<_>>();
    let all = [0x100, 0x101, 0x102, 0x103, 0x104];
    assert_eq!(ids(), all);
    settle();
    flush();
    look();
    let notice = candor.notice();
    assert!(notice.starts_with("Another program deleted 5 can-gw jobs of route \"r0\""), "{notice}");
    assert_eq!(ids(), all);
    for deleted in 1..4 {
        settle();
        cangw::delete(&mut Client::open().unwrap(), &place.jobs()[deleted]).unwrap();
        look();
        let notice = candor.notice();
        assert!(
            notice.starts_with(&format!("Another program deleted 1 can-gw job of route \"r{deleted}\"")),
            "{notice}"
        );
        assert_eq!(ids(), all, "after r{deleted} was deleted");
    }
    candor.stop();
    assert_eq!(place.jobs(), []);
}

#[test]
#[ignore = "runs in a guest"]
fn ends_if_its_jobs_are_deleted_repeatedly() {
    let Some(place) = scene() else { return };
    // The user-space route still forwards, until the gateway ends.
    let candor = place.start(&gateway(&["other"]), "auto");
    for _ in 0..5 {
        settle();
        flush();
        look();
        assert!(candor.notice().starts_with("Another program deleted 2 can-gw jobs of route \"over\""));
        place.other_route_passes("auto");
    }
    settle();
    flush();
    look();
    let words = ["another program keeps deleting the can-gw jobs of route", "5 times within 300 s"];
    candor.wait().assert_refused(&words);
    assert_eq!(place.jobs(), []);
    assert_eq!(place.run_dir.path().read_dir().unwrap().count(), 1, "only the lock is left");
}

#[test]
#[ignore = "runs in a guest"]
fn installs_its_jobs_again_after_a_module_reload() {
    for (engine, text) in [("kernel", gateway(&[])), ("auto", gateway(&["other"]))] {
        let Some(place) = scene() else { return };
        let candor = place.start(&text, engine);
        let before = place.jobs().len();
        assert!(place.passes("left", "right"), "{engine}");
        let Ok(Some(file)) = unload_cangw() else { return };
        look();
        let notice = candor.notice();
        assert!(notice.starts_with("The kernel module can-gw was unloaded"), "{engine}: {notice}");
        if engine == "auto" {
            place.other_route_passes(engine);
        }
        guest::load_module(&fs::read(file).unwrap(), "").unwrap();
        // No event: candor looks at intervals.
        assert!(candor.notice().starts_with("The kernel module can-gw is loaded again"), "{engine}");
        assert_eq!(place.jobs().len(), before, "{engine}");
        assert!(place.passes("left", "right"), "{engine}");
        candor.stop();
        assert_eq!(place.jobs(), []);
    }
}

/// Waits until candor has seen all events of interfaces.
fn settle() {
    std::thread::sleep(Duration::from_millis(1500));
}

/// Makes candor look with a new interface, and waits until it has looked.
fn look() {
    let _nudge = Bus::new("nudge");
    std::thread::sleep(A_LOOK);
}

/// Waits until candor has seen that a new interface is up.
fn wait_until_up(candor: &Candor, name: &str) {
    // There is no notice if candor saw it up at first.
    std::thread::sleep(A_LOOK);
    while let Some(notice) = candor.notice_now() {
        assert!(notice.starts_with(&format!("Interface {name} is")), "{notice}");
    }
}

/// While candor is stopped, there are more events than its socket holds.
#[test]
#[ignore = "runs in a guest"]
fn notices_changes_after_lost_events() {
    const STORM: usize = 400;

    for (engine, text) in setups() {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        process::pause(candor.pid()).unwrap();
        for _ in 0..STORM {
            drop(Bus::new("storm"));
        }
        place.replace("right");
        process::resume(candor.pid()).unwrap();
        candor.notice_with("Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        assert!(place.passes("left", "right"), "{engine}");
        // Further events arrive.
        place.unplug("right");
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        candor.stop();
    }
}

/// One candor waits for an interface, and another one starts as soon as it is back.
#[test]
#[ignore = "runs in a guest"]
fn two_candors_do_not_double_frames_of_a_replaced_interface() {
    for engine in ["kernel", "read-write"] {
        let Some(mut place) = scene() else { return };
        let text = gateway(&[]);
        let first = place.start(&text, engine);
        process::pause(first.pid()).unwrap();
        // All interfaces, or the second candor is refused for the other routes.
        ["left", "right", "third", "fourth"].into_iter().for_each(|bus| place.replace(bus));
        let second = place.start(&text, engine);
        process::resume(first.pid()).unwrap();
        let error = format!("is already run by another candor (process {})", second.pid());
        first.wait().assert_refused(&[&error]);
        assert!(place.passes("left", "right"), "{engine}: lost or doubled");
        place.other_route_passes(engine);
        second.stop();
        assert_eq!(place.jobs(), []);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn reports_a_qdisc_that_drops_frames() {
    let text = gateway(&[]);
    for engine in ["kernel", "read-write"] {
        let Some(mut place) = scene() else { return };
        let candor = place.start(&text, engine);
        let set_etf = |place: &Scenario| {
            queues::set_root(place.index("right"), Discipline::Etf(ETF));
            assert!(candor.notice().starts_with("t-right has the qdisc etf"), "{engine}");
        };
        set_etf(&place);
        // It is reported again after its removal, and on a replaced interface.
        queues::delete_root(place.index("right"));
        look();
        set_etf(&place);
        place.unplug("right");
        assert!(candor.notice().starts_with("Interface t-right (bus \"right\") is gone"), "{engine}");
        place.plug_in("right");
        candor.notice_with("Interface t-right is back; its routes continue");
        wait_until_up(&candor, "t-right");
        set_etf(&place);
        look();
        assert_eq!(candor.notice_now(), None, "{engine}: reported twice");
        candor.stop();
    }
}
