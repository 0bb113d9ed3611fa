//! The analyses against gateways that are run, frame by frame.

use std::collections::HashSet;

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use super::*;
use crate::placement::{KernelAbilities, Placement, Side};
use crate::plan::{Echo, Engine, Formats, Incoming, Route, SendAs};
use crate::testing::{exact, pair, plan, route};
use candor_core::arbitrary;
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::oracle;
use candor_core::payload::PayloadPattern;
use candor_core::rule::Operand;

const EXACT: u32 = 0xC000_07FF;

/// A number of random cases that are the same in every run. `CANDOR_CASES` sets another number of cases, which differ in
/// every run: `CANDOR_CASES=10000 cargo test --release -p candor-config --lib hazards`.
#[expect(clippy::disallowed_methods, reason = "the number of cases is a parameter of the test run")]
pub(crate) fn random_cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("CANDOR_CASES").ok().map(|cases| cases.parse().expect("CANDOR_CASES is a number"));
    let (cases, config) = (asked.unwrap_or(usual), ProptestConfig::default());
    let rng_seed = match (asked, config.rng_seed) {
        (None, RngSeed::Random) => RngSeed::Fixed(0x0CA7),
        (_, seed) => seed,
    };
    // Some cases are rejected, because they test another property.
    ProptestConfig { cases, rng_seed, max_global_rejects: cases.saturating_mul(4), ..config }
}

fn frame(kind: Kind) -> Frame {
    Frame { format: kind.format, id: kind.id, len: 0, len8_dlc: 0, flags: 0, data: [0; CANFD_MAX_DLEN] }
}

fn routes(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Route>> {
    let filter = prop_oneof![3 => arbitrary::filter(), 1 => Just(Filter::ALL)];
    let formats =
        select([Formats::Any, Formats::Only(FrameFormat::Classic), Formats::Only(FrameFormat::Fd)].as_slice());
    let one = (arbitrary::job(3), filter, formats, any::<bool>()).prop_map(|(job, filter, formats, changes)| {
        let mut modifications = job.modifications;
        for operand in [&mut modifications.and, &mut modifications.or, &mut modifications.xor, &mut modifications.set] {
            operand.len = None;
        }
        let modifications = if changes { modifications } else { Default::default() };
        Route { formats, modifications, ..route("", job.from.0, job.to.0, filter) }
    });
    prop::collection::vec(one, count)
}

/// Frames sent for a frame from a bus, by route.
fn sent(jobs: &[Job], from: BusIndex, frame: &Frame) -> Vec<(RouteIndex, BusIndex, RawId, FrameFormat)> {
    let deliveries = oracle::deliver(jobs, from, frame).into_iter();
    deliveries.map(|sent| (jobs[sent.job].route, sent.to, sent.frame.id, sent.frame.format)).collect()
}

/// The later routes of hazards about frames sent twice.
fn twice(hazards: &[Hazard]) -> HashSet<RouteIndex> {
    let later = |hazard: &Hazard| match *hazard {
        Hazard::Repeated { route, .. } | Hazard::SentTwice { route, .. } | Hazard::SentInTwoForms { route, .. } => {
            Some(route)
        }
        _ => None,
    };
    hazards.iter().filter_map(later).collect()
}

fn same(hazards: &[Hazard]) -> HashSet<RouteIndex> {
    let later = |hazard: &Hazard| match hazard {
        Hazard::SameIdentifier { route, .. } => vec![*route],
        Hazard::IdentifiersMeet { routes, .. } => routes.clone(),
        _ => Vec::new(),
    };
    hazards.iter().flat_map(later).collect()
}

proptest! {
    #![proptest_config(random_cases(256))]

    #[test]
    fn finds_frames_sent_twice(routes in routes(2..6), frame in arbitrary::wire_frame(), from in 0..3_usize) {
        let plan = plan(3, routes);
        let hazards = hazards(&plan);
        let sent = sent(&crate::lower(&plan), BusIndex(from), &frame);
        for (at, (one, to, id, format)) in sent.iter().enumerate() {
            for (other, other_to, other_id, other_format) in &sent[at + 1..] {
                if one != other && (to, id, format) == (other_to, other_id, other_format) {
                    let later = one.max(other);
                    prop_assert!(twice(&hazards).contains(later), "{later:?} in {hazards:#?}");
                }
            }
        }
    }

    #[test]
    fn examples_are_sent_twice(routes in routes(2..6)) {
        let plan = plan(3, routes);
        let jobs = crate::lower(&plan);
        for hazard in hazards(&plan) {
            let (Hazard::SentTwice { route, first, example, .. } | Hazard::SentInTwoForms { route, first, example }) = hazard
            else { continue };
            let sent = sent(&jobs, plan.route(route).from, &frame(example));
            let of = |route| sent.iter().find(|sent| sent.0 == route).map(|&(_, to, id, format)| (to, id, format));
            prop_assert!(of(route).is_some() && of(route) == of(first), "{route:?} {first:?} {example}: {sent:?}");
        }
    }

    #[test]
    fn finds_messages_sent_with_one_identifier(
        routes in routes(2..6),
        frames in [(0..3_usize, arbitrary::wire_frame()), (0..3_usize, arbitrary::wire_frame())],
    ) {
        let plan = plan(3, routes);
        let (jobs, hazards) = (crate::lower(&plan), hazards(&plan));
        let [one, other] = frames.map(|(from, frame)| {
            (from, frame.id, frame.format, sent(&jobs, BusIndex(from), &frame))
        });
        if (one.0, one.1, one.2) == (other.0, other.1, other.2) {
            return Ok(());
        }
        for (route, to, id, format) in &one.3 {
            for (other_route, other_to, other_id, other_format) in &other.3 {
                if route != other_route && (to, id, format) == (other_to, other_id, other_format) {
                    let later = route.max(other_route);
                    prop_assert!(twice(&hazards).contains(later) || same(&hazards).contains(later), "{hazards:#?}");
                }
            }
        }
    }
}

/// A gateway between up to four buses of which c and d may be a vxcan pair, with few identifiers.
fn machine() -> impl Strategy<Value = Plan> {
    let filter = prop_oneof![
        2 => Just(Filter::ALL),
        4 => (0x100..0x104_u32).prop_map(|id| Filter { id, mask: EXACT }),
        1 => (0x100..0x104_u32).prop_map(|id| Filter { id: id | CAN_INV_FILTER, mask: EXACT }),
        1 => Just(Filter { id: 0x100, mask: EXACT & !1 }),
    ];
    let change = prop_oneof![
        3 => Just((None, None)),
        2 => (0x100..0x104_u32).prop_map(|id| (None, Some(id))),
        1 => (1..4_u32).prop_map(|bits| (Some(bits), None)),
    ];
    let one = (
        0..4_usize,
        1..4_usize,
        filter,
        change,
        any::<bool>(),
        option::weighted(0.2, 1..3_u8),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.3),
    );
    let one = one.prop_map(|(from, step, filter, (xor, set), echo, hop_limit, back, converts)| {
        let mut route = Route { hop_limit, ..route("", from, (from + step) % 4, filter) };
        route.echo = if echo { Echo::On } else { Echo::Off };
        route.incoming = if back { Incoming::Allowed } else { Incoming::Skipped };
        route.modifications.xor = Operand { id: xor, ..Operand::NONE };
        route.modifications.set = Operand { id: set, ..Operand::NONE };
        // Has no effect on classic frames, and only user space supports it.
        route.send_as = converts.then_some(SendAs::Classic);
        route
    });
    let engine = prop_oneof![6 => Just(Engine::Kernel), 2 => Just(Engine::User(crate::plan::UserEngine::PLAINEST)), 4 => Just(Engine::Auto), 3 => Just(Engine::Bpf)];
    let machine = (prop::collection::vec(one, 1..7), any::<bool>(), engine).prop_map(|(routes, paired, engine)| {
        let mut plan = plan(4, routes);
        plan.engine = engine;
        if paired {
            pair(&mut plan, 2, 3);
        }
        for route in &mut plan.routes {
            match engine {
                Engine::Kernel => route.send_as = None,
                Engine::Bpf => (route.send_as, route.hop_limit, route.echo) = (None, None, Echo::Off),
                Engine::User(_) => route.hop_limit = None,
                // There is one socket per bus.
                Engine::Auto => route.echo = if route.to.0 % 2 == 0 { Echo::On } else { Echo::Off },
            }
            if route.send_as.is_some() {
                route.hop_limit = None;
            }
        }
        plan
    });
    let has_place = |plan: &Plan| plan.engine != Engine::Auto || Placement::of(plan, KernelAbilities::EVERY).is_ok();
    machine.prop_filter("some route has no place", has_place)
}

/// The fields of the kernel's `sk_buff` that `can_can_gw_rcv()` and `vxcan_xmit()` use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Skb {
    device: BusIndex,
    can_id: u32,
    iif: BusIndex,
    hops: u8,
    /// candor sent it on this device in user space, and does not receive it.
    is_own: bool,
}

#[derive(Debug, Default)]
struct Run {
    /// Bus, identifier, number of routes, and the bus of the first route.
    sent: Vec<(BusIndex, u32, usize, BusIndex)>,
    goes_round: bool,
}

/// Forwards a frame through a machine, one skb after another.
fn run(plan: &Plan, entry: BusIndex, can_id: u32) -> Run {
    let max_hops = plan.routes.iter().filter_map(|route| route.hop_limit).max().unwrap_or(1);
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok().filter(|_| plan.engine == Engine::Auto);
    let is_user = |route| match &placement {
        Some(placement) => placement.side(route) == Side::User,
        // Programs count no hops either, and what they send has no echo.
        None => matches!(plan.engine, Engine::User(_) | Engine::Bpf),
    };
    let mut run = Run::default();
    let seen_at = |device| Skb { device, can_id, iif: entry, hops: 0, is_own: false };
    let mut waiting: Vec<(Skb, Vec<Skb>)> = vec![(seen_at(entry), Vec::new())];
    waiting.extend(plan.bus(entry).vxcan_peer.map(|peer| (seen_at(peer), Vec::new())));
    while let Some((skb, mut behind)) = waiting.pop() {
        if behind.contains(&skb) {
            run.goes_round = true;
            return run;
        }
        behind.push(skb);
        for (index, route) in plan.routes.iter().enumerate() {
            let (user, filter) = (is_user(RouteIndex(index)), route.selections[0].filter.normalise());
            if route.from != skb.device || !filter.matches(RawId(skb.can_id)) || user && skb.is_own {
                continue;
            }
            if !user && (skb.hops >= max_hops || route.incoming == Incoming::Skipped && skb.iif == route.to) {
                continue;
            }
            let xored = skb.can_id ^ route.modifications.xor.id.unwrap_or(0);
            let can_id = route.modifications.set.id.unwrap_or(xored);
            let mut next = Skb { device: route.to, can_id, hops: skb.hops + 1, is_own: user, ..skb };
            // As installed by `candor run`.
            let limit = route.hop_limit.or_else(|| (plan.engine == Engine::Auto).then_some(1));
            if let Some(limit) = limit.filter(|_| next.hops == 1) {
                next.hops = max_hops - limit + 1;
            }
            if user {
                (next.hops, next.iif) = (0, route.to);
            }
            run.sent.push((route.to, next.can_id, behind.len(), behind[0].device));
            if let Some(peer) = plan.bus(route.to).vxcan_peer {
                waiting.push((Skb { device: peer, hops: 0, is_own: false, ..next }, behind.clone()));
            }
            if route.echo == Echo::On {
                waiting.push((next, behind.clone()));
            }
        }
    }
    run
}

fn runs(plan: &Plan) -> Vec<(BusIndex, u32, Run)> {
    let entries = (0..4).map(BusIndex).flat_map(|bus| [0x100, 0x101, 0x102, 0x103, 0x555].map(|id| (bus, id)));
    entries.map(|(bus, id)| (bus, id, run(plan, bus, id))).collect()
}

proptest! {
    #![proptest_config(random_cases(500))]

    #[test]
    fn finds_loops_exactly(plan in machine()) {
        let goes_round = runs(&plan).iter().any(|(_, _, run)| run.goes_round);
        let hazards = hazards(&plan);
        let found = hazards.iter().any(|hazard| matches!(hazard, Hazard::Circulates { is_certain: true, .. }));
        prop_assert_eq!(found, goes_round, "{:#?}", hazards);
        let is_unsure = |hazard: &Hazard| matches!(hazard, Hazard::MayCirculate { .. } | Hazard::NotCompared);
        prop_assert!(!hazards.iter().any(is_unsure), "{hazards:#?}");
    }

    #[test]
    fn finds_one_identifier_of_two_messages_exactly(mut plan in machine()) {
        plan.routes.iter_mut().for_each(|route| route.incoming = Incoming::Skipped);
        let (jobs, hazards) = (crate::lower(&plan), hazards(&plan));
        let from = |(bus, id)| {
            let sent = sent(&jobs, BusIndex(bus), &frame(Kind { id: RawId(id), format: FrameFormat::Classic, is_xl: false }));
            sent.into_iter().map(move |(route, to, sent, _)| (bus, id, route, to, sent))
        };
        let frames = (0..4).flat_map(|bus| [0x100, 0x101, 0x102, 0x103, 0x555].map(|id| (bus, id)));
        let all: Vec<_> = frames.flat_map(from).collect();
        let mut later = HashSet::new();
        for (at, one) in all.iter().enumerate() {
            let others = all[at + 1..].iter().filter(|other| (other.0, other.1) != (one.0, one.1) && other.2 != one.2);
            later.extend(others.filter(|other| (other.3, other.4) == (one.3, one.4)).map(|other| one.2.max(other.2)));
        }
        let (twice, same) = (twice(&hazards), same(&hazards));
        prop_assert!(later.iter().all(|route| twice.contains(route) || same.contains(route)), "{later:?} {hazards:#?}");
        prop_assert!(same.is_subset(&later), "{later:?} {hazards:#?}");
    }

    #[test]
    fn amplification_equals_the_worst_frame(plan in machine()) {
        let runs = runs(&plan);
        prop_assume!(!runs.iter().any(|(_, _, run)| run.goes_round));
        let most = runs.iter().map(|(_, _, run)| run.sent.len()).max().unwrap();
        match amplification(&plan) {
            None => prop_assert_eq!(most, 0),
            Some(found) => {
                prop_assert!(found.is_exact);
                prop_assert_eq!(found.frames, most, "{:?}", found);
                prop_assert_eq!(run(&plan, found.bus, found.example.id.0).sent.len(), most);
            }
        }
    }

    #[test]
    fn finds_frames_that_arrive_again_exactly(plan in machine()) {
        let runs = runs(&plan);
        prop_assume!(!runs.iter().any(|(_, _, run)| run.goes_round));
        let again = runs.iter().any(|(entry, id, run)| {
            let came_back = run.sent.iter().any(|(to, sent, ..)| (to, sent) == (entry, id));
            came_back || run.sent.iter().enumerate().any(|(at, one)| {
                // Two routes between the same buses are hazards of another kind.
                let is_told = |other: &(BusIndex, u32, usize, BusIndex)| (one.2, other.2) == (1, 1) && one.3 == other.3;
                run.sent[at + 1..].iter().any(|other| (one.0, one.1) == (other.0, other.1) && !is_told(other))
            })
        });
        let hazards = hazards(&plan);
        let found = hazards.iter().any(|hazard| matches!(hazard, Hazard::ArrivesAgain { .. }));
        prop_assert_eq!(found, again, "{:#?}", hazards);
    }
}

#[test]
fn compares_16384_routes_within_the_budget() {
    let one = |bus, id: u32| route("r", bus, 2, exact(0x8000_0000 + id * 97));
    let masked = |id: u32| Filter { id: 0x8000_0000 | id, mask: 0xDFFF_FF00 | (0xFF >> (id % 8)) };
    // All different; all in pairs from two buses; half of them with one of eight masks; all the same.
    let different = (0..16_384).map(|id| one(0, id)).collect();
    let paired = (0..16_384).map(|id| one(id as usize & 1, id / 2)).collect();
    let mixed = (0..16_384).map(|id| if id % 2 == 0 { one(0, id) } else { route("r", 0, 2, masked(id * 997)) });
    let same = (0..16_384).map(|_| one(0, 1)).collect();
    for (routes, least) in [(different, 0), (paired, 8192), (mixed.collect(), 0), (same, 16_383)] {
        let (plan, mut hazards) = (plan(3, routes), Vec::new());
        let mut budget = Budget::new(16_384 * 64);
        overlap::find(&plan, &Edges::of(&plan), &mut budget, &mut hazards);
        assert!(!budget.is_spent());
        assert!(hazards.len() >= least, "{}", hazards.len());
    }
}

#[test]
fn reports_what_was_not_compared() {
    // One identifier with many values of a multiplexer, which are compared in pairs.
    let of = |value: u16| {
        let mut pattern = PayloadPattern::ANY;
        pattern.mask[..2].fill(0xFF);
        pattern.value[..2].copy_from_slice(&value.to_be_bytes());
        Route { payload: vec![pattern], ..route("r", 0, 1, exact(0x123)) }
    };
    assert_eq!(hazards(&plan(2, (0..500).map(of).collect())), []);
    assert_eq!(hazards(&plan(2, (0..5000).map(of).collect())), [Hazard::NotCompared]);
}
