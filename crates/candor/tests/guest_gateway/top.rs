//! `candor top` with running gateways.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc;

use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{InputFlags, LocalFlags, OutputFlags, tcgetattr};

use crate::metrics::split_gateway;
use crate::prelude::*;

const PATIENCE: Duration = Duration::from_secs(60);

impl Scenario {
    fn start_from(&self, gateway: &str, engine: &str, file: &str) -> Candor {
        self.run(gateway, engine).start_from(&self.files.path().join(file))
    }

    fn top(&self, arguments: &[&str]) -> Output {
        self.candor(&[&["top"], arguments].concat())
    }
}

fn doors() -> String {
    LEFT_RIGHT.to_owned() + &route("doors", "left", "right", "match = \"124\"")
}

#[test]
#[ignore = "runs in a guest"]
fn shows_the_counters_of_running_gateways() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    scene.top(&["--once"]).assert(2, &["no gateway is running in this network namespace"]);

    let car = scene.start_from(&split_gateway(), "auto", "car.toml");
    let sender = scene.sender("left");
    let mut top = scene.command(&["top", "--json", "--interval", "500ms"]).stdout(Stdio::piped()).spawn().unwrap();
    while top.try_wait().unwrap().is_none() {
        for id in [0x123, 0x456] {
            send(&sender, &classic(id, &[1, 2]));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let top = top.wait_with_output().unwrap();
    assert!(top.status.success(), "{top:?}");
    let seen: Value = serde_json::from_slice(&top.stdout).unwrap();
    assert!(seen["gateway"].as_str().unwrap().ends_with(&format!("car.toml, process {}", car.pid())), "{seen}");
    for (at, side, byte_rate) in [(0, "kernel", false), (1, "user", true)] {
        let route = &seen["routes"][at];
        assert_eq!((&route["route"], &route["side"]), (&side.into(), &side.into()));
        assert!(route["frames_per_s"].as_f64().unwrap() > 0.0, "{seen}");
        assert_eq!(route["byte_per_s"].as_f64().is_some_and(|rate| rate > 0.0), byte_rate, "{seen}");
        assert!(route["p99_at_most_s"].is_null(), "latencies need an option");
    }
    let bus = &seen["buses"][0];
    assert!(bus["state"] == "up" && bus["sent_per_s"].as_f64().unwrap() > 0.0, "{seen}");
    let load = |bound: &str| bus[bound].as_f64().unwrap();
    assert!(0.0 < load("load_least") && load("load_least") < load("load_most"), "{seen}");
    assert!(seen["buses"][1]["load_most"].is_null(), "without a bit rate: {seen}");

    // A second gateway, in the kernel only.
    let doors = scene.start_from(&doors(), "kernel", "doors.toml");
    scene.top(&["--once"]).assert(2, &["select one: candor top FILE"]);
    let words = ["kernel engine, up 00:00:0", "doors  left -> right  kernel"];
    scene.top(&["doors", "--once", "--interval", "100ms"]).assert(0, &words);
    scene.top(&["lights", "--once"]).assert(2, &["no gateway is running lights"]);

    // A killed gateway is not shown, and the next start removes its file.
    car.kill();
    scene.top(&["--once", "--interval", "100ms"]).assert(0, &["doors.toml"]);
    doors.stop();
    let again = scene.start_from(&self::doors(), "kernel", "doors.toml");
    let files = || {
        let files = fs::read_dir(scene.run_dir.path()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "metrics")).count()
    };
    assert_eq!(files(), 1, "that of the running one");
    again.stop();
    assert_eq!(files(), 0);
}

/// Programs of a gateway, with their byte rate unknown as that of can-gw jobs is.
#[test]
#[ignore = "runs in a guest"]
fn shows_the_counters_of_programs() {
    let Some(scene) = Scenario::new(&[VCAN, &[Feature::Programs]].concat(), ["left", "right"]) else { return };
    let doors = scene.start_from(&doors(), "bpf", "doors.toml");
    let sender = scene.sender("left");
    let mut top = scene.command(&["top", "--json", "--interval", "500ms"]).stdout(Stdio::piped()).spawn().unwrap();
    while top.try_wait().unwrap().is_none() {
        send(&sender, &classic(0x124, &[1, 2]));
        std::thread::sleep(Duration::from_millis(1));
    }
    let top = top.wait_with_output().unwrap();
    assert!(top.status.success(), "{top:?}");
    let seen: Value = serde_json::from_slice(&top.stdout).unwrap();
    let route = &seen["routes"][0];
    assert_eq!((&route["route"], &route["side"]), (&"doors".into(), &"bpf".into()));
    assert!(route["frames_per_s"].as_f64().unwrap() > 0.0 && route["byte_per_s"].is_null(), "{seen}");
    let words = ["bpf engine, up 00:00:0", "doors  left -> right  bpf"];
    scene.top(&["--once", "--interval", "100ms"]).assert(0, &words);
    doors.stop();
}

/// On a pseudo terminal: it ends by either key and by a signal, and restores the terminal.
#[test]
#[ignore = "runs in a guest"]
fn live_view_restores_the_terminal() {
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let doors = scene.start_from(&doors(), "read-write", "doors.toml");
    for key in [Some("q"), Some("\x03"), None] {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).unwrap();
        let before = modes(&slave);
        let mut command = scene.command(&["top", "doors", "--interval", "100ms"]);
        command.env("TERM", "xterm");
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
        // Rates need a second sample.
        see("FRAMES/s");
        match key {
            Some(key) => terminal.write_all(key.as_bytes()).unwrap(),
            None => process::terminate(top.id()).unwrap(),
        }
        assert!(top.wait().unwrap().success(), "{key:?}");
        // The main screen.
        see("\u{1b}[?1049l");
        assert_eq!(modes(&slave), before, "{key:?}");
    }
    doors.stop();
}

/// Without the control modes, of which the kernel leaves some undefined.
fn modes(terminal: &OwnedFd) -> (InputFlags, OutputFlags, LocalFlags) {
    let settings = tcgetattr(terminal).unwrap();
    (settings.input_flags, settings.output_flags, settings.local_flags)
}
