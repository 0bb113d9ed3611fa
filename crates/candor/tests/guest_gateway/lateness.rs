//! A slow bus: which frames find no room, which become too old, and that every frame is counted.

use crate::prelude::*;
use crate::queues;

/// One engine for each receiver and each sender.
const ENGINES: [&str; 4] = ["read-write", "mmap-adaptive", "mmsg-mmsg", "uring-uring"];
/// Frames that the queue of the slow bus holds.
const ROOM: u32 = 50;
/// Frames that candor keeps at most.
const KEPT: u32 = 64;
const SECOND: Duration = Duration::from_secs(1);
const NEVER: Duration = Duration::from_secs(60);

/// The counters of the only route, of which each drop has a reason.
fn counted(candor: Candor) -> Value {
    let route = candor.stop().routes()[0].clone();
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(number(&route["matched"]), number(&route["handled"]) + number(&route["dropped"]), "{route}");
    let with_reason: u64 = route["drops"].as_object().unwrap().values().map(number).sum();
    assert_eq!(with_reason, number(&route["dropped"]), "{route}");
    route
}

#[test]
#[ignore = "runs in a guest"]
fn counts_every_frame_of_a_slow_bus() {
    const DROP_OLDEST: &str = "when-full = \"drop-oldest\"";
    // io_uring receives no timestamps, which `candor check` reports.
    const WITH_STAMPS: [&str; 4] = ["read-write", "read-mmsg", "mmap-adaptive", "mmsg-mmsg"];
    let half = SECOND / 2;
    // Time until the bus transmits a frame, keys, frames, time to wait, and frames that are handled, without room, expired.
    for (engines, delay, keys, frames, wait, expected) in [
        (ENGINES, NEVER, "", ROOM + 70, half, [ROOM, 70, 0]),
        // Frames that are still kept at the end find no room either.
        (ENGINES, NEVER, DROP_OLDEST, ROOM + KEPT + 36, half, [ROOM, KEPT + 36, 0]),
        // Kept frames leave without a further frame.
        (ENGINES, SECOND, DROP_OLDEST, ROOM + KEPT, 4 * SECOND, [ROOM + KEPT, 0, 0]),
        (ENGINES, SECOND / 10, "when-full = \"block\"\nblock-limit = \"10s\"", 3 * ROOM, 2 * SECOND, [3 * ROOM, 0, 0]),
        (ENGINES, NEVER, "when-full = \"block\"\nblock-limit = \"20ms\"", ROOM + 30, half, [ROOM, 30, 0]),
        (WITH_STAMPS, NEVER, &format!("{DROP_OLDEST}\nmax-age = \"300ms\""), ROOM + 20, SECOND, [ROOM, 0, 20]),
    ] {
        for engine in engines {
            let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
            queues::delay(scene.index("right"), delay, ROOM);
            let text = LEFT_RIGHT.to_owned() + &route("over", "left", "right", &format!("echo = false\n{keys}"));
            let candor = scene.start(&text, engine);
            let sender = scene.sender("left");
            (0..frames).for_each(|number| send(&sender, &numbered(number)));
            std::thread::sleep(wait);
            let route = counted(candor);
            let counts = [&route["handled"], &route["drops"]["full"], &route["drops"]["expired"]];
            assert_eq!(counts, expected.map(Value::from).each_ref(), "{engine}: {keys}");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn fresh_frames_pass_unchanged_and_in_order() {
    let text = LEFT_RIGHT.to_owned() + &route("over", "left", "right", "echo = true\nmax-age = \"10s\"");
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
        let (sender, receiver) = (scene.sender("left"), scene.listener("right"));
        let candor = scene.start(&text, engine);
        (0..40).for_each(|number| send(&sender, &numbered(number)));
        for number in 0..40_u32 {
            assert_eq!(next_frame(&receiver).payload(), number.to_be_bytes(), "{engine}");
        }
        assert_eq!(counted(candor)["drops"]["expired"], json!(0), "{engine}");
    }
}
