//! `--metrics` of a gateway that forwards.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use candor_core::frame::{CANFD_MTU, Frame, RawId};
use candor_io::can::{CanSocket, Options};
use candor_io::signal::{self, Signal};

use crate::candor::program;
use crate::require::{Bus, Feature, require};

const PATIENCE: Duration = Duration::from_secs(60);
const GATEWAY: &str = "engine = \"auto\"\n[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                       [[route]]\nname = \"kernel\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"123\"\n\
                       [[route]]\nname = \"user\"\nfrom = \"left\"\nto = \"right\"\nmatch = \"456\"\npayload = \"01\"\n";

#[test]
fn both_sides_are_counted_for_whoever_asks() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("metrics.sock");
    let candor = run(folder.path(), &format!("unix:{}", place.display()));
    wait_until("the socket is there", || place.exists());
    let ask = || talk(UnixStream::connect(&place).unwrap());
    wait_until("the gateway runs", || ask().contains("candor_uptime_seconds"));

    let sender = CanSocket::open(left.index, &Options { filters: &[], ..Options::default() }).unwrap();
    for id in [0x123, 0x123, 0x456] {
        let mut bytes = [0; CANFD_MTU];
        let len = Frame::classic(RawId(id), &[1]).unwrap().to_kernel(&mut bytes);
        sender.write(&bytes[..len]).unwrap();
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
    assert!(text.contains("candor_bus_received_frames_total{bus=\"left\",interface=\"t-left\"} 1\n"), "{text}");
    assert!(text.contains("candor_bus_up{bus=\"right\",interface=\"t-right\"} 1\n"), "{text}");
    right.set_down();
    assert!(ask().contains("candor_bus_up{bus=\"right\",interface=\"t-right\"} 0\n"));
    end(candor);
    assert!(!place.exists(), "the socket goes with the gateway");
}

#[test]
fn a_port_that_is_taken_keeps_the_gateway_from_starting() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = command(folder.path(), &address).stderr(Stdio::piped()).output().unwrap();
    let says = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && says.contains("somebody else is there"), "{says}");
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
