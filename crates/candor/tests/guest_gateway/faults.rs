//! Faults around a running gateway: it reports them, keeps the other buses running, counts every frame, and resumes by itself.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};

use candor_io::clock::{self, RealtimeNs};
use candor_io::{guest, module};

use crate::prelude::*;
use crate::{kernel, queues};

const SILENCE: Duration = Duration::from_millis(100);

#[track_caller]
fn next_number(listener: &CanSocket) -> u32 {
    number_of(&next_frame(listener))
}

#[track_caller]
fn send_until_heard(sender: &CanSocket, listener: &CanSocket, number: &mut u32, mut sent: impl FnMut(u32)) {
    let first = *number;
    while can::poll(&[listener], Some(SILENCE)).unwrap().is_empty() {
        assert!(*number < first + 200, "nothing is forwarded");
        send(sender, &numbered(*number));
        sent(*number);
        *number += 1;
    }
}

/// The bus on the right flaps and is unplugged while frames flow to it and to a third bus.
#[test]
#[ignore = "runs in a guest"]
fn a_flapping_bus_disturbs_no_other_bus() {
    /// Every so often the bus is unplugged instead.
    const UNPLUGGED: u32 = 20;

    let gateway = buses(&["left", "right", "third"])
        + &route("over", "left", "right", "echo = true")
        + &route("beside", "left", "third", "echo = true");
    for (engine, flaps) in [("mmap-adaptive", 200), ("read-write", 40), ("mmsg-mmsg", 40), ("uring-uring", 40)] {
        let Some(mut scene) = Scenario::new(VCAN, ["left", "right", "third"]) else { return };
        let (sender, listener) = (scene.sender("left"), scene.listener("third"));
        let candor = scene.start(&gateway, engine);
        let enough = AtomicBool::new(false);
        let mut number = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| {
                let mut number = 0;
                // One by one: every frame for the third bus arrives, whatever happens to the second.
                while !enough.load(Ordering::Relaxed) {
                    send(&sender, &numbered(number));
                    assert_eq!(next_number(&listener), number, "{engine}");
                    number += 1;
                }
                number
            });
            for flap in 1..=flaps {
                if flap % UNPLUGGED == 0 {
                    scene.unplug("right");
                    scene.plug_in("right");
                } else {
                    scene.bus("right").set_down();
                    scene.bus("right").set_up();
                }
            }
            enough.store(true, Ordering::Relaxed);
            traffic.join().unwrap()
        });
        // Frames pass again as soon as candor has seen the last flap.
        let right = scene.listener("right");
        send_until_heard(&sender, &right, &mut number, |sent| assert_eq!(next_number(&listener), sent, "{engine}"));
        let ended = candor.end(Signal::Terminate);
        let counters = ended.accounts();
        let of = |at: usize, key: &str| counters["routes"][at][key].as_u64().unwrap();
        assert_eq!((of(0, "matched"), of(1, "handled")), (number.into(), number.into()), "{engine}: {counters}");
        assert_eq!(of(0, "dropped"), counters["routes"][0]["drops"]["down"].as_u64().unwrap(), "{engine}: {counters}");
        assert_eq!(counters["buses"][0]["taken"], number, "{engine}: {counters}");
    }
}

/// The driver of all buses is unloaded, and their interfaces disappear.
#[test]
#[ignore = "runs in a guest"]
fn resumes_when_an_unloaded_driver_is_back() {
    let gateway = LEFT_RIGHT.to_owned() + &route("over", "left", "right", "echo = true");
    for engine in ["auto", "read-write", "mmap-adaptive", "mmsg-mmsg", "uring-uring"] {
        let Some(mut scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
        let Some(file) = kernel::vcan_file().filter(|_| is_there(Feature::Modules)) else { return };
        let candor = scene.start(&gateway, engine);
        module::unload("vcan").unwrap();
        let gone = [candor.notice(), candor.notice()];
        for name in ["t-left", "t-right"] {
            let expected = format!("Interface {name} (bus");
            assert!(gone.iter().any(|notice| notice.starts_with(&expected)), "{engine}: {gone:?}");
        }
        guest::load_module(&fs::read(&file).unwrap(), "").unwrap();
        ["left", "right"].into_iter().for_each(|bus| scene.plug_in(bus));
        (0..2).for_each(|_| drop(candor.notice_with("is back; its routes continue")));
        // The job or socket exists a moment after the interface.
        send_until_heard(&scene.sender("left"), &scene.listener("right"), &mut 0, |_| ());
        candor.end(Signal::Terminate).accounts();
    }
}

/// The clock is set by an hour while frames with a maximum age flow and wait.
#[test]
#[ignore = "runs in a guest"]
fn setting_the_clock_changes_no_age() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    /// Frames that the queue of the slow bus holds.
    const ROOM: u32 = 10;

    let step = |by: i64| clock::set_realtime(RealtimeNs(clock::realtime().unwrap().0 + by)).unwrap();
    let slow = "echo = false\nmax-age = \"200ms\"\nwhen-full = \"drop-oldest\"";
    let gateway = buses(&["left", "right", "third"])
        + &route("over", "left", "right", "echo = true\nmax-age = \"10s\"")
        + &route("slow", "left", "third", slow);
    for engine in ["read-write", "mmap-adaptive", "mmsg-mmsg"] {
        for by in [HOUR_NS, -HOUR_NS] {
            // Only the clock of a guest is set.
            let needs = [VCAN, &[Feature::Guest]].concat();
            let Some(scene) = Scenario::new(&needs, ["left", "right", "third"]) else { return };
            queues::delay(scene.index("third"), Duration::from_secs(60), ROOM);
            let (sender, listener) = (scene.sender("left"), scene.listener("right"));
            let candor = scene.start(&gateway, engine);
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
            assert_eq!(ended.counted("over")[..2], [40, 0], "{engine}, by {by}: {counters}");
            let (room, expired) = (u64::from(ROOM), &counters["routes"][1]["drops"]["expired"]);
            assert_eq!(
                (ended.counted("slow")[0], expired),
                (room, &(40 - room).into()),
                "{engine}, by {by}: {counters}"
            );
        }
    }
}

/// There is no space for the output.
#[test]
#[ignore = "runs in a guest"]
fn a_full_disk_ends_nothing() {
    let gateway = LEFT_RIGHT.to_owned() + &route("over", "left", "right", "echo = true");
    for engine in ["kernel", "mmap-adaptive"] {
        let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
        let file = scene.file("candor.toml", &gateway);
        let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
        let mut command = scene.command(&["run", &file, "--stats", "20ms", "--engine", engine]);
        let mut candor = Guarded::spawn(command.stdin(Stdio::null()).stdout(full()).stderr(full()));
        let (sender, listener) = (scene.sender("left"), scene.listener("right"));
        let mut number = 0;
        let mut passes = || {
            // There is no `ready` to wait for.
            send_until_heard(&sender, &listener, &mut number, |_| ());
            while !can::poll(&[&listener], Some(SILENCE)).unwrap().is_empty() {
                next_number(&listener);
            }
        };
        passes();
        // Counters are due many times.
        std::thread::sleep(3 * SILENCE);
        assert_eq!(candor.try_wait().unwrap(), None, "{engine}");
        passes();
        // The answer to a reload has no space either.
        signal::send(candor.id(), Signal::Hangup).unwrap();
        passes();
        terminate(candor);
    }
}
