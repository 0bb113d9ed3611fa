//! Adapters with several channels, and `candor-lab precision` with the log of the buses as reference.

use std::thread;

use super::injected::done;
use super::*;
use crate::methods::figures;

const BUSES: &str = "--bus near:500k:t-send,t-monitor,t-gate-in --bus away:500k:t-gate-out,t-receive";
const ENDS: [&str; 6] = ["--send", "t-send", "--monitor", "t-monitor", "--receive", "t-receive"];
/// The clock of the adapter counts microseconds.
const TICK_NS: i64 = 1000;

/// The device of an adapter in sysfs.
fn adapter(name: &str) -> PathBuf {
    fs::canonicalize(format!("/sys/class/net/{name}/device")).unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn an_adapter_can_have_a_channel_on_each_of_two_buses() {
    let Some(wire) = Wire::start("--bus b0:500k:t-a,t-b --bus b1:125k:t-c,t-d --adapter t-b,t-d --adapter t-c") else {
        return;
    };
    assert_eq!(adapter("t-b"), adapter("t-d"));
    assert_ne!(adapter("t-b"), adapter("t-a"));
    assert_ne!(adapter("t-b"), adapter("t-c"));

    let sockets = ["t-a", "t-b", "t-c", "t-d"].map(open);
    let [a, b, c, d] = &sockets;
    // Both directions on both buses, and no frame crosses.
    for (from, to, id) in [(a, b, 0x100), (b, a, 0x101), (c, d, 0x200), (d, c, 0x201)] {
        let frames: Vec<Frame> = (0..50).map(|number| classic(id, &[number])).collect();
        send_all(from, &frames);
        assert_eq!(receive(to, frames.len()), frames);
    }
    thread::sleep(Duration::from_millis(50));
    for socket in &sockets {
        assert_eq!(hear(socket, Duration::ZERO), None);
    }

    // Unplugging the adapter removes both channels.
    done(&wire, "unplug t-b");
    for name in ["t-b", "t-d"] {
        wait_until("the channel is deleted", || index(name).is_none());
    }
    done(&wire, "replug t-d");
    assert_eq!(adapter("t-b"), adapter("t-d"));
    let [b, d] = ["t-b", "t-d"].map(open);
    for (from, to) in [(a, &b), (c, &d)] {
        send_all(from, &[classic(0x321, &[7])]);
        assert_eq!(receive(to, 1)[0].data[0], 7);
    }
    let ended = wire.end();
    assert_eq!(ended.last["is_valid"], true, "{}", ended.last);
    let frames = |bus: &str| ended.frames().iter().filter(|logged| logged.bus == bus).count();
    assert_eq!((frames("b0"), frames("b1")), (101, 101));
}

fn file(wire: &Wire) -> String {
    let text =
        "engine = \"read-write\"\n[bus.first]\ninterface = \"t-gate-in\"\n[bus.second]\ninterface = \"t-gate-out\"\n"
            .to_owned()
            + &route("all", "first", "second", "");
    let path = wire.folder.path().join("all.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// 30 frames, with and without a gateway, by the timestamps of the tester and by the log of the buses.
fn precision(wire: &Wire, further: &[&str]) -> Value {
    let pace = ["--frames", "30", "--warm-up", "5", "--loads", "none", "--wire-bitrate", "500kbit/s"];
    let witness = ["--buses", "near", "away", "--wire-log", wire.log.to_str().unwrap(), &file(wire)];
    figures(&[&["precision", "--tap", "t-gate-in"], &ENDS[..], &pace[..], further, &witness[..]].concat())
}

#[test]
#[ignore = "runs in a guest"]
fn compares_timestamps_with_the_wire() {
    let Some(wire) = Wire::start(BUSES) else { return };
    let all = precision(&wire, &[]);
    let own = &all["own"][0];
    assert_eq!((&own["stamps"]["count"], &own["stamps"]["min_ns"]), (&30.into(), &0.into()), "{own}");
    assert!(own["sending"]["min_ns"].as_i64().unwrap() > 0, "{own}");
    let witnessed = &all["witnessed"];
    assert_eq!((&witnessed["gateway"], &witnessed["unseen"]), (&"all".into(), &0.into()));
    assert_eq!(witnessed["difference"]["count"], 30, "{witnessed}");
    // Warm-up and 30 frames on both buses, and the same without a gateway on the first.
    let log = wire.end().frames();
    let on = |bus: &str| log.iter().filter(|logged| logged.bus == bus).count();
    assert_eq!((on("near"), on("away")), (70, 35));
    // The latency contains the second bus: a frame of two bytes has at least 60 bits.
    let shortest = witnessed["by_witness"]["min_ns"].as_u64().unwrap();
    assert!(shortest > 60 * BIT_NS, "{witnessed}");
}

#[test]
#[ignore = "runs in a guest"]
fn timestamps_of_the_adapter_agree_with_the_wire() {
    let Some(wire) = Wire::start(&format!("{BUSES} --adapter t-monitor,t-gate-in,t-receive")) else { return };
    let witnessed = precision(&wire, &["--stamps", "hardware"])["witnessed"].take();
    let difference = |of: &str| witnessed["difference"][of].as_i64().unwrap();
    assert_eq!((difference("count"), &witnessed["unseen"]), (30, &0.into()), "{witnessed}");
    // Each of the two timestamps is rounded down to a tick.
    assert!(difference("min_ns") > -TICK_NS && difference("max_ns") < TICK_NS, "{witnessed}");
    let stamps = ["min_ns", "p50_ns", "max_ns"].map(|of| witnessed["by_stamps"][of].as_i64().unwrap());
    assert!(stamps.iter().all(|ns| ns % TICK_NS == 0), "timestamps of the adapter: {witnessed}");
    wire.end();
}

#[test]
#[ignore = "runs in a guest"]
fn refuses_timestamps_of_two_clocks() {
    let Some(wire) = Wire::start(BUSES) else { return };
    let mut tester = Command::new(lab());
    tester
        .arg("tester")
        .args(ENDS)
        .args(["--stamps", "hardware", "--records"])
        .arg(wire.folder.path())
        .arg(file(&wire));
    output(&mut tester).assert(2, &["t-monitor and t-receive are not channels of one adapter"]);
    assert_eq!(wire.end().frames().len(), 0, "nothing was sent");
}
