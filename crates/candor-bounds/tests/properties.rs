//! Properties of bounds, of timelines, of searches and of proposals.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::num::{NonZeroU8, NonZeroU32};

use candor_bounds::{
    Analysis, Assumptions, Band, Basis, Bus, BusId, Controller, Judgement, Latency, Lengths, Message, MessageId,
    Network, Node, NodeId, Ns, Origin, Problem, Queue, Use,
};
use candor_core::frame::{FrameFormat, RawId};
use candor_core::units::BitRate;
use proptest::prelude::*;

const PUBLISHED: Assumptions = Assumptions { lengths: Lengths::Published, error_frames: 0, error_frame_bits: 31 };

fn message(node: usize, id: u32, period: Ns) -> Message {
    Message {
        node: NodeId(node),
        id: RawId(id),
        format: FrameFormat::Classic,
        bit_rate_switch: false,
        len: 8,
        origin: Origin::Queued { period, jitter: Ns(0) },
        deadline: period,
        band: 0,
        socket: 0,
    }
}

fn bus(rate: &str) -> Bus {
    Bus { nominal: rate.parse().unwrap(), data: None }
}

fn ideal(bus: usize) -> Node {
    Node { bus: BusId(bus), queue: Queue::Arbitration, controller: Controller::Abortable }
}

fn fifo(bus: usize, frames: u32) -> Node {
    Node { bus: BusId(bus), queue: Queue::fifo(), controller: Controller::Fifo(NonZeroU32::new(frames).unwrap()) }
}

fn controllers() -> impl Strategy<Value = Controller> {
    let frames = || (1..5_u32).prop_map(|frames| NonZeroU32::new(frames).unwrap());
    prop_oneof![
        Just(Controller::Abortable),
        frames().prop_map(Controller::Fifo),
        frames().prop_map(Controller::Mailboxes)
    ]
}

fn bands() -> impl Strategy<Value = Vec<Band>> {
    let band = (prop::option::weighted(0.2, 100..2000_u32), any::<bool>());
    let strict = prop::collection::vec(band, 1..4).prop_map(|bands| {
        let band =
            |(rate, turns): (Option<u32>, bool)| Band { rate: rate.and_then(NonZeroU32::new), share: None, turns };
        bands.into_iter().map(band).collect::<Vec<_>>()
    });
    let shares = prop::collection::vec(1..4_u8, 2..3);
    (strict, prop::option::of(shares)).prop_map(|(mut bands, shares)| {
        let share = |share: u8| Band { rate: None, share: NonZeroU8::new(share), turns: false };
        bands.extend(shares.into_iter().flatten().map(share));
        bands
    })
}

/// Two buses with up to three nodes each.
fn networks() -> impl Strategy<Value = Network> {
    let queue = prop_oneof![Just(Queue::Arbitration), Just(Queue::fifo()), bands().prop_map(Queue::Bands)];
    let node = (0..2_usize, queue, controllers());
    let node = node.prop_map(|(bus, queue, controller)| Node { bus: BusId(bus), queue, controller });
    let one = (any::<prop::sample::Index>(), 1..2000_u64, 0..3000_u64, 0..9_u8, 0..4_usize, any::<bool>());
    (prop::collection::vec(node, 2..6), prop::collection::vec(one, 2..9)).prop_map(|(nodes, ones)| {
        let mut messages: Vec<Message> = Vec::new();
        for (at, (node, period, jitter, len, band, forwards)) in ones.into_iter().enumerate() {
            let node = node.index(nodes.len());
            let bands = match &nodes[node].queue {
                Queue::Arbitration => 1,
                Queue::Bands(bands) => bands.len(),
            };
            let id = u32::try_from((at * 37 + 11) % 101).unwrap();
            let mut one = message(node, id, Ns::from_us(1000 + 10 * period));
            one.len = len;
            one.band = band % bands;
            one.socket = u32::try_from(band % 2).unwrap();
            one.origin = Origin::Queued { period: one.deadline, jitter: Ns::from_us(jitter) };
            if let Some(from) = at.checked_sub(1).filter(|_| forwards)
                && nodes[messages[from].node.0].bus != nodes[node].bus
            {
                let latency = Latency { shortest: Ns(0), longest: Ns::from_us(jitter), basis: Basis::Measured(0.99) };
                one.origin = Origin::Forwarded { from: MessageId(from), latency };
            }
            messages.push(one);
        }
        Network { buses: vec![bus("500kbit/s"), bus("250kbit/s")], nodes, messages }
    })
}

/// Bounds of the messages that both networks have; no bound is the highest.
fn responses(network: &Network, assumptions: Assumptions) -> Vec<u64> {
    let analysis = network.analyse(assumptions).unwrap();
    analysis.bounds().map(|(_, bound)| bound.response.map_or(u64::MAX, |response| response.0)).collect()
}

fn holds_or_gives_up(analysis: &Analysis) -> bool {
    analysis.holds() || analysis.bounds().any(|(_, bound)| bound.response.is_none())
}

fn cases() -> u32 {
    std::env::var("CANDOR_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

/// No gaps, and its end is that of the bound.
fn check_timelines(network: &Network) -> Result<(), TestCaseError> {
    let analysis = network.analyse(PUBLISHED).unwrap();
    for (message, bound) in analysis.bounds() {
        let Some(timeline) = analysis.timeline(message) else { continue };
        let mut end = Ns(0);
        for slot in &timeline.slots {
            prop_assert_eq!(slot.start, end, "{:?} {:#?} {:?} {:?}", message, timeline, network, bound);
            end = slot.end;
        }
        let last = timeline.slots.last().unwrap();
        prop_assert_eq!((last.used_for, last.message), (Use::Message, Some(message)));
        if let Origin::Queued { .. } = network.messages[message.0].origin {
            let response = i64::try_from(bound.response.unwrap().0).unwrap();
            prop_assert_eq!(i64::try_from(end.0).unwrap() - timeline.released_ns, response, "{:?}", timeline);
        }
    }
    Ok(())
}

/// The rule that gave the bound in an earlier pass is not the one that gives it in the end.
#[test]
fn a_timeline_is_that_of_the_rule_that_gives_the_bound() {
    let nodes = vec![Node { queue: Queue::Arbitration, ..fifo(1, 3) }, ideal(0)];
    let queued = |node: usize, id: u32, len: u8, period: u64, jitter: u64| {
        let one = message(node, id, Ns::from_us(period));
        Message { len, origin: Origin::Queued { period: one.deadline, jitter: Ns::from_us(jitter) }, ..one }
    };
    let forwarded = |node: usize, id: u32, len: u8, from: usize, longest: u64| {
        let latency = Latency { shortest: Ns(0), longest: Ns::from_us(longest), basis: Basis::Measured(0.99) };
        let origin = Origin::Forwarded { from: MessageId(from), latency };
        Message { len, origin, ..message(node, id, Ns::from_us(1010)) }
    };
    let messages = vec![
        queued(1, 11, 0, 1010, 0),
        queued(1, 48, 0, 1440, 0),
        queued(1, 85, 7, 2360, 1609),
        forwarded(0, 21, 6, 2, 1974),
        forwarded(1, 58, 1, 3, 0),
        queued(0, 95, 7, 1890, 0),
    ];
    let network = Network { buses: vec![bus("500kbit/s"), bus("250kbit/s")], nodes, messages };
    assert!(network.analyse(PUBLISHED).unwrap().timeline(MessageId(5)).is_some());
    check_timelines(&network).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn more_traffic_never_lowers_a_bound(network in networks(), at in any::<prop::sample::Index>(), more in 1..4000_u64) {
        // If bounds still grow after the last pass, there is none, although more traffic may end the growth earlier.
        prop_assume!(network.analyse(PUBLISHED).unwrap().passes() < 50);
        let before = responses(&network, PUBLISHED);
        let at = at.index(network.messages.len());
        let mut others = Vec::new();
        let changed = |change: &dyn Fn(&mut Message)| {
            let mut network = network.clone();
            change(&mut network.messages[at]);
            network
        };
        if let Origin::Queued { period, jitter } = network.messages[at].origin {
            others.push(changed(&|one| one.origin = Origin::Queued { period, jitter: Ns(jitter.0 + 100 * more) }));
            let shorter = Ns(period.0 - period.0 * more / 8000);
            others.push(changed(&|one| one.origin = Origin::Queued { period: shorter, jitter }));
        }
        if let Origin::Forwarded { from, mut latency } = network.messages[at].origin {
            latency.longest.0 += 100 * more;
            others.push(changed(&|one| one.origin = Origin::Forwarded { from, latency }));
        }
        let mut one_more = network.clone();
        one_more.messages.push(Message { id: RawId(102 + u32::try_from(more % 4).unwrap()), ..network.messages[at] });
        others.push(one_more);
        let mut slower = network.clone();
        slower.buses[0].nominal = "400kbit/s".parse().unwrap();
        others.push(slower);
        for other in others {
            for (at, (before, after)) in before.iter().zip(responses(&other, PUBLISHED)).enumerate() {
                prop_assert!(after >= *before, "{at}: {after} < {before}\n{network:?}\n{other:?}");
            }
        }
        let faults = responses(&network, Assumptions { error_frames: 1, ..PUBLISHED });
        prop_assert!(faults.iter().zip(&before).all(|(after, before)| *after > *before || *before == u64::MAX));
    }

    #[test]
    fn a_timeline_has_no_gaps_and_ends_with_the_bound(network in networks()) {
        check_timelines(&network)?;
    }

    #[test]
    fn a_search_ends_where_deadlines_are_missed(mut network in networks()) {
        for message in &mut network.messages {
            message.deadline = Ns::from_ms(40);
        }
        let Some(growth) = network.highest_load(PUBLISHED).unwrap() else { return Ok(()) };
        let present = network.analyse(PUBLISHED).unwrap();
        prop_assert!(growth.per_mille < 1000 || holds_or_gives_up(&present));
        prop_assert!(!growth.breaks.is_empty() || growth.per_mille == 1_000_000);
        // The search goes on from the bounds of networks that held. From the beginning, it is the same.
        let mut grown = network.clone();
        for message in &mut grown.messages {
            if let Origin::Queued { period, .. } = &mut message.origin {
                *period = Ns((period.0 * 1000 / u64::from(growth.per_mille)).max(1));
            }
        }
        let from_beginning = grown.analyse(PUBLISHED).unwrap();
        prop_assert!(from_beginning.holds());
        match network.lowest_bit_rate(BusId(1), PUBLISHED).unwrap() {
            None => prop_assert!(!present.holds()),
            Some(rate) => {
                network.buses[1].nominal = rate;
                let from_beginning = network.analyse(PUBLISHED).unwrap();
                prop_assert!(from_beginning.holds());
                if let Some(less) = BitRate::from_bits_per_second(rate.bits_per_second() - 1) {
                    network.buses[1].nominal = less;
                    prop_assert!(!network.analyse(PUBLISHED).unwrap().holds());
                }
            }
        }
    }
}

#[test]
fn a_gateway_adds_its_latency_and_the_jitter_of_the_first_bus() {
    let latency = Latency { shortest: Ns(0), longest: Ns::from_us(300), basis: Basis::Budget };
    let forwarded = |from: usize, id| Message {
        origin: Origin::Forwarded { from: MessageId(from), latency },
        ..message(2, id, Ns::from_ms(20))
    };
    let ms = Ns::from_ms;
    let network = Network {
        buses: vec![bus("500kbit/s"), bus("500kbit/s")],
        nodes: vec![ideal(0), ideal(0), ideal(1)],
        messages: vec![message(0, 1, ms(10)), message(1, 2, ms(10)), forwarded(0, 1), forwarded(1, 2)],
    };
    let analysis = network.analyse(PUBLISHED).unwrap();
    let us = |at: usize| analysis.bound(MessageId(at)).response.unwrap().0 / 1000;
    // The first frame: blocked by one, its own time. Then the gateway, and the same on the second bus.
    assert_eq!([us(0), us(1)], [534, 534]);
    assert_eq!([us(2), us(3)], [534 + 300 + 534, 534 + 300 + 534]);
    assert_eq!(analysis.stages(MessageId(3)).len(), 3);
    let longest = network.longest_latency(PUBLISHED).unwrap().unwrap();
    // Up to the period of the others, one frame of each is before it; above, two.
    let mut network = network;
    network.messages[3].origin = Origin::Forwarded { from: MessageId(1), latency: Latency { longest, ..latency } };
    network.messages[2].origin = Origin::Forwarded { from: MessageId(0), latency: Latency { longest, ..latency } };
    let analysis = network.analyse(PUBLISHED).unwrap();
    assert!(analysis.holds() && longest > ms(18), "{longest}");
}

#[test]
fn growing_jitter_in_a_circle_of_buses_has_no_bound_or_one() {
    // Each message is forwarded to the other bus, where it delays the one that comes back: 90 % of each bus.
    let latency = Latency { shortest: Ns(0), longest: Ns::from_us(100), basis: Basis::Budget };
    let forwarded = |node, from, id| Message {
        origin: Origin::Forwarded { from: MessageId(from), latency },
        ..message(node, id, Ns(0))
    };
    let network = |period: Ns| Network {
        buses: vec![bus("500kbit/s"), bus("500kbit/s")],
        nodes: vec![ideal(0), ideal(1), fifo(0, 1), fifo(1, 1)],
        messages: vec![message(0, 2, period), message(1, 2, period), forwarded(2, 1, 1), forwarded(3, 0, 1)],
    };
    assert!(responses(&network(Ns::from_us(2000)), PUBLISHED).iter().all(|response| *response < 10_000_000));
    assert!(responses(&network(Ns::from_us(500)), PUBLISHED).contains(&u64::MAX));
}

#[test]
fn what_cannot_hold_is_said_with_its_sum() {
    let mut network = Network {
        buses: vec![bus("125kbit/s")],
        nodes: vec![ideal(0), ideal(0)],
        messages: vec![message(0, 1, Ns::from_ms(2)), message(1, 2, Ns::from_us(1900))],
    };
    network.messages[1].deadline = Ns::from_us(1000);
    let analysis = network.analyse(PUBLISHED).unwrap();
    let judgements = analysis.judgements();
    let [Judgement::Overload { load, .. }, Judgement::DeadlineShorterThanFrame { message, frame, .. }] =
        &judgements[..]
    else {
        panic!("{judgements:?}")
    };
    // 1.08 / 1.9 + 1.08 / 2.
    assert_eq!((load.ppm, load.terms[0].ppm, load.terms[0].message), (1_108_422, 568_422, MessageId(1)));
    assert_eq!((*message, *frame), (MessageId(1), Ns::from_us(1056)));
    // The more urgent one still has a bound.
    let responses = responses(&network, PUBLISHED);
    assert!(responses[0] < u64::MAX && responses[1] == u64::MAX, "{responses:?}");
}

#[test]
fn problems_name_their_message() {
    let latency = Latency { shortest: Ns(0), longest: Ns(0), basis: Basis::Budget };
    let forwarded = |from| Origin::Forwarded { from: MessageId(from), latency };
    let mut network = Network {
        buses: vec![bus("500kbit/s")],
        nodes: vec![ideal(0), ideal(0)],
        messages: (1..8).map(|id| message(0, id, Ns::from_ms(10))).collect(),
    };
    network.messages[0].origin = Origin::Queued { period: Ns(0), jitter: Ns(0) };
    network.messages[1].len = 9;
    network.messages[2].format = FrameFormat::Fd;
    network.messages[3].origin = forwarded(4);
    network.messages[4].origin = forwarded(3);
    network.messages[5].node = NodeId(7);
    network.messages[6].origin = forwarded(77);
    let expected = [
        Problem::NoPeriod(MessageId(0)),
        Problem::Length(MessageId(1)),
        Problem::Frame(MessageId(2)),
        Problem::Circle(MessageId(3)),
        Problem::Circle(MessageId(4)),
        Problem::NoSource(MessageId(5)),
        Problem::NoSource(MessageId(6)),
    ];
    assert_eq!(network.analyse(PUBLISHED).unwrap_err(), expected);
    network.messages = vec![message(0, 5, Ns::from_ms(10)), message(1, 5, Ns::from_ms(10))];
    assert_eq!(network.problems(), [Problem::SameIdentifier(MessageId(0), MessageId(1))]);
}

#[test]
fn identifiers_are_exchanged_so_that_deadlines_hold() {
    // The message with the shortest deadline has the least urgent identifier.
    let us = Ns::from_us;
    let mut network = Network {
        buses: vec![bus("125kbit/s")],
        nodes: vec![ideal(0); 4],
        messages: (0..4).map(|at| message(at, 0x10 + u32::try_from(at).unwrap(), us(10_000))).collect(),
    };
    network.messages[3].deadline = us(2500);
    network.messages[2].deadline = us(3500);
    let analysis = network.analyse(PUBLISHED).unwrap();
    assert!(!analysis.holds());
    let proposal = analysis.propose_identifiers(BusId(0)).unwrap();
    let order: Vec<_> = proposal.order.iter().map(|(message, id)| (message.0, id.0)).collect();
    assert_eq!(order, [(3, 0x10), (2, 0x11), (0, 0x12), (1, 0x13)]);
    assert!(proposal.holds && proposal.network.analyse(PUBLISHED).unwrap().holds());
    network.messages[0].deadline = us(1500);
    assert_eq!(network.analyse(PUBLISHED).unwrap().propose_identifiers(BusId(0)), None);
}

#[test]
fn bands_separate_short_deadlines_from_long_ones() {
    let mut network = Network {
        buses: vec![bus("500kbit/s")],
        nodes: vec![fifo(0, 1), ideal(0)],
        messages: (0..8).map(|id| message(0, id, Ns::from_ms(20))).collect(),
    };
    network.messages.push(message(1, 0x700, Ns::from_ms(20)));
    for at in [2, 5] {
        network.messages[at].deadline = Ns::from_us(1200);
    }
    let analysis = network.analyse(PUBLISHED).unwrap();
    assert!(!analysis.holds());
    let proposal = analysis.propose_bands(NodeId(0), 16).unwrap();
    assert!(proposal.holds);
    assert_eq!(proposal.bands[0], [MessageId(2), MessageId(5)]);
    assert_eq!(proposal.bands.len(), 2);
    assert_eq!(proposal.deadlines(0), Some((Ns::from_us(1200), Ns::from_us(1200))));
    assert_eq!(analysis.propose_bands(NodeId(0), 1), None);
}

#[test]
fn probabilities_of_a_missed_deadline_grow_with_the_rate_of_faults() {
    let network = Network {
        buses: vec![bus("500kbit/s")],
        nodes: vec![ideal(0); 3],
        messages: (0..3).map(|at| message(at, u32::try_from(at).unwrap(), Ns::from_us(1500))).collect(),
    };
    let miss = |rate| network.miss_probabilities(PUBLISHED, rate).unwrap();
    let (rare, often) = (miss(0.1), miss(100.0));
    assert!(
        rare.iter().zip(&often).all(|(rare, often)| rare < often && *rare > 0.0 && *often < 1.0),
        "{rare:?} {often:?}"
    );
    // The most urgent message has room for more faults.
    assert!(rare[0] < rare[2]);
    assert!(miss(0.0).iter().all(|miss| *miss < 1e-300));
}
