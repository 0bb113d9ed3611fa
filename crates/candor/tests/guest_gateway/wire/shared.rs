//! One adapter with a channel on each of two buses.

use std::thread;

use super::injected::done;
use super::*;

/// The device of an adapter in sysfs.
fn adapter(name: &str) -> PathBuf {
    fs::canonicalize(format!("/sys/class/net/{name}/device")).unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn an_adapter_can_have_a_channel_on_each_of_two_buses() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start("--bus b0:500k:t-a,t-b --bus b1:125k:t-c,t-d --adapter t-b,t-d --adapter t-c");
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
