//! `candor doctor` on a real kernel: what it says is what `candor run` then meets, and what was set is what it finds.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use candor_io::signal::Signal;
use candor_netlink::client::Client;
use candor_netlink::link;
use serde_json::Value;

use crate::candor::{Run, program};
use crate::queues;
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const NOBODY: u32 = 65534;
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\n";

/// The exit status and what was found.
fn doctor(file: Option<&str>, uid: Option<u32>) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.toml");
    let mut command = Command::new(program());
    command.args(["doctor", "--json"]);
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
        command.arg(&path);
    }
    if let Some(uid) = uid {
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        command.uid(uid).gid(uid);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let found = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    (output.status.code().unwrap(), found)
}

/// One check of one section.
fn check<'v>(found: &'v Value, section: &str, name: &str) -> &'v Value {
    let checks = found["checks"].as_array().unwrap();
    let is_it = |check: &&Value| check["section"].as_str().unwrap().starts_with(section) && check["check"] == name;
    checks.iter().find(is_it).unwrap_or_else(|| panic!("no {name} of {section} in {found:#}"))
}

fn missing(found: &Value) -> Vec<&str> {
    let checks = found["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["verdict"] == "missing").map(|check| check["check"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "runs in a guest"]
fn a_machine_that_can_run_a_file_is_told_so_and_runs_it() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = (Bus::new("left"), Bus::new("right"));
    let text =
        format!("engine = \"mmap-write\"\n[realtime]\nsched = \"fifo:30\"\ncpus = [0]\nlock-memory = true\n{BUSES}");
    let (status, found) = doctor(Some(&text), None);
    assert_eq!((status, missing(&found)), (0, Vec::new()), "{found:#}");
    for (section, name, says) in [
        ("kernel", "can-raw", "CAN_RAW sockets"),
        ("kernel", "engine", "mmap-write runs here"),
        ("this process", "sched", "any priority, by CAP_SYS_NICE"),
        ("CPUs", "cpus", "threads run on 0; 1 online (0)"),
        ("t-left", "interface", "vcan, up"),
        ("t-right", "qdisc", "noqueue"),
        ("t-right", "fd", "classic and FD frames (MTU 72)"),
    ] {
        let check = check(&found, section, name);
        assert_eq!((&check["verdict"], &check["found"]), (&"ok".into(), &says.into()), "{check:#}");
    }
    let run_dir = tempfile::tempdir().unwrap();
    let run = Run { gateway: &text, engine: "mmap-write", run_dir: run_dir.path().to_owned(), uid: None };
    assert!(run.start().end(Signal::Terminate).status.success());
}

#[test]
#[ignore = "runs in a guest"]
fn what_is_missing_for_a_file_is_what_keeps_it_from_running() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = (Bus::new("left"), Bus::new("right"));
    for (engine, keys, lacking) in [
        ("mmap-write", "", vec!["engine", "capabilities"]),
        ("read-write", "sched = \"fifo:30\"", vec!["sched"]),
        ("read-write", "cpus = [0, 5]", vec!["cpus"]),
        ("read-write", "sched = \"other\"\ncpus = [0]", vec![]),
    ] {
        let text = format!("engine = \"{engine}\"\n[realtime]\n{keys}\n{BUSES}");
        let (status, found) = doctor(Some(&text), Some(NOBODY));
        assert_eq!((status, missing(&found)), (i32::from(!lacking.is_empty()), lacking.clone()), "{keys}: {found:#}");
        let run_dir = tempfile::tempdir().unwrap();
        let run = Run { gateway: &text, engine, run_dir: run_dir.path().to_owned(), uid: Some(NOBODY) };
        if lacking.is_empty() {
            assert!(run.start().end(Signal::Terminate).status.success());
        } else {
            assert_eq!(run.fails().status.code(), Some(2), "{keys}");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn what_somebody_does_to_an_interface_is_found() {
    let Some(_machine) = require(NEEDS) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let mut client = Client::open().unwrap();
    left.set_down();
    queues::delay(right.index, Duration::ZERO, 100);
    link::set_tx_queue_len(&mut client, right.index, 10).unwrap();
    let text = format!("engine = \"read-write\"\n{BUSES}");
    let (status, found) = doctor(Some(&text), None);
    assert_eq!((status, missing(&found)), (1, vec!["interface"]), "{found:#}");
    assert_eq!(check(&found, "t-left", "interface")["remedy"], "sudo ip link set t-left up");
    for name in ["qdisc", "txqueuelen"] {
        assert_eq!(check(&found, "t-right", name)["verdict"], "weak", "{found:#}");
    }
    drop(right);
    let (status, found) = doctor(Some(&text), None);
    assert_eq!((status, missing(&found)), (1, vec!["interface", "interface"]), "{found:#}");
    assert!(check(&found, "t-right", "interface")["found"].as_str().unwrap().contains("t-left"), "{found:#}");
}

#[test]
#[ignore = "runs in a guest"]
fn without_a_file_every_interface_is_looked_at_and_nothing_changes() {
    let Some(_machine) = require(NEEDS) else { return };
    let bus = Bus::new("left");
    let all = || link::list(&mut Client::open().unwrap()).unwrap();
    let before = all();
    let (status, found) = doctor(None, None);
    assert_eq!((status, missing(&found)), (0, Vec::new()), "{found:#}");
    for link in before.iter().filter(|link| link.can.is_some()) {
        check(&found, &link.name, "interface");
    }
    bus.set_down();
    let (status, found) = doctor(None, None);
    assert_eq!((status, &check(&found, "t-left", "interface")["verdict"]), (0, &"weak".into()), "{found:#}");
    bus.set_up();
    assert_eq!(all(), before);
}
