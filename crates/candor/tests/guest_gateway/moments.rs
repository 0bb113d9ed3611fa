//! Moments in which frames could be lost, doubled or not counted: at the start, and when both directions carry at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use candor_io::can::CanSocket;
use candor_io::signal::Signal;

use crate::candor::Run;
use crate::frames::{hear, listener_on, number_of, numbered, send};
use crate::require::{Bus, Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];
const PATIENCE: Duration = Duration::from_secs(20);
const SILENCE: Duration = Duration::from_millis(100);

const BUSES: &str = "[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n";
const THERE: &str = "[[route]]\nname = \"there\"\nfrom = \"left\"\nto = \"right\"\nframes = \"classic\"\necho = true\n";
const BACK: &str = "[[route]]\nname = \"back\"\nfrom = \"right\"\nto = \"left\"\nframes = \"classic\"\necho = true\n";

#[test]
#[ignore = "runs in a guest"]
fn both_directions_carry_at_once() {
    const FRAMES: u32 = 512;
    const BATCH: u32 = 16;

    let Some(_machine) = require(NEEDS) else { return };
    let run_dir = tempfile::tempdir().unwrap();
    let text = [BUSES, THERE, BACK].concat();
    for engine in ["kernel", "read-write"] {
        let ends = [Bus::new("left"), Bus::new("right")];
        let sockets = [&ends[0], &ends[1]].map(open);
        let candor = Run { gateway: &text, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();
        // A socket does not hear itself, so each end hears what the other one sent, and that once.
        std::thread::scope(|scope| {
            for socket in &sockets {
                scope.spawn(|| {
                    for first in (0..FRAMES).step_by(BATCH as usize) {
                        (first..first + BATCH).for_each(|number| send(socket, &numbered(number)));
                        let heard: Vec<_> =
                            (0..BATCH).map_while(|_| hear(socket, PATIENCE).as_ref().map(number_of)).collect();
                        assert_eq!(heard, (first..first + BATCH).collect::<Vec<_>>(), "{engine}");
                    }
                });
            }
        });
        assert_eq!(sockets.each_ref().map(|socket| hear(socket, SILENCE)), [None, None], "{engine}");
        let ended = candor.end(Signal::Terminate);
        for route in ended.event("final-counters")["routes"].as_array().unwrap() {
            assert_eq!((&route["handled"], &route["dropped"]), (&FRAMES.into(), &0.into()), "{engine}: {route}");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_come_during_the_start_are_counted() {
    let Some(_machine) = require(NEEDS) else { return };
    let (left, right) = (Bus::new("left"), Bus::new("right"));
    let run_dir = tempfile::tempdir().unwrap();
    let text = [BUSES, THERE].concat();
    for engine in ["kernel", "read-write"] {
        let (sender, listener) = (open(&left), open(&right));
        let enough = AtomicBool::new(false);
        let candor = std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    if enough.load(Ordering::Relaxed) {
                        return;
                    }
                    send(&sender, &numbered(number));
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let candor = Run { gateway: &text, engine, run_dir: run_dir.path().to_owned(), uid: None }.start();
            std::thread::sleep(SILENCE);
            enough.store(true, Ordering::Relaxed);
            candor
        });
        let mut heard = Vec::new();
        while let Some(frame) = hear(&listener, SILENCE) {
            heard.push(number_of(&frame));
        }
        assert!(!heard.is_empty());
        assert!(heard.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{engine}: lost, doubled or out of order");
        let ended = candor.end(Signal::Terminate);
        assert_eq!(ended.event("final-counters")["routes"][0]["handled"], heard.len(), "{engine}");
    }
}

fn open(bus: &Bus) -> CanSocket {
    let socket = listener_on(bus.index);
    socket.set_receive_buffer(8 << 20).unwrap();
    socket
}
