//! What is said when something is missing: each its own words, and what to type.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_core::frame::CANFD_MTU;
use candor_io::signal::Signal;
use candor_io::{guest, module};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::candor::{Candor, Ended, Run, notices};
use crate::frames::{listener_on, send, sender_on};
use crate::kernel;
use crate::require::{Bus, Feature, is_there, jobs_between, require, skip};

const ENGINES: [&str; 2] = ["kernel", "read-write"];
const NOBODY: u32 = 65534;
const FRAME: &str = "123#010203";
const PATIENCE: Duration = Duration::from_secs(20);

fn gateway(right: &str) -> String {
    format!(
        "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"{right}\"\n\
         [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\n"
    )
}

fn run<'a>(gateway: &'a str, engine: &'a str, run_dir: &Path) -> Run<'a> {
    Run { gateway, engine, run_dir: run_dir.to_owned(), uid: None }
}

#[track_caller]
fn says(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    for word in words {
        assert!(ended.errors.contains(word), "no {word:?} in {:?}", ended.errors);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_missing_interface() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, _right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    for engine in ENGINES {
        let typed = run(&gateway("t-rihgt"), engine, run_dir.path()).fails();
        says(&typed, &["interface t-rihgt (bus \"right\") not found", "did you mean t-right?"]);
        let virtual_one = run(&gateway("vcan77"), engine, run_dir.path()).fails();
        says(&virtual_one, &["interface vcan77 (bus \"right\") not found", "sudo ip link add dev vcan77 type vcan"]);
        let ethernet = run(&gateway("lo"), engine, run_dir.path()).fails();
        says(&ethernet, &["interface lo (bus \"right\") is not a CAN interface"]);
    }
    assert_eq!(jobs_between(&[&left]), []);
}

#[test]
#[ignore = "runs in a guest"]
fn missing_privilege() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let text = gateway("t-right");
    let ended = Run { uid: Some(NOBODY), ..run(&text, "kernel", run_dir.path()) }.fails();
    says(&ended, &["CAP_NET_ADMIN", "--engine read-write"]);
    assert_eq!(jobs_between(&[&left, &right]), []);
    // What the message offers is true.
    let candor = Run { uid: Some(NOBODY), ..run(&text, "read-write", run_dir.path()) }.start();
    assert!(candor.end(Signal::Terminate).status.success());
    // What leaves it to candor finds out by itself.
    let candor = Run { uid: Some(NOBODY), ..run(&text, "auto", run_dir.path()) }.start();
    runs_in_user_space(candor, &right, &["CAP_NET_ADMIN", "run it as root"]);
    let only_kernel = text + "keep-timestamp = true\n";
    let ended = Run { uid: Some(NOBODY), ..run(&only_kernel, "auto", run_dir.path()) }.fails();
    says(&ended, &["neither in the kernel", "CAP_NET_ADMIN", "nor in user space", "time stamp", "run it as root"]);
    assert_eq!(jobs_between(&[&left, &right]), []);
}

/// All routes are in user space, which is told with these words, and a frame passes.
fn runs_in_user_space(candor: Candor, right: &Bus, words: &[&str]) {
    let said = notices(&candor.before_ready).into_iter().find(|text| text.contains("All routes run in user space"));
    let said = said.unwrap_or_else(|| panic!("{:?}", candor.before_ready));
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
    assert_eq!(candor.before_ready.iter().filter(|event| event["side"] == "kernel").count(), 0);
    let listener = listener_on(right.index);
    let left = link::by_name(&mut Client::open().unwrap(), "t-left").unwrap().unwrap().index;
    send(&sender_on(left), &FRAME.parse().unwrap());
    assert_eq!(listener.read(&mut [0; CANFD_MTU]).unwrap(), 16);
    assert!(candor.end(Signal::Terminate).status.success());
}

#[test]
#[ignore = "runs in a guest"]
fn a_missing_cangw_module() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let was_there = require_module_away();
    let Ok(file) = was_there else { return };
    let (_left, right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let ended = run(&gateway("t-right"), "kernel", run_dir.path()).fails();
    let text = gateway("t-right");
    runs_in_user_space(run(&text, "auto", run_dir.path()).start(), &right, &["not loaded", "sudo modprobe can-gw"]);
    let only_kernel = run(&(text + "hop-limit = 2\n"), "auto", run_dir.path()).fails();
    says(&only_kernel, &["neither in the kernel", "not loaded", "nor in user space", "hops", "sudo modprobe can-gw"]);
    if let Some(file) = file {
        guest::load_module(&std::fs::read(file).unwrap(), "").unwrap();
    }
    says(&ended, &["module can-gw is not loaded", "sudo modprobe can-gw"]);
    assert!(!ended.errors.contains("CAP_NET_ADMIN"), "{}", ended.errors);
}

/// Takes can-gw out of the kernel; gives the file to put it back from, or `None` if it was not there.
pub(crate) fn require_module_away() -> Result<Option<PathBuf>, ()> {
    let is_loaded = std::fs::read_to_string("/proc/modules").unwrap_or_default().contains("can_gw ");
    if !is_loaded && !Path::new("/sys/module/can_gw").exists() {
        return Ok(None);
    }
    let Some(file) = kernel::cangw_file().filter(|_| is_there(Feature::Modules)) else { return Err(()) };
    module::unload("can_gw").unwrap();
    Ok(Some(file))
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_is_down() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    for engine in ENGINES {
        right.set_down();
        let text = gateway("t-right");
        let candor = run(&text, engine, run_dir.path()).start();
        let said = notices(&candor.before_ready);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("Interface t-right is down"), "{said:?}");
        assert!(said[0].ends_with("sudo ip link set t-right up"), "{said:?}");
        send(&sender_on(left.index), &FRAME.parse().unwrap());
        wait_until_dropped(&candor, &left, engine);
        // Frames pass as soon as it is up, without a restart.
        right.set_up();
        let listener = listener_on(right.index);
        send(&sender_on(left.index), &FRAME.parse().unwrap());
        assert_eq!(listener.read(&mut [0; CANFD_MTU]).unwrap(), 16);
        let ended = candor.end(Signal::Terminate);
        let route = &ended.event("final-counters")["routes"][0];
        assert_eq!((&route["handled"], &route["dropped"]), (&1.into(), &1.into()), "{engine}");
    }
}

/// Waits until the frame that was sent has been dropped: neither the kernel nor a thread does that within the `write()`, and
/// on a busy machine it takes its time.
fn wait_until_dropped(candor: &Candor, left: &Bus, engine: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let is_dropped = if engine == "kernel" {
            jobs_between(&[left]).iter().any(|job| job.counters.dropped == 1)
        } else {
            // It tells when it looks, and any interface that appears makes it look.
            let _nudge = Bus::new("nudge");
            candor.notice_now().is_some_and(|said| said.starts_with("Frames to t-right are dropped"))
        };
        if is_dropped {
            return;
        }
        assert!(Instant::now() < deadline, "{engine}: the frame was not dropped");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_that_goes_down_and_up_again_is_told() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (_left, right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let text = gateway("t-right");
    for engine in ENGINES {
        let candor = run(&text, engine, run_dir.path()).start();
        right.set_down();
        assert!(candor.notice().starts_with("Interface t-right is down"));
        right.set_up();
        assert_eq!(candor.notice(), "Interface t-right is up again");
        assert!(candor.end(Signal::Terminate).status.success());
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_bus_that_no_route_uses_is_left_alone() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let text = "[bus.unused]\ninterface = \"nosuch\"\n".to_owned() + &gateway("t-right");
    for engine in ENGINES {
        let candor = run(&text, engine, run_dir.path()).start();
        assert!(candor.end(Signal::Terminate).status.success());
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_hop_limit_beyond_that_of_the_module() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    if kernel::max_hops() != 1 {
        return skip(Feature::Cangw, "it is loaded with another max_hops than 1");
    }
    let (left, _right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let text = gateway("t-right") + "hop-limit = 2\n";
    let ended = run(&text, "kernel", run_dir.path()).fails();
    says(&ended, &["route \"over\" has hop limit 2", "max_hops=1", "modprobe can-gw max_hops=2"]);
    assert_eq!(jobs_between(&[&left]), []);
    let user_space = run(&text, "read-write", run_dir.path()).fails();
    says(&user_space, &["count the hops", "--engine kernel"]);
    let either = run(&text, "auto", run_dir.path()).fails();
    says(&either, &["neither in the kernel", "max_hops=1", "nor in user space", "count the hops", "max_hops=2"]);
}
