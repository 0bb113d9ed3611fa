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

/// Sends frames to a bus that transmits each after a delay, waits, and compares what was handled, found the queue full,
/// and expired.
fn check(engines: [&str; 4], delay: Duration, keys: &str, frames: u32, wait: Duration, expected: [u32; 3]) {
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
        assert_eq!(counts, expected.map(Value::from).each_ref(), "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn drops_and_counts_frames_without_room() {
    check(ENGINES, NEVER, "", ROOM + 70, SECOND / 2, [ROOM, 70, 0]);
}

/// Frames that are still kept at the end find no room either.
#[test]
#[ignore = "runs in a guest"]
fn drops_oldest_when_queue_is_full() {
    check(ENGINES, NEVER, "when-full = \"drop-oldest\"", ROOM + KEPT + 36, SECOND / 2, [ROOM, KEPT + 36, 0]);
}

/// Without a further frame.
#[test]
#[ignore = "runs in a guest"]
fn sends_kept_frames_when_there_is_room() {
    check(ENGINES, SECOND, "when-full = \"drop-oldest\"", ROOM + KEPT, 4 * SECOND, [ROOM + KEPT, 0, 0]);
}

#[test]
#[ignore = "runs in a guest"]
fn block_loses_no_frame() {
    let keys = "when-full = \"block\"\nblock-limit = \"10s\"";
    check(ENGINES, SECOND / 10, keys, 3 * ROOM, 2 * SECOND, [3 * ROOM, 0, 0]);
}

#[test]
#[ignore = "runs in a guest"]
fn block_ends_at_its_limit() {
    let keys = "when-full = \"block\"\nblock-limit = \"20ms\"";
    check(ENGINES, NEVER, keys, ROOM + 30, SECOND / 2, [ROOM, 30, 0]);
}

/// The receive operation of io_uring has no timestamps, which `candor check` reports.
#[test]
#[ignore = "runs in a guest"]
fn drops_and_counts_old_frames() {
    let engines = ["read-write", "read-mmsg", "mmap-adaptive", "mmsg-mmsg"];
    check(engines, NEVER, "when-full = \"drop-oldest\"\nmax-age = \"300ms\"", ROOM + 20, SECOND, [ROOM, 0, 20]);
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
