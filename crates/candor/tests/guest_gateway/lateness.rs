//! A bus that takes frames slowly: what finds no room, what becomes too old, and that every frame is accounted for.

use std::time::Duration;

use candor_io::can::CanSocket;
use candor_io::signal::Signal;
use serde_json::{Value, json};

use crate::candor::{Candor, Run};
use crate::frames::{hear, listener_on, numbered, send, sender_on};
use crate::queues;
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
/// One engine for each receiver and each sender.
const ENGINES: [&str; 4] = ["read-write", "mmap-adaptive", "mmsg-mmsg", "uring-uring"];
/// Frames that the queue of the slow bus holds.
const ROOM: u32 = 50;
/// Frames that candor keeps at most.
const KEPT: u32 = 64;
const SECOND: Duration = Duration::from_secs(1);
/// Longer than any test.
const NEVER: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(20);

/// Two buses, of which the right one gives each frame away after a delay.
struct Place {
    _buses: [Bus; 2],
    sender: CanSocket,
    run_dir: tempfile::TempDir,
}

impl Place {
    fn new(delay: Duration) -> Self {
        let (left, right) = (Bus::new("left"), Bus::new("right"));
        queues::delay(right.index, delay, ROOM);
        let sender = sender_on(left.index);
        Self { _buses: [left, right], sender, run_dir: tempfile::tempdir().unwrap() }
    }

    fn run(&self, engine: &str, keys: &str) -> Candor {
        let gateway = format!(
            "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
             [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = false\n{keys}"
        );
        Run { gateway: &gateway, engine, run_dir: self.run_dir.path().to_owned(), uid: None }.start()
    }

    fn send(&self, numbers: std::ops::Range<u32>) {
        numbers.for_each(|number| send(&self.sender, &numbered(number)));
    }
}

/// What a route has counted at the end.
fn counted(candor: Candor) -> Value {
    let ended = candor.end(Signal::Terminate);
    assert!(ended.status.success(), "{ended:?}");
    let route = ended.event("final-counters")["routes"][0].clone();
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(number(&route["matched"]), number(&route["handled"]) + number(&route["dropped"]), "{route}");
    let named: u64 = route["drops"].as_object().unwrap().values().map(number).sum();
    assert_eq!(named, number(&route["dropped"]), "{route}");
    route
}

fn counts(route: &Value) -> (u64, u64, u64) {
    let drops = &route["drops"];
    (route["handled"].as_u64().unwrap(), drops["full"].as_u64().unwrap(), drops["expired"].as_u64().unwrap())
}

/// Waits until so many frames have been taken from the left bus: those behind them change nothing any more.
fn settle() {
    std::thread::sleep(SECOND / 2);
}

#[test]
#[ignore = "runs in a guest"]
fn what_finds_no_room_is_dropped_and_named() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ENGINES {
        let place = Place::new(NEVER);
        let candor = place.run(engine, "");
        place.send(0..ROOM + 70);
        settle();
        assert_eq!(counts(&counted(candor)), (ROOM.into(), 70, 0), "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn the_oldest_gives_way() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ENGINES {
        let place = Place::new(NEVER);
        let candor = place.run(engine, "when-full = \"drop-oldest\"\n");
        place.send(0..ROOM + KEPT + 36);
        settle();
        // What is still kept at the end finds no room then either.
        assert_eq!(counts(&counted(candor)), (ROOM.into(), (KEPT + 36).into(), 0), "{engine}");
    }
}

/// The frames that are kept leave by themselves when there is room, in their order, without a further frame coming.
#[test]
#[ignore = "runs in a guest"]
fn what_is_kept_leaves_when_there_is_room() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ENGINES {
        let place = Place::new(SECOND);
        let candor = place.run(engine, "when-full = \"drop-oldest\"\n");
        let sent = ROOM + KEPT;
        place.send(0..sent);
        std::thread::sleep(4 * SECOND);
        assert_eq!(counts(&counted(candor)), (sent.into(), 0, 0), "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_bus_that_is_waited_for_loses_nothing() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ENGINES {
        let place = Place::new(SECOND / 10);
        let candor = place.run(engine, "when-full = \"block\"\nblock-limit = \"10s\"\n");
        let sent = 3 * ROOM;
        place.send(0..sent);
        std::thread::sleep(2 * SECOND);
        assert_eq!(counts(&counted(candor)), (sent.into(), 0, 0), "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn nobody_waits_for_a_dead_bus_longer_than_said() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ENGINES {
        let place = Place::new(NEVER);
        let candor = place.run(engine, "when-full = \"block\"\nblock-limit = \"20ms\"\n");
        place.send(0..ROOM + 30);
        settle();
        assert_eq!(counts(&counted(candor)), (ROOM.into(), 30, 0), "{engine}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn what_is_too_old_is_dropped_and_named() {
    let Some(_machine) = require(NEEDS) else { return };
    // io_uring's receive knows no time stamps, which `candor check` says.
    for engine in ["read-write", "read-mmsg", "mmap-adaptive", "mmsg-mmsg"] {
        let place = Place::new(NEVER);
        let candor = place.run(engine, "when-full = \"drop-oldest\"\nmax-age = \"300ms\"\n");
        place.send(0..ROOM + 20);
        std::thread::sleep(SECOND);
        assert_eq!(counts(&counted(candor)), (ROOM.into(), 0, 20), "{engine}");
    }
}

/// Frames that are not old pass, in their order, and whole.
#[test]
#[ignore = "runs in a guest"]
fn what_is_fresh_passes() {
    let Some(_machine) = require(NEEDS) else { return };
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        let (left, right) = (Bus::new("left"), Bus::new("right"));
        let sender = sender_on(left.index);
        let receiver = listener_on(right.index);
        let run_dir = tempfile::tempdir().unwrap();
        let gateway = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n[[route]]\n\
                       name = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\nmax-age = \"10s\"\n";
        let candor = Run { gateway, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();
        (0..40).for_each(|number| send(&sender, &numbered(number)));
        for number in 0..40_u32 {
            let frame = hear(&receiver, PATIENCE).unwrap_or_else(|| panic!("{engine}: frame {number} is missing"));
            assert_eq!(frame.payload(), number.to_be_bytes(), "{engine}");
        }
        let route = counted(candor);
        assert_eq!(route["drops"]["expired"], json!(0), "{engine}");
        drop((left, right));
    }
}
