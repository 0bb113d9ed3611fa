//! Moments in which frames could be lost, doubled or not counted: the start, and traffic in both directions.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::prelude::*;

const SILENCE: Duration = Duration::from_millis(100);
const KEYS: &str = "frames = \"classic\"\necho = true";

fn open(scene: &Scenario) -> [CanSocket; 2] {
    ["left", "right"].map(|bus| {
        let socket = scene.listener(bus);
        socket.set_receive_buffer(8 << 20).unwrap();
        socket
    })
}

#[test]
#[ignore = "runs in a guest"]
fn both_directions_carry_at_once() {
    const FRAMES: u32 = 512;
    const BATCH: u32 = 16;

    let text = LEFT_RIGHT.to_owned() + &route("there", "left", "right", KEYS) + &route("back", "right", "left", KEYS);
    for engine in ["kernel", "read-write"] {
        let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
        let sockets = open(&scene);
        let candor = scene.start(&text, engine);
        // A socket does not hear itself, so each end hears every frame of the other end once.
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
        for route in candor.end(Signal::Terminate).routes() {
            assert_eq!((&route["handled"], &route["dropped"]), (&FRAMES.into(), &0.into()), "{engine}: {route}");
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn counts_frames_that_come_during_the_start() {
    let text = LEFT_RIGHT.to_owned() + &route("there", "left", "right", KEYS);
    for engine in ["kernel", "read-write"] {
        let Some(scene) = Scenario::new(VCAN_AND_CANGW, ["left", "right"]) else { return };
        let [sender, listener] = open(&scene);
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
            let candor = scene.start(&text, engine);
            std::thread::sleep(SILENCE);
            enough.store(true, Ordering::Relaxed);
            candor
        });
        let heard: Vec<_> = std::iter::from_fn(|| hear(&listener, SILENCE)).map(|frame| number_of(&frame)).collect();
        assert!(!heard.is_empty());
        assert!(heard.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{engine}: lost, doubled or out of order");
        assert_eq!(candor.end(Signal::Terminate).routes()[0]["handled"], heard.len(), "{engine}");
    }
}
