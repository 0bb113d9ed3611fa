//! `--metrics` of a running gateway.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::prelude::*;

/// One route in the kernel and one in user space.
pub(crate) fn split_gateway() -> String {
    let left = "[bus.left]\ninterface = \"t-left\"\nbitrate = \"500kbit/s\"\n".to_owned();
    left + &buses(&["right"])
        + &route("kernel", "left", "right", "match = \"123\"")
        + &route("user", "left", "right", "match = \"456\"\npayload = \"01\"\nmax-age = \"10s\"")
}

#[test]
#[ignore = "runs in a guest"]
fn metrics_cover_both_engines() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let place = scene.files.path().join("metrics.sock");
    let mut candor = command(&scene, &format!("unix:{}", place.display()));
    let candor = Guarded::spawn(candor.arg("--latency"));
    // The file exists a moment before anything listens.
    wait_until("the gateway runs", || {
        UnixStream::connect(&place).is_ok_and(|stream| talk(stream).contains("candor_uptime_seconds"))
    });
    let ask = || talk(UnixStream::connect(&place).unwrap());

    let sender = scene.sender("left");
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
    let user = "route=\"user\",from=\"left\",to=\"right\",side=\"user\"";
    // The bus has a bit rate: 3 frames with 5 bytes, 47 to 96 bits and 8 to 10.
    let busy = |bound: &str, seconds: &str| {
        format!("candor_bus_busy_seconds_total{{bus=\"left\",interface=\"t-left\",bound=\"{bound}\"}} {seconds}\n")
    };
    for line in [
        // The ring may also receive frames of the kernel route, before its filter is set.
        "candor_bus_taken_frames_total{bus=\"left\",interface=\"t-left\"} 1\n".into(),
        "candor_bus_up{bus=\"right\",interface=\"t-right\"} 1\n".into(),
        format!("candor_route_handled_bytes_total{{{user}}} 3\n"),
        format!("candor_route_latency_seconds_count{{{user}}} 1\n"),
        format!("candor_route_latency_seconds_bucket{{le=\"+Inf\",{user}}} 1\n"),
        // As Linux counts: a virtual interface receives what it sends.
        "candor_interface_frames_total{bus=\"left\",interface=\"t-left\",direction=\"sent\"} 3\n".into(),
        "candor_interface_bytes_total{bus=\"left\",interface=\"t-left\",direction=\"sent\"} 5\n".into(),
        busy("least", "0.000362"),
        busy("most", "0.000676"),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
    for (absent, because) in [
        ("bytes_total{route=\"kernel\"", "can-gw counts no bytes"),
        ("candor_bus_busy_seconds_total{bus=\"right\"", "the bus has no bit rate"),
        ("candor_bus_queue_frames{", "virtual interfaces have no queue"),
    ] {
        assert!(!text.contains(absent), "{because}: {text}");
    }
    scene.bus("right").set_down();
    assert!(ask().contains("candor_bus_up{bus=\"right\",interface=\"t-right\"} 0\n"));
    terminate(candor);
    assert!(!place.exists(), "the socket is removed at the end");
}

#[test]
#[ignore = "runs in a guest"]
fn a_port_in_use_keeps_the_gateway_from_starting() {
    let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    output(&mut command(&scene, &address)).assert(2, &["address in use"]);
    drop(taken);
    let candor = Guarded::spawn(&mut command(&scene, &address));
    wait_until("the port answers", || {
        TcpStream::connect(&address).is_ok_and(|stream| talk(stream).contains("candor_build_info"))
    });
    terminate(candor);
}

fn command(scene: &Scenario, address: &str) -> Command {
    let file = scene.file("gateway.toml", &("engine = \"auto\"\n".to_owned() + &split_gateway()));
    let mut command = scene.command(&["run", &file, "--metrics", address]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Those of the only gateway with this run directory.
pub(crate) fn of_run_dir(folder: &Path) -> String {
    let files = folder.read_dir().unwrap().map(|file| file.unwrap().path());
    let sockets: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "metrics")).collect();
    let [socket] = &*sockets else { panic!("{sockets:?}") };
    talk(UnixStream::connect(socket).unwrap())
}

pub(crate) fn talk(mut stream: impl Read + Write) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
