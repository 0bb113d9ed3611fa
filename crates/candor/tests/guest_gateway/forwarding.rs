//! The same frames through the kernel engine, the read-write engine and the model; the start, and traffic in both directions.

use std::sync::atomic::{AtomicBool, Ordering};

use candor_config::plan::Plan;
use candor_core::oracle;

use crate::prelude::*;
use crate::traffic::Traffic;

const FRAMES: usize = 10_000;
/// Frames in flight: fewer than the receive queue of the read-write engine holds.
const BATCH: usize = 32;
const SEED: u64 = 2011;
const SILENCE: Duration = Duration::from_millis(100);
const KEYS: &str = "frames = \"classic\"\necho = true";

pub(crate) const GATEWAY: &str = include_str!("forwarding.toml");

#[test]
#[ignore = "runs in a guest"]
fn engines_agree_with_the_model() {
    for (features, engine) in [(VCAN_AND_CANGW, "kernel"), (VCAN, "read-write")] {
        if let Some(scene) = Scenario::new(features, ["in", "one", "two"]) {
            forwards_as_predicted(&scene, engine);
        }
    }
}

fn forwards_as_predicted(scene: &Scenario, engine: &str) {
    let plan = config::load(GATEWAY.as_bytes()).unwrap().plan;
    let jobs = candor_config::lower(&plan);
    let position = |name: &str| BusIndex(plan.buses().iter().position(|bus| bus.name == name).unwrap());
    let (source, receivers) = (position("in"), [position("one"), position("two")]);

    let sender = scene.sender("in");
    let listeners = ["one", "two"].map(|bus| scene.listener(bus));
    listeners.iter().for_each(|listener| listener.set_receive_buffer(4 << 20).unwrap());
    let candor = scene.start(GATEWAY, engine);
    assert_eq!(notices(&candor.before_ready), Vec::<&str>::new());

    let mut traffic = Traffic::from_seed(SEED);
    let frames: Vec<_> = (0..FRAMES).map(|_| traffic.frame()).collect();
    for (batch, sent) in frames.chunks(BATCH).enumerate() {
        sent.iter().for_each(|frame| send(&sender, frame));
        for (listener, to) in listeners.iter().zip(receivers) {
            let expected: Vec<_> = sent.iter().flat_map(|frame| predicted(&jobs, source, to, frame)).collect();
            let received: Vec<_> = expected.iter().map_while(|_| hear(listener, PATIENCE)).collect();
            for (at, (received, expected)) in received.iter().zip(&expected).enumerate() {
                assert_eq!(received, expected, "{engine}, batch {batch}, frame {at} on bus {}", plan.bus(to).name);
            }
            assert_eq!(received.len(), expected.len(), "{engine}, batch {batch}: frames are missing");
        }
    }
    for listener in &listeners {
        assert_eq!(hear(listener, Duration::from_millis(50)), None, "a frame too many");
    }
    let ended = candor.stop();
    for (name, expected) in expected_counters(&plan, &jobs, source, &frames) {
        assert_eq!(ended.counted(&name), expected, "{name}");
    }
    assert_eq!(ended.routes().len(), plan.routes().len());
}

/// The frames that leave on a bus because of this one, in order.
fn predicted(jobs: &[Job], from: BusIndex, to: BusIndex, frame: &Frame) -> Vec<Frame> {
    let deliveries = oracle::deliver(jobs, from, frame);
    deliveries.into_iter().filter(|delivery| delivery.to == to).map(|delivery| delivery.frame).collect()
}

fn expected_counters(plan: &Plan, jobs: &[Job], from: BusIndex, frames: &[Frame]) -> Vec<(String, [u64; 3])> {
    let frames: Vec<_> = frames.iter().map(|frame| (from, *frame)).collect();
    let mut routes: Vec<_> = plan.routes().iter().map(|route| (route.name.clone(), [0, 0, 0])).collect();
    for (job, counters) in jobs.iter().zip(oracle::count(jobs, &frames)) {
        routes[job.route.0].1[0] += counters.handled;
        routes[job.route.0].1[2] += counters.deleted;
    }
    assert!(routes.iter().all(|(_, counts)| counts[0] > 0), "the traffic does not use every route: {routes:?}");
    assert!(routes.iter().any(|(_, counts)| counts[2] > 0), "the traffic makes no frame too long: {routes:?}");
    routes
}

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
