//! The same frames through the kernel engine, the read-write engine and the model.

use candor_config::plan::Plan;
use candor_core::oracle;

use crate::prelude::*;
use crate::traffic::Traffic;

const FRAMES: usize = 10_000;
/// Frames in flight: fewer than the receive queue of the read-write engine holds.
const BATCH: usize = 32;
const SEED: u64 = 2011;

pub(crate) const GATEWAY: &str = include_str!("forwarding.toml");

#[test]
#[ignore = "runs in a guest"]
fn kernel_engine_agrees_with_the_model() {
    forwards_as_predicted(VCAN_AND_CANGW, "kernel");
}

#[test]
#[ignore = "runs in a guest"]
fn read_write_engine_agrees_with_the_model() {
    forwards_as_predicted(VCAN, "read-write");
}

fn forwards_as_predicted(features: &[Feature], engine: &str) {
    let Some(scene) = Scenario::new(features, ["in", "one", "two"]) else { return };
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

/// Handled, dropped and deleted frames of every route.
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
