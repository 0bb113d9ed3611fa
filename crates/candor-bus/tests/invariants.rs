//! Invariants of every bus, for any traffic and any faults.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod schedules;

use std::collections::BTreeMap;
use std::fmt;

use candor_bus::{
    Bus, BusNs, Counters, Disturbance, ErrorState, Event, NodeConfig, NodeId, Order, SubmitError, Tag, Target, Timing,
};
use candor_core::arbitrary;
use candor_core::bits::FrameBits;
use candor_core::frame::{CANFD_ESI, Frame, FrameFormat};
use proptest::prelude::*;
use schedules::{BIT_NS, config, rate, run, write_nodes};

/// Number of schedules. Long run: `CANDOR_CASES=1000000 cargo test --release -p candor-bus --test invariants`.
const CASES: u32 = 300;

#[derive(Clone, Debug)]
enum Step {
    Submit { node: u8, frame: Frame },
    Wait { ns: u64 },
    SwitchOff { node: u8 },
    SwitchOn { node: u8 },
    Restart { node: u8 },
    Hold { node: u8, held: bool },
    Stick { stuck: bool },
    Counters { node: u8, counters: Counters },
    Plan { disturbance: Disturbance },
    ErrorRate { per_million_bits: u32 },
}

#[derive(Clone)]
struct Schedule {
    configs: Vec<NodeConfig>,
    steps: Vec<Step>,
    seed: u64,
}

impl fmt::Debug for Schedule {
    /// A line for each node and step.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}", self.seed)?;
        write_nodes(f, &self.configs)?;
        for step in &self.steps {
            match step {
                Step::Submit { node, frame } => writeln!(f, "submit {node} {frame}")?,
                other => writeln!(f, "{other:?}")?,
            }
        }
        Ok(())
    }
}

const NODES: std::ops::Range<u8> = 0..5;

fn submit_or_wait() -> impl Strategy<Value = Step> {
    // Each node has its own identifiers, as on a well-designed bus.
    let submit = |(node, mut frame): (u8, Frame)| {
        frame.id.0 = frame.id.0 & !7 | u32::from(node);
        Step::Submit { node, frame }
    };
    prop_oneof![
        6 => (NODES, arbitrary::wire_frame()).prop_map(submit),
        3 => (0_u64..400_000).prop_map(|ns| Step::Wait { ns }),
    ]
}

fn anything() -> impl Strategy<Value = Step> {
    let disturbance = prop_oneof![
        (NODES, 0_u32..150).prop_map(|(node, bit)| Disturbance::ErrorFlag { node: NodeId(node), bit }),
        NODES.prop_map(|node| Disturbance::ErrorFlagSomewhere { node: NodeId(node) }),
        Just(Disturbance::FlipSomewhere),
        (0_u32..150).prop_map(|bit| Disturbance::Flip { bit }),
        Just(Disturbance::NoAcknowledge),
    ];
    prop_oneof![
        20 => submit_or_wait(),
        5 => (NODES, arbitrary::wire_frame()).prop_map(|(node, frame)| Step::Submit { node, frame }),
        1 => NODES.prop_map(|node| Step::SwitchOff { node }),
        1 => NODES.prop_map(|node| Step::SwitchOn { node }),
        1 => NODES.prop_map(|node| Step::Restart { node }),
        1 => (NODES, any::<bool>()).prop_map(|(node, held)| Step::Hold { node, held }),
        1 => any::<bool>().prop_map(|stuck| Step::Stick { stuck }),
        1 => (NODES, 0_u16..300, 0_u16..256).prop_map(|(node, transmit, receive)| {
            Step::Counters { node, counters: Counters { transmit, receive } }
        }),
        3 => disturbance.prop_map(|disturbance| Step::Plan { disturbance }),
        1 => (0_u32..3000).prop_map(|per_million_bits| Step::ErrorRate { per_million_bits }),
    ]
}

fn schedule(step: impl Strategy<Value = Step>) -> impl Strategy<Value = Schedule> {
    let timing = Timing { nominal: rate(500_000), data: Some(rate(2_000_000)) };
    let configs = prop::collection::vec(config(timing), usize::from(NODES.end));
    (configs, prop::collection::vec(step, 1..60), any::<u64>()).prop_map(|(configs, steps, seed)| Schedule {
        configs,
        steps,
        seed,
    })
}

/// An accepted frame and its result.
#[derive(Clone, Debug)]
struct Submitted {
    node: NodeId,
    arrival: BusNs,
    frame: Frame,
    result: Option<Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Delivered { start: BusNs, end: BusNs },
    GivenUp,
    Dropped,
}

struct Played {
    bus: Bus,
    submitted: BTreeMap<Tag, Submitted>,
    events: Vec<Event>,
}

fn play(schedule: &Schedule) -> Result<Played, TestCaseError> {
    let mut bus = Bus::new(schedule.seed);
    for &config in &schedule.configs {
        let node = bus.add_node().unwrap();
        bus.switch_on(BusNs(0), node, config);
    }
    let mut played = Played { bus, submitted: BTreeMap::new(), events: Vec::new() };
    let mut now = BusNs(100_000);
    let mut tag = 0;
    for step in &schedule.steps {
        played.advance(now)?;
        match *step {
            Step::Submit { node, frame } => {
                tag += 1;
                match played.bus.submit(now, NodeId(node), Tag(tag), frame) {
                    Ok(()) => {
                        let submitted = Submitted { node: NodeId(node), arrival: now, frame, result: None };
                        played.submitted.insert(Tag(tag), submitted);
                    }
                    Err(error) => prop_assert!(
                        matches!(
                            error,
                            SubmitError::Full | SubmitError::BusOff | SubmitError::Off | SubmitError::ListenOnly
                        ),
                        "{error}"
                    ),
                }
            }
            Step::Wait { ns } => now = now + ns,
            Step::SwitchOff { node } => {
                for tag in played.bus.switch_off(now, NodeId(node)) {
                    played.end(tag, Outcome::Dropped)?;
                }
            }
            Step::SwitchOn { node } => {
                for tag in played.bus.switch_off(now, NodeId(node)) {
                    played.end(tag, Outcome::Dropped)?;
                }
                played.bus.switch_on(now, NodeId(node), schedule.configs[usize::from(node)]);
            }
            Step::Restart { node } => played.bus.restart(now, NodeId(node)),
            Step::Hold { node, held } => played.bus.hold(NodeId(node), held),
            Step::Stick { stuck } => played.bus.stick(now, stuck),
            Step::Counters { node, counters } => {
                let is_on_the_bus = played.bus.timing(NodeId(node)).is_some();
                let done = played.bus.set_counters(now, NodeId(node), counters, &mut played.events);
                prop_assert_eq!(done.is_ok(), is_on_the_bus);
                if is_on_the_bus {
                    prop_assert_eq!(played.bus.counters(NodeId(node)), counters);
                }
            }
            Step::Plan { disturbance } => played.bus.faults().plan(Target::default(), disturbance, 1),
            Step::ErrorRate { per_million_bits } => {
                played.bus.faults().set_bit_error_rate(f64::from(per_million_bits) / 1e6);
            }
        }
    }
    // End all faults, and send the remaining frames.
    played.advance(now)?;
    played.bus.faults().clear();
    played.bus.stick(now, false);
    for node in NODES {
        played.bus.hold(NodeId(node), false);
        played.bus.restart(now, NodeId(node));
    }
    played.advance(now + 1_000_000_000)?;
    Ok(played)
}

impl Played {
    fn advance(&mut self, to: BusNs) -> Result<(), TestCaseError> {
        let first = self.events.len();
        self.bus.advance(to, &mut self.events);
        for event in self.events.split_off(first) {
            match event {
                Event::Delivered { start, end, tag, .. } => self.end(tag, Outcome::Delivered { start, end })?,
                Event::Error { given_up: Some(tag), .. } | Event::LostArbitration { given_up: Some(tag), .. } => {
                    self.end(tag, Outcome::GivenUp)?;
                }
                _ => {}
            }
            self.events.push(event);
        }
        Ok(())
    }

    fn end(&mut self, tag: Tag, result: Outcome) -> Result<(), TestCaseError> {
        let submitted = self.submitted.get_mut(&tag);
        prop_assert!(
            submitted.as_ref().is_some_and(|submitted| submitted.result.is_none()),
            "{tag:?} ends twice: {result:?}"
        );
        submitted.unwrap().result = Some(result);
        Ok(())
    }

    /// Delivered frames by their start.
    fn delivered(&self) -> Vec<(BusNs, BusNs, &Submitted)> {
        let of = |submitted| match submitted {
            Submitted { result: Some(Outcome::Delivered { start, end }), .. } => Some((start, end)),
            _ => None,
        };
        let mut delivered: Vec<_> = self
            .submitted
            .values()
            .filter_map(|submitted| of(submitted.clone()).map(|(start, end)| (start, end, submitted)))
            .collect();
        delivered.sort_by_key(|(start, ..)| *start);
        delivered
    }
}

/// The arbitration field as text. The lowest wins.
fn arbitration_field(frame: &Frame) -> String {
    let id = frame.id.bits();
    let remote = if frame.id.is_rtr() { '1' } else { '0' };
    if frame.id.is_eff() {
        let bits = format!("{id:029b}");
        format!("{}11{}{remote}", &bits[..11], &bits[11..])
    } else {
        format!("{id:011b}{remote}0")
    }
}

fn check(schedule: &Schedule) -> Result<(), TestCaseError> {
    let played = play(schedule)?;
    // Frames do not overlap, and the busy time is that of frames and errors.
    let mut taken: Vec<(BusNs, BusNs)> = played
        .events
        .iter()
        .filter_map(|event| match *event {
            // Nodes that join later do not wait for the delimiters of others.
            Event::Error { start, at, .. } => Some((start, BusNs(at.0 - 3 * BIT_NS))),
            Event::Delivered { start, end, .. } => Some((start, end)),
            _ => None,
        })
        .collect();
    // Several nodes may start together, of which one continues.
    taken.sort_unstable_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
    taken.dedup_by_key(|(start, _)| *start);
    for pair in taken.windows(2) {
        prop_assert!(pair[0].1 + 3 * BIT_NS <= pair[1].0, "{pair:?} overlap");
    }
    let busy: u64 = taken.iter().map(|(start, end)| end.since(*start) + 3 * BIT_NS).sum();
    prop_assert!(busy <= played.bus.busy_ns() + taken.len() as u64, "{busy} > {}", played.bus.busy_ns());

    for (tag, submitted) in &played.submitted {
        // No frame is lost: remaining frames belong to nodes that cannot send.
        if submitted.result.is_none() {
            let alone = schedule.configs.iter().filter(|config| !config.listen_only).count() < 2;
            let silent = played.bus.counters(submitted.node).state() != ErrorState::Active;
            let switched = schedule.steps.iter().any(|step| matches!(step, Step::SwitchOff { .. }));
            prop_assert!(alone || silent || switched, "{tag:?} was never sent: {submitted:?}");
        }
        if let Some(Outcome::Delivered { start, end }) = submitted.result {
            prop_assert!(start >= submitted.arrival);
            let config = &schedule.configs[usize::from(submitted.node.0)];
            // A passive sender sets ESI, which may add or remove a stuff bit.
            let times = [0, CANFD_ESI].map(|esi| {
                let flags = submitted.frame.flags | if submitted.frame.format == FrameFormat::Fd { esi } else { 0 };
                let bits = FrameBits::of(&Frame { flags, ..submitted.frame }).without_intermission();
                bits.wire_time_ns(config.timing.nominal, config.timing.data)
            });
            prop_assert!(times.contains(&end.since(start)), "{submitted:?} took {} ns", end.since(start));
        }
    }
    // Controllers keep their order.
    let delivered = played.delivered();
    for (index, (start, _, submitted)) in delivered.iter().enumerate() {
        let later = delivered[index + 1..].iter().filter(|(_, _, other)| other.node == submitted.node);
        for (_, _, other) in later.filter(|(.., other)| other.arrival < *start) {
            let (field, other_field) = (arbitration_field(&submitted.frame), arbitration_field(&other.frame));
            match schedule.configs[usize::from(submitted.node.0)].order {
                Order::Fifo => prop_assert!(submitted.arrival <= other.arrival, "{other:?} waited for {submitted:?}"),
                Order::LowestId => prop_assert!(field <= other_field, "{other:?} waited for {submitted:?}"),
            }
        }
    }
    Ok(())
}

/// Additional invariants without faults: no node waits while the wire is free, and the lowest frame is sent first.
fn check_good(schedule: &Schedule) -> Result<(), TestCaseError> {
    check(schedule)?;
    let configs: Vec<NodeConfig> =
        schedule.configs.iter().map(|config| NodeConfig { listen_only: false, one_shot: false, ..*config }).collect();
    let played = play(&Schedule { configs: configs.clone(), ..schedule.clone() })?;
    let delivered = played.delivered();
    prop_assert_eq!(delivered.len(), played.submitted.len());
    let mut free = BusNs(0);
    for (index, &(start, end, submitted)) in delivered.iter().enumerate() {
        let equal_twins = index > 0 && delivered[index - 1].0 == start;
        let ready = submitted.arrival.max(free);
        prop_assert!(equal_twins || start <= ready + 1, "idle from {ready} to {start}");
        free = end + 3 * BIT_NS;
        for (other_start, _, other) in &delivered[index + 1..] {
            // A frame at the head of its controller that was submitted, but not sent first.
            let head = !delivered[index..]
                .iter()
                .any(|(at, _, before)| at < other_start && before.node == other.node && !std::ptr::eq(*before, *other));
            let mailbox = configs[usize::from(other.node.0)].order == Order::LowestId;
            if other.arrival < start && (head || mailbox) {
                let (field, other_field) = (arbitration_field(&submitted.frame), arbitration_field(&other.frame));
                prop_assert!(field <= other_field, "{other:?} lost to {submitted:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn frames_do_not_overlap_vanish_or_change_their_order() {
    run(CASES, &schedule(anything()), check);
}

#[test]
fn bus_without_faults_is_never_idle_and_sends_the_lowest_frame_first() {
    run(CASES, &schedule(submit_or_wait()), check_good);
}

#[test]
fn events_are_reproducible() {
    run(CASES, &schedule(anything()), |schedule| {
        prop_assert_eq!(play(schedule)?.events, play(schedule)?.events);
        Ok(())
    });
}
