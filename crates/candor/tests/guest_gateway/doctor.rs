//! `candor doctor` and `candor engines` on a real kernel: their findings agree with `candor run`.

use std::os::unix::process::CommandExt;

use candor_config::engine::{Receiver, UserEngine};
use candor_io::version::Version;

use crate::kernel;
use crate::prelude::*;
use crate::queues;

const NOBODY: u32 = 65534;
/// `SO_BUSY_POLL` needs a privilege on 6.1, and none on 6.12.
const FREE_POLLING: Version = (6, 12, 0);

fn gateway(keys: &str) -> String {
    format!("{keys}\n{LEFT_RIGHT}{}", route("over", "left", "right", ""))
}

impl Scenario {
    /// Exit status, names of what is missing, and all findings.
    fn doctor(&self, file: Option<&str>, uid: Option<u32>) -> (i32, String, Value) {
        let mut command = self.command(&["doctor", "--json"]);
        command.args(file.map(|text| self.file("gateway.toml", text)));
        if let Some(uid) = uid {
            fs::set_permissions(self.files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            command.uid(uid).gid(uid);
        }
        let output = output(&mut command);
        let found = output.json();
        let checks = found["checks"].as_array().unwrap().iter();
        let missing =
            checks.filter(|check| check["verdict"] == "missing").map(|check| check["check"].as_str().unwrap());
        (output.status, missing.collect::<Vec<_>>().join(", "), found)
    }
}

fn check<'v>(found: &'v Value, section: &str, name: &str) -> &'v Value {
    let checks = found["checks"].as_array().unwrap();
    let is_it = |check: &&Value| check["section"].as_str().unwrap().starts_with(section) && check["check"] == name;
    checks.iter().find(is_it).unwrap_or_else(|| panic!("no {name} of {section} in {found:#}"))
}

#[test]
#[ignore = "runs in a guest"]
fn finds_nothing_missing_where_a_file_runs() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let text = gateway("engine = \"mmap-write\"\n[realtime]\nsched = \"fifo:30\"\ncpus = [0]\nlock-memory = true");
    let (status, missing, found) = scene.doctor(Some(&text), None);
    assert_eq!((status, missing.as_str()), (0, ""), "{found:#}");
    // vcan of recent kernels accepts CAN XL frames from the start.
    let links = link::list(&mut Client::open().unwrap()).unwrap();
    let mtu = links.iter().find(|link| link.name == "t-right").unwrap().mtu;
    let fd = match mtu {
        72 => "classic and FD frames (MTU 72)",
        _ => "classic and FD frames; CAN XL frames by eBPF programs only (MTU 2060)",
    };
    for (section, name, expected) in [
        ("kernel", "can-raw", "CAN_RAW sockets"),
        ("kernel", "engine", "mmap-write runs here"),
        ("this process", "sched", "any priority, by CAP_SYS_NICE"),
        ("CPUs", "cpus", "threads run on 0; 1 online (0)"),
        ("t-left", "interface", "vcan, up"),
        ("t-right", "qdisc", "noqueue"),
        ("t-right", "fd", fd),
    ] {
        let check = check(&found, section, name);
        assert_eq!((&check["verdict"], &check["found"]), (&"ok".into(), &expected.into()), "{check:#}");
    }
    scene.start(&text, "mmap-write").stop();
}

#[test]
#[ignore = "runs in a guest"]
fn finds_what_keeps_a_file_from_running() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    for (engine, keys, lacking) in [
        ("mmap-write", "", "engine, capabilities"),
        ("read-write", "sched = \"fifo:30\"", "sched"),
        ("read-write", "cpus = [0, 5]", "cpus"),
        ("read-write", "sched = \"other\"\ncpus = [0]", ""),
    ] {
        let text = gateway(&format!("engine = \"{engine}\"\n[realtime]\n{keys}"));
        let (status, missing, found) = scene.doctor(Some(&text), Some(NOBODY));
        assert_eq!((status, missing.as_str()), (i32::from(!lacking.is_empty()), lacking), "{keys}: {found:#}");
        let run = Run { uid: Some(NOBODY), ..scene.run(&text, engine) };
        if lacking.is_empty() {
            run.start().stop();
        } else {
            assert_eq!(run.fails().status.code(), Some(2), "{keys}");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn finds_changes_of_an_interface() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let right = scene.index("right");
    scene.bus("left").set_down();
    queues::delay(right, Duration::ZERO, 100);
    link::set_tx_queue_len(&mut Client::open().unwrap(), right, 10).unwrap();
    let text = gateway("engine = \"read-write\"");
    let (status, missing, found) = scene.doctor(Some(&text), None);
    assert_eq!((status, missing.as_str()), (1, "interface"), "{found:#}");
    assert_eq!(check(&found, "t-left", "interface")["remedy"], "sudo ip link set t-left up");
    for name in ["qdisc", "txqueuelen"] {
        assert_eq!(check(&found, "t-right", name)["verdict"], "weak", "{found:#}");
    }
    scene.unplug("right");
    let (status, missing, found) = scene.doctor(Some(&text), None);
    assert_eq!((status, missing.as_str()), (1, "interface, interface"), "{found:#}");
    assert!(check(&found, "t-right", "interface")["found"].as_str().unwrap().contains("t-left"), "{found:#}");
}

#[test]
#[ignore = "runs in a guest"]
fn checks_every_interface_without_a_file() {
    let Some(scene) = Scenario::new(VCAN, ["left"]) else { return };
    let all = || link::list(&mut Client::open().unwrap()).unwrap();
    let before = all();
    let (status, missing, found) = scene.doctor(None, None);
    assert_eq!((status, missing.as_str()), (0, ""), "{found:#}");
    for link in before.iter().filter(|link| link.can.is_some()) {
        check(&found, &link.name, "interface");
    }
    scene.bus("left").set_down();
    let (status, _, found) = scene.doctor(None, None);
    assert_eq!((status, &check(&found, "t-left", "interface")["verdict"]), (0, &"weak".into()), "{found:#}");
    scene.bus("left").set_up();
    assert_eq!(all(), before, "nothing has changed");
}

#[test]
#[ignore = "runs in a guest"]
fn engines_with_rings_need_privileges() {
    let Some(scene) = Scenario::new(VCAN, []) else { return };
    let of_root = scene.json(&["engines"]);
    let all = of_root["engines"].as_array().unwrap();
    assert_eq!(all.len(), UserEngine::all().count());
    assert!(all.iter().all(|engine| engine["runs_here"] == true), "{of_root:#}");
    assert_eq!(of_root["auto_user_engine"], "mmap-adaptive");
    assert_eq!(of_root["bpf"]["runs_here"], is_there(Feature::Programs), "{of_root:#}");

    let of_nobody = output(scene.command(&["engines", "--json"]).uid(NOBODY).gid(NOBODY)).json();
    assert_eq!(of_nobody["auto_user_engine"], "read-write");
    for (engine, described) in UserEngine::all().zip(of_nobody["engines"].as_array().unwrap()) {
        if engine.receiver().has_ring() || engine.sender().has_ring() {
            assert_eq!(described["runs_here"], false, "{described}");
            // The receiver's reason comes first.
            let because = match engine.receiver() {
                Receiver::ReadBusy if kernel::version() < FREE_POLLING => "SO_BUSY_POLL needs CAP_NET_ADMIN",
                _ => "packet rings need CAP_NET_RAW",
            };
            assert_eq!(described["because"], because, "{described}");
        }
        if engine == UserEngine::PLAINEST {
            assert_eq!(described["runs_here"], true, "{described}");
        }
    }
}
