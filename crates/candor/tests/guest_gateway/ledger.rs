//! What came to a bus is what routes took, what none wanted, and what found no room; what went from it is what came out.

use std::time::Duration;

use candor_io::can::{self, Batch, CanSocket, First};
use candor_io::process;
use candor_io::signal::Signal;
use serde_json::Value;

use crate::candor::Run;
use crate::frames::{classic, listener_on, send, sender_on};
use crate::require::{Bus, Feature, require};
use crate::traffic::Traffic;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
/// One engine for each receiver that does not spin, and for each sender that goes with vcan and echo.
const ENGINES: [&str; 5] = ["read-write", "mmap-adaptive", "mmap-mmsg", "mmsg-mmsg", "uring-uring"];
/// Longer than candor takes to forward what is there.
const SILENCE: Duration = Duration::from_millis(300);
const ROUNDS: u64 = 4;
/// Fewer than any socket or ring has room for.
const AT_ONCE: u64 = 100;
/// More than any socket or ring has room for.
const BURST: u32 = 2000;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Frames that are heard until nothing comes any more.
fn drain(listener: &CanSocket) -> u64 {
    hear(listener, u64::MAX)
}

/// Hears so many frames, or fewer if no more come.
fn hear(listener: &CanSocket, frames: u64) -> u64 {
    let mut batch = Batch::default();
    let mut heard = 0;
    while heard < frames && !can::poll(&[listener], Some(SILENCE)).unwrap().is_empty() {
        heard += listener.recv_batch(&mut batch, First::DoesNotWait).unwrap() as u64;
    }
    heard
}

fn route(name: &str, to: &str, keys: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"{to}\"\necho = true\n{keys}\n")
}

#[test]
#[ignore = "runs in a guest"]
fn what_came_in_is_what_routes_took_what_none_wanted_and_what_was_lost() {
    let Some(_machine) = require(NEEDS) else { return };
    let buses = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                 [bus.third]\ninterface = \"t-third\"\n";
    // So many masks that the socket takes everything, and the rules see what none of them wants.
    // No two of them differ in one bit, so that they cannot become one.
    let is_one_of_many = |id: u32| (0x600..0x680).contains(&id) && id.count_ones() & 1 == 0;
    let many: Vec<_> = (0..0x800).filter(|id| is_one_of_many(*id)).map(|id| format!("\"{id:X}:7FF\"")).collect();
    let gateway = buses.to_owned()
        + &route("low", "right", "match = \"000:400\"")
        + &route("both", "third", "match = \"100:700\"")
        + &route("many", "third", &format!("match = [{}]", many.join(", ")));
    for (engine, seed) in ENGINES.into_iter().zip(1..) {
        let (left, right, third) = (Bus::new("left"), Bus::new("right"), Bus::new("third"));
        let listeners = [&right, &third].map(|bus| listener_on(bus.index));
        listeners.iter().for_each(|listener| listener.set_receive_buffer(8 << 20).unwrap());
        let sender = sender_on(left.index);
        let run_dir = tempfile::tempdir().unwrap();
        let candor = Run { gateway: &gateway, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();

        let mut traffic = Traffic::from_seed(seed);
        let (mut low, mut beside, mut unwanted) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let mut heard = [0, 0];
            for _ in 0..AT_ONCE {
                let frame = traffic.frame();
                let id = frame.id.0;
                let (is_low, is_both) = (id & 0x400 == 0, id & 0x700 == 0x100);
                let is_many = is_one_of_many(id & 0x7FF);
                heard[0] += u64::from(is_low);
                heard[1] += u64::from(is_both) + u64::from(is_many);
                unwanted += u64::from(!(is_low || is_both || is_many));
                send(&sender, &frame);
            }
            // No more than finds room at once.
            for (listener, frames) in listeners.iter().zip(heard) {
                assert_eq!(hear(listener, frames), frames, "{engine}");
            }
            (low, beside) = (low + heard[0], beside + heard[1]);
        }
        // Nobody reads: what finds no room is lost, and counted.
        process::pause(candor.pid()).unwrap();
        let frame = classic(0x123, &[]);
        (0..BURST).for_each(|_| send(&sender, &frame));
        process::resume(candor.pid()).unwrap();
        let heard = listeners.each_ref().map(drain);
        assert_eq!(heard[0], heard[1], "{engine}");
        assert!(heard[0] > 0 && heard[0] < BURST.into(), "{engine}: {heard:?}");

        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let bus = |name: &str| counters["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == name).unwrap();
        let (left, right, third) = (bus("left"), bus("right"), bus("third"));
        let lost = number(&left["lost_in_socket"]) + number(&left["lost_in_ring"]);
        assert_eq!(lost, u64::from(BURST) - heard[0], "{engine}: {counters}");
        assert_eq!(number(&left["unwanted"]), unwanted, "{engine}: {counters}");
        assert_eq!(number(&left["received"]) + lost, ROUNDS * AT_ONCE + u64::from(BURST), "{engine}: {counters}");
        assert_eq!(number(&right["sent"]), low + heard[0], "{engine}: {counters}");
        assert_eq!(number(&third["sent"]), beside + heard[0], "{engine}: {counters}");
        assert_eq!(number(&right["refused"]) + number(&third["refused"]), 0, "{engine}: {counters}");
        assert_eq!(number(&right["received"]), 0, "{engine}: {counters}");
    }
}

/// A ring begins without a filter, which would cost each frame something, and gets it when it would spare something.
#[test]
#[ignore = "runs in a guest"]
fn a_ring_hears_only_the_first_of_the_frames_that_nobody_wants() {
    let Some(_machine) = require(NEEDS) else { return };
    let buses = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";
    let gateway = buses.to_owned() + &route("some", "right", "match = \"123\"");
    for engine in ["mmap-adaptive", "mmap-mmsg"] {
        let (left, right) = (Bus::new("left"), Bus::new("right"));
        let listener = listener_on(right.index);
        let sender = sender_on(left.index);
        let run_dir = tempfile::tempdir().unwrap();
        let candor = Run { gateway: &gateway, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();
        let (wanted, unwanted) = (classic(0x123, &[]), classic(0x124, &[]));
        send(&sender, &unwanted);
        // It has been seen when the next one is out.
        send(&sender, &wanted);
        assert_eq!(hear(&listener, 1), 1, "{engine}");
        // And the filter is there when the gateway has nothing left to do.
        std::thread::sleep(SILENCE);
        for _ in 0..AT_ONCE / 2 {
            send(&sender, &unwanted);
            send(&sender, &wanted);
        }
        assert_eq!(hear(&listener, AT_ONCE / 2), AT_ONCE / 2, "{engine}");
        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let left = counters["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == "left").unwrap();
        assert_eq!(number(&left["unwanted"]), 1, "{engine}: {counters}");
        assert_eq!(number(&left["taken"]), AT_ONCE / 2 + 1, "{engine}: {counters}");
    }
}
