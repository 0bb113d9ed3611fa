//! `candor top --once` looks at gateways that forward.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::can::{CanSocket, Options};
use candor_io::signal::Signal;
use serde_json::Value;

use crate::candor::{Run, program};
use crate::require::{Bus, Feature, require};

/// A route on each side, and one that the other file takes.
const CAR: &str = "[bus.left]\ninterface = \"t-left\"\nbitrate = \"500kbit/s\"\n[bus.right]\ninterface = \"t-right\"\n\
                   [[route]]\nname = \"kernel\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\n\
                   [[route]]\nname = \"user\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"456\"\npayload = \"01\"\n";
const DOORS: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"doors\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"124\"\n";

#[test]
fn gateways_are_found_and_looked_at() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let run = |gateway: &'static str, engine: &'static str, file: &str| {
        let run_dir = folder.path().to_owned();
        Run { gateway, engine, run_dir, uid: None }.start_from(&folder.path().join(file))
    };
    let nobody = said(top(folder.path(), &["--once"]));
    assert!(nobody.0 == Some(2) && nobody.1.contains("No candor runs in this network namespace"), "{nobody:?}");

    let car = run(CAR, "auto", "car.toml");
    let sender = CanSocket::open(left.index, &Options { filters: &[], ..Options::default() }).unwrap();
    let mut looks = top(folder.path(), &["--json", "--interval", "500ms"]);
    while looks.try_wait().unwrap().is_none() {
        for id in [0x123, 0x456] {
            let mut bytes = [0; CANFD_MTU];
            let len = Frame::classic(RawId(id), &[1, 2]).unwrap().to_kernel(&mut bytes);
            sender.write(&bytes[..len]).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let (status, text) = said(looks);
    assert_eq!(status, Some(0), "{text}");
    let seen: Value = serde_json::from_str(&text).unwrap();
    assert!(seen["gateway"].as_str().unwrap().ends_with(&format!("car.toml, process {}", car.pid())), "{seen}");
    for (at, side, byte_rate) in [(0, "kernel", false), (1, "user", true)] {
        let route = &seen["routes"][at];
        assert_eq!((&route["route"], &route["side"]), (&side.into(), &side.into()));
        assert!(route["frames_per_s"].as_f64().unwrap() > 0.0, "{seen}");
        assert_eq!(route["byte_per_s"].as_f64().is_some_and(|rate| rate > 0.0), byte_rate, "{seen}");
        assert!(route["p99_at_most_s"].is_null(), "nobody asked for latencies");
    }
    let bus = &seen["buses"][0];
    assert!(bus["state"] == "up" && bus["sent_per_s"].as_f64().unwrap() > 0.0, "{seen}");
    let load = |bound: &str| bus[bound].as_f64().unwrap();
    assert!(0.0 < load("load_least") && load("load_least") < load("load_most"), "{seen}");
    assert!(seen["buses"][1]["load_most"].is_null(), "nobody knows its bit rate: {seen}");

    // A gateway that is all in the kernel, beside it.
    let doors = run(DOORS, "kernel", "doors.toml");
    let unclear = said(top(folder.path(), &["--once"]));
    assert!(unclear.0 == Some(2) && unclear.1.contains("say which by its file, candor top FILE"), "{unclear:?}");
    let by_name = said(top(folder.path(), &["doors", "--once", "--interval", "100ms"]));
    assert!(by_name.0 == Some(0) && by_name.1.contains("kernel engine, up 00:00:0"), "{by_name:?}");
    assert!(by_name.1.contains("doors  left -> right  kernel"), "{by_name:?}");
    let other = said(top(folder.path(), &["lights", "--once"]));
    assert!(other.0 == Some(2) && other.1.contains("No candor runs lights"), "{other:?}");

    // What a killed one leaves is no gateway, and the next one takes it away.
    car.kill();
    let alone = said(top(folder.path(), &["--once", "--interval", "100ms"]));
    assert!(alone.0 == Some(0) && alone.1.contains("doors.toml"), "{alone:?}");
    doors.end(Signal::Terminate);
    let again = run(DOORS, "kernel", "doors.toml");
    let places = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "metrics")).count()
    };
    assert_eq!(places(), 1, "that of the one that runs");
    again.end(Signal::Terminate);
    assert_eq!(places(), 0);
}

fn top(run_dir: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(program());
    command.arg("top").args(args).env("CANDOR_RUN_DIR", run_dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How it ended, and what it said.
fn said(top: Child) -> (Option<i32>, String) {
    let output = top.wait_with_output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(text).unwrap())
}
