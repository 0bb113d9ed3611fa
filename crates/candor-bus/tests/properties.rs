//! Compares the bus with the bit model on the same schedules.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "bit_model/mod.rs"]
mod bit_model;
mod schedules;

use std::fmt;

use bit_model::{Config, What};
use candor_bus::{
    Bus, BusNs, Disturbance, ErrorState, Event, NodeConfig, NodeId, Order, SubmitError, Tag, Target, Timing,
};
use candor_core::arbitrary;
use candor_core::frame::{CAN_EFF_FLAG, CANFD_BRS, CANFD_ESI, Frame, FrameFormat};
use proptest::prelude::*;
use schedules::{BIT_NS, config, rate, run, write_nodes};

/// Number of schedules. Long run: `CANDOR_CASES=1000000 cargo test --release -p candor-bus --test properties`.
const CASES: u32 = 100;
const NODES: usize = 4;
/// All nodes take part from this bit.
const FIRST_BIT: u64 = 20;
/// Frames that may be disturbed.
const FRAMES: usize = 80;
/// Bits of the shortest frame without its intermission.
const BITS: u32 = 60;

#[derive(Clone, Debug)]
enum Step {
    Submit { node: usize, frame: Frame },
    SwitchOff { node: usize },
    SwitchOn { node: usize },
    Restart { node: usize },
    Stuck { bits: u64 },
}

#[derive(Clone)]
struct Schedule {
    configs: Vec<NodeConfig>,
    steps: Vec<(u64, Step)>,
    disturbances: Vec<Option<Disturbance>>,
}

impl fmt::Debug for Schedule {
    /// A line for each node, step and disturbance.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_nodes(f, &self.configs)?;
        for (bit, step) in &self.steps {
            match step {
                Step::Submit { node, frame } => writeln!(f, "{bit}: submit {node} {frame}")?,
                other => writeln!(f, "{bit}: {other:?}")?,
            }
        }
        for (frame, disturbance) in self.disturbances.iter().enumerate() {
            if let Some(disturbance) = disturbance {
                writeln!(f, "frame {frame}: {disturbance:?}")?;
            }
        }
        Ok(())
    }
}

/// Events of both models, by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Delivered { sender: usize, tag: u64, start: u64, receivers: Vec<usize> },
    Lost { node: usize, bit: u64 },
    State { node: usize, state: ErrorState, transmit: u32, receive: u32 },
}

/// Events, and the final counters of each node.
struct Trace {
    outcomes: Vec<(u64, Outcome)>,
    counters: Vec<(u32, u32)>,
}

fn timing() -> Timing {
    Timing { nominal: rate(500_000), data: Some(rate(500_000)) }
}

fn fifo() -> NodeConfig {
    NodeConfig { timing: timing(), order: Order::Fifo, depth: 3, listen_only: false, one_shot: false }
}

fn trace(schedule: &Schedule) -> Trace {
    let mut bus = Bus::new(0);
    for &config in &schedule.configs {
        let node = bus.add_node().unwrap();
        bus.switch_on(BusNs(0), node, config);
    }
    for disturbance in &schedule.disturbances {
        let nothing = Disturbance::Flip { bit: u32::MAX };
        bus.faults().plan(Target::default(), disturbance.unwrap_or(nothing), 1);
    }
    let mut events = Vec::new();
    let mut stuck_until = None;
    for (tag, (bit, step)) in schedule.steps.iter().enumerate() {
        if let Some(end) = stuck_until.filter(|end| end <= bit) {
            bus.advance(BusNs(end * BIT_NS - 1), &mut events);
            bus.stick(BusNs(end * BIT_NS), false);
            stuck_until = None;
        }
        let now = BusNs(bit * BIT_NS);
        bus.advance(BusNs(now.0 - 1), &mut events);
        let id = |node: usize| NodeId(u8::try_from(node).unwrap());
        match *step {
            Step::Submit { node, frame } => {
                let tag = Tag(u32::try_from(tag).unwrap());
                if bus.submit(now, id(node), tag, frame) == Err(SubmitError::Full) {
                    // A buffer is free from the end of a frame on. Otherwise both models refuse the frame.
                    bus.advance(now, &mut events);
                    let _refused = bus.submit(now, id(node), tag, frame);
                }
            }
            Step::SwitchOff { node } => drop(bus.switch_off(now, id(node))),
            Step::SwitchOn { node } => bus.switch_on(now, id(node), schedule.configs[node]),
            Step::Restart { node } => bus.restart(now, id(node)),
            Step::Stuck { bits } => {
                // A node that starts with this bit does not detect it.
                bus.advance(now, &mut events);
                bus.stick(now, true);
                stuck_until = Some(bit + bits);
            }
        }
    }
    if let Some(end) = stuck_until {
        bus.advance(BusNs(end * BIT_NS - 1), &mut events);
        bus.stick(BusNs(end * BIT_NS), false);
    }
    bus.advance(BusNs(end_of(schedule) * BIT_NS), &mut events);
    let mut outcomes: Vec<(u64, Outcome)> = events.iter().filter_map(outcome).collect();
    outcomes.sort();
    let counters = (0..NODES).map(|node| {
        let counters = bus.counters(NodeId(u8::try_from(node).unwrap()));
        (counters.transmit.into(), counters.receive.into())
    });
    Trace { outcomes, counters: counters.collect() }
}

fn outcome(event: &Event) -> Option<(u64, Outcome)> {
    let bits = |at: BusNs| {
        assert_eq!(at.0 % BIT_NS, 0, "{event:?}");
        at.0 / BIT_NS
    };
    match *event {
        Event::Delivered { start, end, sender, tag, receivers, .. } => {
            let receivers = receivers.iter().map(|node| usize::from(node.0)).collect();
            Some((
                bits(end),
                Outcome::Delivered { sender: sender.0.into(), tag: tag.0.into(), start: bits(start), receivers },
            ))
        }
        Event::LostArbitration { at, node, bit, .. } => {
            Some((bits(at) + 1, Outcome::Lost { node: node.0.into(), bit: bit.into() }))
        }
        Event::State { at, node, state, counters } => {
            let (transmit, receive) = (counters.transmit.into(), counters.receive.into());
            Some((bits(at), Outcome::State { node: node.0.into(), state, transmit, receive }))
        }
        Event::Error { .. } => None,
    }
}

fn end_of(schedule: &Schedule) -> u64 {
    schedule.steps.last().map_or(FIRST_BIT, |(bit, _)| *bit) + 6000
}

fn model_trace(schedule: &Schedule) -> Trace {
    let mut bus = bit_model::Bus::new(schedule.configs.iter().map(|config| Config {
        order: match config.order {
            Order::Fifo => bit_model::Order::Fifo,
            Order::LowestId => bit_model::Order::LowestFirst,
        },
        depth: config.depth,
        listen_only: config.listen_only,
        one_shot: config.one_shot,
        ..Config::default()
    }));
    for (frame, disturbance) in schedule.disturbances.iter().enumerate() {
        match *disturbance {
            Some(Disturbance::Flip { bit }) => bus.disturb(bit_model::Disturbance::Flip { frame, bit: bit.into() }),
            Some(Disturbance::NoAcknowledge) => bus.disturb(bit_model::Disturbance::NoAck { frame }),
            Some(Disturbance::ErrorFlag { node, bit }) => {
                bus.disturb(bit_model::Disturbance::Misread { frame, bit: bit.into(), node: node.0.into() });
            }
            // The bit model has no random bits.
            Some(Disturbance::ErrorFlagSomewhere { .. } | Disturbance::FlipSomewhere) | None => {}
        }
    }
    for (tag, (bit, step)) in schedule.steps.iter().enumerate() {
        match *step {
            Step::Submit { node, frame } => bus.submit(*bit, node, tag as u64, frame),
            Step::SwitchOff { node } => bus.switch_off(*bit, node),
            Step::SwitchOn { node } => bus.switch_on(*bit, node),
            Step::Restart { node } => bus.restart(*bit, node),
            Step::Stuck { bits } => bus.disturb(bit_model::Disturbance::Stuck { from: *bit, to: bit + bits }),
        }
    }
    let mut states = [ErrorState::Active; NODES];
    let mut outcomes = Vec::new();
    for entry in bus.run_until(end_of(schedule)) {
        let node = entry.node;
        match entry.what {
            What::Delivered { tag, start, receivers, .. } => {
                outcomes.push((entry.at, Outcome::Delivered { sender: node, tag, start, receivers }));
            }
            What::ArbitrationLost { bit, .. } => outcomes.push((entry.at, Outcome::Lost { node, bit })),
            What::Counters { counters, .. } => {
                let state = match (counters.tec, counters.tec.max(counters.rec)) {
                    (256.., _) => ErrorState::BusOff,
                    (_, 128..) => ErrorState::Passive,
                    (_, 96..) => ErrorState::Warning,
                    _ => ErrorState::Active,
                };
                if std::mem::replace(&mut states[node], state) != state {
                    let (transmit, receive) = (counters.tec, counters.rec);
                    outcomes.push((entry.at, Outcome::State { node, state, transmit, receive }));
                }
            }
            // Counters are zero after power off.
            What::SwitchedOff => states[node] = ErrorState::Active,
            _ => {}
        }
    }
    // The first of several senders lists the receivers.
    let mut seen: Vec<u64> = Vec::new();
    outcomes.sort();
    for (_, outcome) in &mut outcomes {
        if let Outcome::Delivered { start, receivers, .. } = outcome {
            if seen.contains(start) {
                receivers.clear();
            }
            seen.push(*start);
        }
    }
    let counters = (0..NODES).map(|node| (bus.counters(node).tec, bus.counters(node).rec)).collect();
    Trace { outcomes, counters }
}

fn frame() -> impl Strategy<Value = Frame> {
    // All bits of the model have the same length, ESI depends on the state of the sender, and frames are longer than
    // the last bit that may be disturbed.
    let slow = |mut frame: Frame| {
        if frame.format == FrameFormat::Fd {
            frame.flags &= !(CANFD_BRS | CANFD_ESI);
        } else if frame.id.is_rtr() {
            frame.id.0 |= CAN_EFF_FLAG;
        } else {
            frame.len = frame.len.max(2);
        }
        frame
    };
    let few =
        ["123#0000", "123#0001", "124#FFFF", "00000123#R", "123#0000000000000000", "456#DEADBEEF", "00000123#1122"];
    let few = prop::sample::select(few.to_vec());
    prop_oneof![3 => arbitrary::wire_frame().prop_map(slow), 1 => few.prop_map(|text| text.parse().unwrap())]
}

/// Kinds of random schedules. Not all at once: if a frame breaks before its disturbed bit, the models disturb different
/// bits.
#[derive(Clone, Copy)]
enum Trouble {
    /// Nodes with equal identifiers, and nodes that join and leave.
    Nodes,
    /// Number of disturbed frames per ten, and number of frames with disturbances.
    Frames(u32, usize),
}

fn schedule(trouble: Trouble) -> impl Strategy<Value = Schedule> {
    let (disturbed, frames, nodes) = match trouble {
        Trouble::Nodes => (0, FRAMES, true),
        Trouble::Frames(disturbed, frames) => (disturbed, frames, false),
    };
    let weight = u32::from(nodes);
    let node = 0..NODES;
    let submit = move |(node, mut frame): (usize, Frame)| {
        if !nodes {
            frame.id.0 = frame.id.0 & 0x7F8 | u32::try_from(node).unwrap();
            let payload = &frame.payload()[..frame.payload().len().min(8)];
            frame = Frame { len8_dlc: frame.len8_dlc, ..Frame::classic(frame.id, payload).unwrap() };
            frame.len = frame.len.max(2);
        }
        Step::Submit { node, frame }
    };
    let step = prop_oneof![
        20 => (node.clone(), frame()).prop_map(submit),
        weight => node.clone().prop_map(|node| Step::SwitchOff { node }),
        weight => node.clone().prop_map(|node| Step::SwitchOn { node }),
        1 => node.prop_map(|node| Step::Restart { node }),
    ];
    let gap = prop_oneof![3 => 1_u64..20, 2 => 20_u64..300];
    let disturbance = prop_oneof![
        (0..u8::try_from(NODES).unwrap(), 1..BITS)
            .prop_map(|(node, bit)| Disturbance::ErrorFlag { node: NodeId(node), bit }),
        (1..BITS).prop_map(|bit| Disturbance::Flip { bit }),
        Just(Disturbance::NoAcknowledge),
    ];
    let disturbed = prop_oneof![10 - disturbed => Just(None), disturbed => disturbance.prop_map(Some)];
    (
        prop::collection::vec(config(timing()), NODES),
        prop::collection::vec((gap, step), 1..40),
        prop::collection::vec(disturbed, frames),
    )
        .prop_map(|(configs, steps, disturbances)| {
            // The standard does not define when the buffer of a frame that is given up is free.
            let deep =
                |config: NodeConfig| NodeConfig { depth: if config.one_shot { 40 } else { config.depth }, ..config };
            let configs = configs.into_iter().map(deep).collect();
            let mut bit = FIRST_BIT;
            let mut timed = Vec::new();
            let mut on = [true; NODES];
            for (gap, step) in steps {
                bit += gap;
                // No node is switched on twice.
                match step {
                    Step::SwitchOff { node } => on[node] = false,
                    Step::SwitchOn { node } if on[node] => continue,
                    Step::SwitchOn { node } => on[node] = true,
                    _ => {}
                }
                timed.push((bit, step));
            }
            Schedule { configs, steps: timed, disturbances }
        })
}

/// A node that is switched off does not receive a frame that ends at that time.
fn remove_absent_receivers(schedule: &Schedule, outcomes: &mut [(u64, Outcome)]) {
    for (end, outcome) in outcomes {
        if let Outcome::Delivered { start, receivers, .. } = outcome {
            let during = *start..=*end;
            receivers.retain(|receiver| {
                let left = |step: &(u64, Step)| matches!(step, (bit, Step::SwitchOff { node }) if during.contains(bit) && node == receiver);
                !schedule.steps.iter().any(left)
            });
        }
    }
}

fn compare(schedule: &Schedule) -> Result<(), TestCaseError> {
    let Trace { mut outcomes, counters } = trace(schedule);
    let Trace { outcomes: mut expected, counters: expected_counters } = model_trace(schedule);
    remove_absent_receivers(schedule, &mut outcomes);
    remove_absent_receivers(schedule, &mut expected);
    let differ = outcomes
        .iter()
        .zip(&expected)
        .position(|(one, other)| one != other)
        .unwrap_or_else(|| outcomes.len().min(expected.len()));
    prop_assert_eq!(
        outcomes.get(differ),
        expected.get(differ),
        "after {:?}",
        &outcomes[..differ].iter().rev().take(3).collect::<Vec<_>>()
    );
    prop_assert_eq!(counters, expected_counters);
    Ok(())
}

#[test]
fn deliveries_agree_with_the_bit_model() {
    run(CASES, &schedule(Trouble::Nodes), compare);
}

#[test]
fn some_disturbed_frames_agree_with_the_bit_model() {
    run(CASES, &schedule(Trouble::Frames(3, FRAMES)), compare);
}

/// With few frames, most disturbed bits are in a frame: a flip in the intermission after a frame that broke early
/// causes an overload frame in the bit model only.
#[test]
fn mostly_disturbed_frames_agree_with_the_bit_model() {
    run(CASES, &schedule(Trouble::Frames(9, 12)), compare);
}

/// Every single bit of some frames is wrong, for all nodes or for one.
#[test]
fn every_wrong_bit_agrees_with_the_bit_model() {
    for text in ["123#", "555#1122", "000#0000000000000000", "00000001#FF", "1FFFFFFF#R", "123#R8"] {
        let frame: Frame = text.parse().unwrap();
        let bits = candor_core::bits::FrameBits::of(&frame).without_intermission().total();
        for bit in 0..bits {
            let disturb = [
                Disturbance::Flip { bit },
                // A node detects no errors before the start of frame.
                Disturbance::ErrorFlag { node: NodeId(0), bit: bit.max(1) },
                Disturbance::ErrorFlag { node: NodeId(1), bit: bit.max(1) },
            ];
            for disturbance in disturb {
                let submit = |bit| (bit, Step::Submit { node: 0, frame });
                let schedule = Schedule {
                    configs: vec![fifo(); NODES],
                    steps: vec![submit(21), submit(22)],
                    disturbances: vec![Some(disturbance)],
                };
                if let Err(error) = compare(&schedule) {
                    panic!("{error}\n{schedule:?}");
                }
            }
        }
    }
}

/// The wire is dominant from every single bit of a frame on, for a short or a long time.
#[test]
fn dominant_wire_agrees_with_the_bit_model() {
    for text in ["123#", "555#1122", "12345678#R"] {
        let frame: Frame = text.parse().unwrap();
        let len = u64::from(candor_core::bits::FrameBits::of(&frame).without_intermission().total());
        for from in 0..len {
            for bits in [1, 2, 7, 12, 13, 20, 21, 22, 200, 1000] {
                // The third bit of an intermission would be a start of frame for nodes with a frame.
                if from + bits > len && bits < 12 {
                    continue;
                }
                let schedule = Schedule {
                    configs: vec![fifo(); NODES],
                    steps: vec![(21, Step::Submit { node: 0, frame }), (21 + from, Step::Stuck { bits })],
                    disturbances: Vec::new(),
                };
                if let Err(error) = compare(&schedule) {
                    panic!("{error}\n{schedule:?}");
                }
            }
        }
    }
}
