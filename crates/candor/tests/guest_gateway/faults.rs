//! What goes wrong around a gateway that runs: it says so, keeps the other buses running, loses sight of no frame, and goes on
//! by itself.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use candor_io::can::{self, CanSocket};
use candor_io::clock::{self, RealtimeNs};
use candor_io::signal::{self, Signal};
use candor_io::{guest, module};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::candor::{Candor, Run, program};
use crate::frames::{hear, listener_on, number_of, numbered, send, sender_on};
use crate::kernel;
use crate::queues;
use crate::require::{Bus, Feature, is_there, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(100);
const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                     [bus.third]\ninterface = \"t-third\"\n";

fn route(name: &str, to: &str, keys: &str) -> String {
    format!("[[route]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"{to}\"\n{keys}")
}

fn start(gateway: &str, engine: &str, folder: &tempfile::TempDir) -> Candor {
    Run { gateway, engine, run_dir: folder.path().to_owned(), uid: None }.start()
}

/// The number in the next frame.
#[track_caller]
fn next_number(listener: &CanSocket) -> u32 {
    number_of(&hear(listener, PATIENCE).expect("a frame is missing"))
}

/// The bus on the right flaps and is unplugged while frames flow there and to a third bus.
#[test]
#[ignore = "runs in a guest"]
fn a_bus_that_flaps_disturbs_no_other_and_hides_no_frame() {
    /// Each time after so many it is unplugged instead.
    const UNPLUGGED: u32 = 20;

    let Some(_machine) = require(NEEDS) else { return };
    let gateway =
        BUSES.to_owned() + &route("over", "right", "echo = true\n") + &route("beside", "third", "echo = true\n");
    for (engine, flaps) in [("mmap-adaptive", 200), ("read-write", 40), ("mmsg-mmsg", 40), ("uring-uring", 40)] {
        let (left, mut right, third) = (Bus::new("left"), Bus::new("right"), Bus::new("third"));
        let listener = listener_on(third.index);
        let sender = sender_on(left.index);
        let folder = tempfile::tempdir().unwrap();
        let candor = start(&gateway, engine, &folder);
        let enough = AtomicBool::new(false);
        let sent = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| {
                let mut number = 0;
                // One after the other: every frame for the third bus arrives, whatever happens to the second.
                while !enough.load(Ordering::Relaxed) {
                    send(&sender, &numbered(number));
                    assert_eq!(next_number(&listener), number, "{engine}");
                    number += 1;
                }
                number
            });
            for flap in 1..=flaps {
                if flap % UNPLUGGED == 0 {
                    link::delete(&mut Client::open().unwrap(), right.index).unwrap();
                    right = Bus::new("right");
                } else {
                    right.set_down();
                    right.set_up();
                }
            }
            enough.store(true, Ordering::Relaxed);
            traffic.join().unwrap()
        });
        // It goes on by itself as soon as candor has seen the last one.
        let other = listener_on(right.index);
        let mut more = sent;
        while can::poll(&[&other], Some(SILENCE)).unwrap().is_empty() {
            send(&sender, &numbered(more));
            assert_eq!(next_number(&listener), more, "{engine}");
            more += 1;
            assert!(more < sent + 200, "{engine}: it does not go on");
        }
        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let of = |at: usize, key: &str| counters["routes"][at][key].as_u64().unwrap();
        assert_eq!((of(0, "matched"), of(1, "handled")), (more.into(), more.into()), "{engine}: {counters}");
        assert_eq!(of(0, "dropped"), counters["routes"][0]["drops"]["down"].as_u64().unwrap(), "{engine}: {counters}");
        assert_eq!(counters["buses"][0]["taken"], more, "{engine}: {counters}");
    }
}

/// The driver of all buses is unloaded, and with it go their interfaces.
#[test]
#[ignore = "runs in a guest"]
fn a_driver_that_is_unloaded_is_waited_for() {
    let Some(_machine) = require(NEEDS) else { return };
    let Some(file) = kernel::vcan_file().filter(|_| is_there(Feature::Modules)) else { return };
    let gateway = BUSES.to_owned() + &route("over", "right", "echo = true\n");
    let gateway = gateway.replace("[bus.third]\ninterface = \"t-third\"\n", "");
    for engine in ["auto", "read-write", "mmap-adaptive", "mmsg-mmsg", "uring-uring"] {
        let before = [Bus::new("left"), Bus::new("right")];
        let folder = tempfile::tempdir().unwrap();
        let candor = start(&gateway, engine, &folder);
        module::unload("vcan").unwrap();
        drop(before);
        let gone = [candor.notice(), candor.notice()];
        for name in ["t-left", "t-right"] {
            assert!(gone.iter().any(|said| said.starts_with(&format!("Interface {name} (bus"))), "{engine}: {gone:?}");
        }
        guest::load_module(&std::fs::read(&file).unwrap(), "").unwrap();
        let (left, right) = (Bus::new("left"), Bus::new("right"));
        let mut back = 0;
        while back < 2 {
            back += usize::from(candor.notice().ends_with("is back; its routes continue"));
        }
        let listener = listener_on(right.index);
        // A job or a socket is there a moment after the interface.
        let sender = sender_on(left.index);
        let mut number = 0;
        while can::poll(&[&listener], Some(SILENCE)).unwrap().is_empty() {
            send(&sender, &numbered(number));
            number += 1;
            assert!(number < 200, "{engine}: it does not go on");
        }
        candor.end(Signal::Terminate).accounts();
    }
}

/// Somebody sets the clock by an hour while frames with a limit of age flow and wait.
#[test]
#[ignore = "runs in a guest"]
fn a_clock_that_is_set_makes_no_frame_old_and_none_young() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    /// Frames that the queue of the slow bus holds.
    const ROOM: u32 = 10;

    let Some(_machine) = require(NEEDS) else { return };
    // Only a guest's clock is set.
    if !is_there(Feature::Guest) {
        return;
    }
    let step = |by: i64| clock::set_realtime(RealtimeNs(clock::realtime().unwrap().0 + by)).unwrap();
    let gateway = BUSES.to_owned()
        + &route("over", "right", "echo = true\nmax-age = \"10s\"\n")
        + &route("slow", "third", "echo = false\nmax-age = \"200ms\"\nwhen-full = \"drop-oldest\"\n");
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        for by in [HOUR_NS, -HOUR_NS] {
            let (left, right, third) = (Bus::new("left"), Bus::new("right"), Bus::new("third"));
            queues::delay(third.index, Duration::from_secs(60), ROOM);
            let listener = listener_on(right.index);
            let sender = sender_on(left.index);
            let folder = tempfile::tempdir().unwrap();
            let candor = start(&gateway, engine, &folder);
            for number in 0..40 {
                if number == 20 {
                    step(by);
                }
                send(&sender, &numbered(number));
                assert_eq!(next_number(&listener), number, "{engine}");
            }
            std::thread::sleep(Duration::from_millis(400));
            let ended = candor.end(Signal::Terminate);
            step(-by);
            let counters = ended.accounts();
            let of = |at: usize, key: &str| counters["routes"][at][key].as_u64().unwrap();
            assert_eq!((of(0, "handled"), of(0, "dropped")), (40, 0), "{engine}, by {by}: {counters}");
            let (room, expired) = (u64::from(ROOM), &counters["routes"][1]["drops"]["expired"]);
            assert_eq!((of(1, "handled"), expired), (room, &(40 - room).into()), "{engine}, by {by}: {counters}");
        }
    }
}

/// Where the output goes there is no room for it.
#[test]
#[ignore = "runs in a guest"]
fn a_full_disk_ends_nothing() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let gateway = BUSES.to_owned() + &route("over", "right", "echo = true\n");
    for engine in ["kernel", "mmap-adaptive"] {
        let (left, right) = (Bus::new("left"), Bus::new("right"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("candor.toml");
        std::fs::write(&file, &gateway).unwrap();
        let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
        let mut command = Command::new(program());
        command.arg("run").arg(&file).args(["--stats", "20ms", "--engine", engine]);
        command.env("CANDOR_RUN_DIR", folder.path().join("run")).stdin(Stdio::null());
        let mut candor = command.stdout(full()).stderr(full()).spawn().unwrap();
        let listener = listener_on(right.index);
        let sender = sender_on(left.index);
        let passes = |number: &mut u32| {
            // It says nothing when it is ready: nobody could read it.
            let first = *number;
            while can::poll(&[&listener], Some(SILENCE)).unwrap().is_empty() {
                assert!(*number < first + 100, "{engine}: nothing is forwarded");
                send(&sender, &numbered(*number));
                *number += 1;
            }
            while !can::poll(&[&listener], Some(SILENCE)).unwrap().is_empty() {
                next_number(&listener);
            }
        };
        let mut number = 0;
        passes(&mut number);
        // Counters are due many times.
        std::thread::sleep(3 * SILENCE);
        assert_eq!(candor.try_wait().unwrap(), None, "{engine}");
        passes(&mut number);
        // Also what a reload has to say finds no room.
        signal::send(candor.id(), Signal::Hangup).unwrap();
        passes(&mut number);
        signal::send(candor.id(), Signal::Terminate).unwrap();
        assert!(candor.wait().unwrap().success(), "{engine}");
    }
}
