//! Frame accounting: the frames of a bus are those that routes took, those without a route, and those that were lost; the
//! frames sent to a bus are those that arrive.

use candor_io::can::{Batch, First};

use crate::prelude::*;
use crate::traffic::Traffic;

/// One engine for each receiver that does not spin, and for each sender that goes with vcan and echo.
const ENGINES: [&str; 5] = ["read-write", "mmap-adaptive", "mmap-mmsg", "mmsg-mmsg", "uring-uring"];
/// Longer than candor takes to forward what is there.
const SILENCE: Duration = Duration::from_millis(300);
const ROUNDS: u64 = 4;
/// Fewer than any socket or ring holds.
const AT_ONCE: u64 = 100;
/// More than any socket or ring holds.
const BURST: u32 = 2000;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn bus<'a>(counters: &'a Value, name: &str) -> &'a Value {
    counters["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == name).unwrap()
}

/// Receives this many frames, or fewer if no more come.
fn receive(listener: &CanSocket, frames: u64) -> u64 {
    let mut batch: Batch = Batch::default();
    let mut heard = 0;
    while heard < frames && !can::poll(&[listener], Some(SILENCE)).unwrap().is_empty() {
        heard += listener.recv_batch(&mut batch, First::DoesNotWait).unwrap() as u64;
    }
    heard
}

fn echoed(name: &str, to: &str, keys: &str) -> String {
    route(name, "left", to, &format!("echo = true\n{keys}"))
}

#[test]
#[ignore = "runs in a guest"]
fn every_frame_of_a_bus_is_taken_unwanted_or_lost() {
    // With this many masks the socket takes every frame, and the rules see those without a route. No two of the
    // identifiers differ in a single bit, so no two masks can be merged.
    let is_one_of_many = |id: u32| (0x600..0x680).contains(&id) && id.count_ones() & 1 == 0;
    let many: Vec<_> = (0..0x800).filter(|id| is_one_of_many(*id)).map(|id| format!("\"{id:X}:7FF\"")).collect();
    let gateway = buses(&["left", "right", "third"])
        + &echoed("low", "right", "match = \"000:400\"")
        + &echoed("both", "third", "match = \"100:700\"")
        + &echoed("many", "third", &format!("match = [{}]", many.join(", ")));
    for (engine, seed) in ENGINES.into_iter().zip(1..) {
        let Some(scene) = Scenario::new(VCAN, ["left", "right", "third"]) else { return };
        let listeners = ["right", "third"].map(|bus| scene.listener(bus));
        listeners.iter().for_each(|listener| listener.set_receive_buffer(8 << 20).unwrap());
        let sender = scene.sender("left");
        let candor = scene.start(&gateway, engine);

        let mut traffic = Traffic::from_seed(seed);
        let (mut low, mut third, mut unwanted) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let mut expected = [0, 0];
            for _ in 0..AT_ONCE {
                let frame = traffic.frame();
                let id = frame.id.0;
                let (is_low, is_both) = (id & 0x400 == 0, id & 0x700 == 0x100);
                let is_many = is_one_of_many(id & 0x7FF);
                expected[0] += u64::from(is_low);
                expected[1] += u64::from(is_both) + u64::from(is_many);
                unwanted += u64::from(!(is_low || is_both || is_many));
                send(&sender, &frame);
            }
            for (listener, frames) in listeners.iter().zip(expected) {
                assert_eq!(receive(listener, frames), frames, "{engine}");
            }
            (low, third) = (low + expected[0], third + expected[1]);
        }
        // candor is stopped: frames without room are lost, and counted.
        process::pause(candor.pid()).unwrap();
        let frame = classic(0x123, &[]);
        (0..BURST).for_each(|_| send(&sender, &frame));
        process::resume(candor.pid()).unwrap();
        let heard = listeners.each_ref().map(|listener| receive(listener, u64::MAX));
        assert_eq!(heard[0], heard[1], "{engine}");
        assert!(heard[0] > 0 && heard[0] < BURST.into(), "{engine}: {heard:?}");

        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let lost = number(&bus(counters, "left")["lost_in_socket"]) + number(&bus(counters, "left")["lost_in_ring"]);
        assert_eq!(lost, u64::from(BURST) - heard[0], "{engine}: {counters}");
        let received = ROUNDS * AT_ONCE + u64::from(BURST) - lost;
        for (name, key, expected) in [
            ("left", "unwanted", unwanted),
            ("left", "received", received),
            ("right", "sent", low + heard[0]),
            ("third", "sent", third + heard[0]),
            ("right", "refused", 0),
            ("third", "refused", 0),
            ("right", "received", 0),
        ] {
            assert_eq!(number(&bus(counters, name)[key]), expected, "{engine}: {key} of {name} in {counters}");
        }
    }
}

/// A ring starts without a filter, which costs time for each frame, and gets one when it would save time.
#[test]
#[ignore = "runs in a guest"]
fn ring_filters_unwanted_frames_after_the_first() {
    let gateway = LEFT_RIGHT.to_owned() + &echoed("some", "right", "match = \"123\"");
    for engine in ["mmap-adaptive", "mmap-mmsg"] {
        let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
        let (sender, listener) = (scene.sender("left"), scene.listener("right"));
        let candor = scene.start(&gateway, engine);
        let (wanted, unwanted) = (classic(0x123, &[]), classic(0x124, &[]));
        send(&sender, &unwanted);
        // When this one has arrived, candor has seen the one before.
        send(&sender, &wanted);
        assert_eq!(receive(&listener, 1), 1, "{engine}");
        // The filter is set when the gateway is idle.
        std::thread::sleep(SILENCE);
        for _ in 0..AT_ONCE / 2 {
            send(&sender, &unwanted);
            send(&sender, &wanted);
        }
        assert_eq!(receive(&listener, AT_ONCE / 2), AT_ONCE / 2, "{engine}");
        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let left = bus(counters, "left");
        assert_eq!(number(&left["unwanted"]), 1, "{engine}: {counters}");
        assert_eq!(number(&left["taken"]), AT_ONCE / 2 + 1, "{engine}: {counters}");
    }
}
