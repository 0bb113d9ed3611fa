//! `candor top` looks at gateways that forward.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use candor_io::process;
use candor_io::signal::Signal;
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{InputFlags, LocalFlags, OutputFlags, tcgetattr};
use serde_json::Value;

use crate::candor::{Run, program};
use crate::frames::{classic, send, sender_on};
use crate::require::{Bus, Feature, require};

const PATIENCE: Duration = Duration::from_secs(60);

/// A route on each side, and one that the other file takes.
const CAR: &str = "[bus.left]\ninterface = \"t-left\"\nbitrate = \"500kbit/s\"\n[bus.right]\ninterface = \"t-right\"\n\
                   [[route]]\nname = \"kernel\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\n\
                   [[route]]\nname = \"user\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"456\"\npayload = \"01\"\n";
const DOORS: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [[route]]\nname = \"doors\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"124\"\n";

#[test]
#[ignore = "runs in a guest"]
fn gateways_are_found_and_looked_at() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let run = |gateway: &'static str, engine: &'static str, file: &str| {
        let run_dir = folder.path().to_owned();
        Run { gateway, engine, run_dir, uid: None }.start_from(&folder.path().join(file))
    };
    let nobody = said(top(folder.path(), &["--once"]));
    assert!(nobody.0 == Some(2) && nobody.1.contains("no gateway is running in this network namespace"), "{nobody:?}");

    let car = run(CAR, "auto", "car.toml");
    let sender = sender_on(left.index);
    let mut looks = top(folder.path(), &["--json", "--interval", "500ms"]);
    while looks.try_wait().unwrap().is_none() {
        for id in [0x123, 0x456] {
            send(&sender, &classic(id, &[1, 2]));
        }
        std::thread::sleep(Duration::from_millis(1));
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
    assert!(unclear.0 == Some(2) && unclear.1.contains("select one: candor top FILE"), "{unclear:?}");
    let by_name = said(top(folder.path(), &["doors", "--once", "--interval", "100ms"]));
    assert!(by_name.0 == Some(0) && by_name.1.contains("kernel engine, up 00:00:0"), "{by_name:?}");
    assert!(by_name.1.contains("doors  left -> right  kernel"), "{by_name:?}");
    let other = said(top(folder.path(), &["lights", "--once"]));
    assert!(other.0 == Some(2) && other.1.contains("no gateway is running lights"), "{other:?}");

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

/// On a terminal that this test plays: it ends by either key and by a signal, and leaves the terminal as it was.
#[test]
#[ignore = "runs in a guest"]
fn the_live_view_gives_the_terminal_back() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("doors.toml");
    let doors = Run { gateway: DOORS, engine: "read-write", run_dir: folder.path().to_owned(), uid: None };
    let doors = doors.start_from(&file);
    for key in [Some("q"), Some("\x03"), None] {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).unwrap();
        let before = modes(&slave);
        let mut command = Command::new(program());
        command.args(["top", "doors", "--interval", "100ms"]).env("CANDOR_RUN_DIR", folder.path()).env("TERM", "xterm");
        let copy = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(copy()).stdout(copy()).stderr(copy());
        let mut top = process::lead_terminal(&mut command).spawn().unwrap();
        let mut terminal = File::from(master);
        let (pieces, shown) = mpsc::channel();
        let mut reader = terminal.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut bytes) {
                if pieces.send(String::from_utf8_lossy(&bytes[..len]).into_owned()).is_err() {
                    break;
                }
            }
        });
        let mut screen = String::new();
        let mut see = |words: &str| {
            while !screen.contains(words) {
                screen +=
                    &shown.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{key:?}: no {words:?} in {screen:?}"));
            }
        };
        see("t-right");
        // Rates need a second look.
        see("FRAMES/s");
        match key {
            Some(key) => terminal.write_all(key.as_bytes()).unwrap(),
            None => process::terminate(top.id()).unwrap(),
        }
        assert!(top.wait().unwrap().success(), "{key:?}");
        // The screen of before.
        see("\u{1b}[?1049l");
        assert_eq!(modes(&slave), before, "{key:?}");
    }
    doors.end(Signal::Terminate);
}

/// What a terminal does with what is typed and shown; the kernel leaves some of the rest undefined.
fn modes(terminal: &OwnedFd) -> (InputFlags, OutputFlags, LocalFlags) {
    let settings = tcgetattr(terminal).unwrap();
    (settings.input_flags, settings.output_flags, settings.local_flags)
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
