//! `--metrics` of a gateway that forwards.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use candor_io::signal::{self, Signal};

use crate::candor::program;
use crate::frames::{classic, send, sender_on};
use crate::require::{Bus, Feature, require};

const PATIENCE: Duration = Duration::from_secs(60);
const GATEWAY: &str = "engine = \"auto\"\n[bus.left]\ninterface = \"t-left\"\nbitrate = \"500kbit/s\"\n[bus.right]\ninterface = \"t-right\"\n\
                       [[route]]\nname = \"kernel\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\n\
                       [[route]]\nname = \"user\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"456\"\npayload = \"01\"\n";

#[test]
#[ignore = "runs in a guest"]
fn both_sides_are_counted_for_whoever_asks() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("metrics.sock");
    let mut candor = command(folder.path(), &format!("unix:{}", place.display()));
    let candor = candor.arg("--latency").spawn().unwrap();
    wait_until("the socket is there", || place.exists());
    let ask = || talk(UnixStream::connect(&place).unwrap());
    wait_until("the gateway runs", || ask().contains("candor_uptime_seconds"));

    let sender = sender_on(left.index);
    for (id, payload) in [(0x123, &[1][..]), (0x123, &[1]), (0x456, &[1, 2, 3])] {
        send(&sender, &classic(id, payload));
    }
    let handled = |route: &str, side: &str, frames: u32| {
        format!(
            "candor_route_handled_frames_total{{route=\"{route}\",from=\"left\",to=\"right\",side=\"{side}\"}} {frames}\n"
        )
    };
    wait_until("all frames are counted", || {
        let text = ask();
        text.contains(&handled("kernel", "kernel", 2)) && text.contains(&handled("user", "user", 1))
    });
    let text = ask();
    assert!(text.ends_with("# EOF\n"), "{text}");
    // Its ring may hear those of the kernel's route, too, until it knows that there are such.
    assert!(text.contains("candor_bus_taken_frames_total{bus=\"left\",interface=\"t-left\"} 1\n"), "{text}");
    assert!(text.contains("candor_bus_up{bus=\"right\",interface=\"t-right\"} 1\n"), "{text}");
    let of_user = "route=\"user\",from=\"left\",to=\"right\",side=\"user\"";
    for line in [
        format!("candor_route_handled_bytes_total{{{of_user}}} 3\n"),
        format!("candor_route_latency_seconds_count{{{of_user}}} 1\n"),
        format!("candor_route_latency_seconds_bucket{{le=\"+Inf\",{of_user}}} 1\n"),
        // As Linux counts: a virtual interface receives what it sends.
        "candor_interface_frames_total{bus=\"left\",interface=\"t-left\",direction=\"sent\"} 3\n".into(),
        "candor_interface_bytes_total{bus=\"left\",interface=\"t-left\",direction=\"sent\"} 5\n".into(),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
    assert!(!text.contains("bytes_total{route=\"kernel\""), "can-gw counts no bytes: {text}");
    // Of the bus whose bit rate the file says: 3 frames with 5 bytes, 47 to 96 bits and 8 to 10.
    let busy = |bound: &str, seconds: &str| {
        format!("candor_bus_busy_seconds_total{{bus=\"left\",interface=\"t-left\",bound=\"{bound}\"}} {seconds}\n")
    };
    assert!(text.contains(&busy("least", "0.000362")) && text.contains(&busy("most", "0.000676")), "{text}");
    assert!(!text.contains("candor_bus_busy_seconds_total{bus=\"right\""), "{text}");
    assert!(!text.contains("candor_bus_queue_frames{"), "virtual interfaces have no queue: {text}");
    right.set_down();
    assert!(ask().contains("candor_bus_up{bus=\"right\",interface=\"t-right\"} 0\n"));
    end(candor);
    assert!(!place.exists(), "the socket goes with the gateway");
}

#[test]
#[ignore = "runs in a guest"]
fn a_port_that_is_taken_keeps_the_gateway_from_starting() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = command(folder.path(), &address).stderr(Stdio::piped()).output().unwrap();
    let says = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && says.contains("address in use"), "{says}");
    drop(taken);
    let candor = run(folder.path(), &address);
    wait_until("somebody answers", || {
        TcpStream::connect(&address).is_ok_and(|stream| talk(stream).contains("candor_build_info"))
    });
    end(candor);
}

fn command(folder: &Path, address: &str) -> Command {
    let file = folder.join("gateway.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let mut command = Command::new(program());
    command.arg("run").arg(file).args(["--metrics", address]).env("CANDOR_RUN_DIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn run(folder: &Path, address: &str) -> Child {
    command(folder, address).spawn().unwrap()
}

fn end(mut candor: Child) {
    signal::send(candor.id(), Signal::Terminate).unwrap();
    assert!(candor.wait().unwrap().success());
}

fn talk(mut stream: impl Read + Write) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
