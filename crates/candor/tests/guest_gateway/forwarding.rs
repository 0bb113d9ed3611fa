//! The same frames through the kernel gateway, the read-write gateway and the model.

use std::time::Duration;

use candor_config::config;
use candor_config::plan::{BusIndex, Plan};
use candor_core::frame::Frame;
use candor_core::job::Job;
use candor_core::oracle;
use candor_io::signal::Signal;

use crate::candor::{Run, notices};
use crate::frames::{hear, listener_on, send, sender_on};
use crate::require::{Bus, Feature, require};
use crate::traffic::Traffic;

const FRAMES: usize = 10_000;
/// Frames on their way at once: fewer than fit the receive queue of the read-write engine.
const BATCH: usize = 32;
const SEED: u64 = 2011;
const PATIENCE: Duration = Duration::from_secs(20);

/// Every kind of receive list, all operations, both checksums, fan-out to one bus and to two, frames that are deleted.
pub(crate) const GATEWAY: &str = r#"
[bus.in]
interface = "t-in"

[bus.one]
interface = "t-one"

[bus.two]
interface = "t-two"

[[route]]
name = "everything"
from = "in"
to = "one"
echo = true

[[route]]
name = "exact"
from = "in"
to = "one"
match = "123:C00007FF"
frames = "classic"
and = { data = "FF F0 0F" }
or = { id = "80000000" }
set = { len = 8 }
checksum-xor = { from = 0, to = 6, result = 7, init = "A5" }
echo = true

[[route]]
name = "masked"
from = "in"
to = "two"
match = "200:700"
frames = "classic"
xor = { id = "00F", data = "01 02 03 04 05 06 07 08" }
checksum-crc8 = { from = 0, to = 5, result = 6, init = "FF", final-xor = "FF", polynomial = "1D", profile = { id-xor = true } }
checksum-xor = { from = 0, to = 6, result = 7 }
echo = true

[[route]]
name = "masked-again"
from = "in"
to = "two"
match = "2A0:7F0"
set = { id = "2AB" }
echo = true

[[route]]
name = "inverted"
from = "in"
to = "two"
match = "300~700"
echo = true

[[route]]
name = "extended"
from = "in"
to = "one"
match = "18FEF100:DFFFFF00"
frames = "fd"
and = { flags = "FE", data = "00 F0" }
or = { data = "11 00 0F" }
set = { len = 12 }
checksum-xor = { from = 0, to = -2, result = -1 }
echo = true

[[route]]
name = "sometimes-too-long"
from = "in"
to = "two"
match = "321"
frames = "fd"
or = { len = 33 }
echo = true
"#;

#[test]
#[ignore = "runs in a guest"]
fn the_kernel_gateway_does_what_the_model_predicts() {
    if let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) {
        forwards_as_predicted("kernel");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn the_read_write_gateway_does_what_the_model_predicts() {
    if let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) {
        forwards_as_predicted("read-write");
    }
}

fn forwards_as_predicted(engine: &str) {
    let buses = [Bus::new("in"), Bus::new("one"), Bus::new("two")];
    let plan = config::load(GATEWAY.as_bytes()).unwrap().plan;
    let jobs = candor_config::lower(&plan);
    let position = |name: &str| BusIndex(plan.buses().iter().position(|bus| bus.name == name).unwrap());
    let (source, receivers) = (position("in"), [position("one"), position("two")]);

    let sender = sender_on(buses[0].index);
    let listeners = [&buses[1], &buses[2]].map(|bus| {
        let socket = listener_on(bus.index);
        socket.set_receive_buffer(4 << 20).unwrap();
        socket
    });
    let run_dir = tempfile::tempdir().unwrap();
    let run = Run { gateway: GATEWAY, engine, run_dir: run_dir.path().to_owned(), uid: None };
    let candor = run.start();
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
    let ended = candor.end(Signal::Terminate);
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(counted(ended.event("final-counters")), expected_counters(&plan, &jobs, source, &frames));
}

/// What this frame makes leave on a bus, in order.
fn predicted(jobs: &[Job], from: BusIndex, to: BusIndex, frame: &Frame) -> Vec<Frame> {
    let deliveries = oracle::deliver(jobs, from, frame);
    deliveries.into_iter().filter(|delivery| delivery.to == to).map(|delivery| delivery.frame).collect()
}

/// Name, handled, dropped and deleted of every route.
type Counted = Vec<(String, u64, u64, u64)>;

fn expected_counters(plan: &Plan, jobs: &[Job], from: BusIndex, frames: &[Frame]) -> Counted {
    let frames: Vec<_> = frames.iter().map(|frame| (from, *frame)).collect();
    let mut routes: Counted = plan.routes().iter().map(|route| (route.name.clone(), 0, 0, 0)).collect();
    for (job, counters) in jobs.iter().zip(oracle::count(jobs, &frames)) {
        routes[job.route.0].1 += counters.handled;
        routes[job.route.0].3 += counters.deleted;
    }
    assert!(routes.iter().all(|route| route.1 > 0), "the traffic leaves a route unused: {routes:?}");
    assert!(routes.iter().any(|route| route.3 > 0), "the traffic makes no frame too long: {routes:?}");
    routes
}

fn counted(event: &serde_json::Value) -> Counted {
    let number = |route: &serde_json::Value, key: &str| route[key].as_u64().unwrap();
    let routes = event["routes"].as_array().unwrap().iter();
    routes
        .map(|route| {
            let name = route["route"].as_str().unwrap().to_owned();
            (name, number(route, "handled"), number(route, "dropped"), number(route, "deleted"))
        })
        .collect()
}
