use super::*;
use crate::plan::{Echo, Route};
use crate::safety::edges::tests::{plan, route};
use crate::safety::hazards;
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, RawId};
use candor_core::payload::PayloadPattern;

#[test]
fn one_frame_becomes_as_many_as_there_are_routes_for_it() {
    let of = |to, id| route("r", 0, to, Filter::exact(RawId(id)));
    let fan = plan(4, vec![of(1, 0x100), of(2, 0x100), of(3, 0x100), of(1, 0x200), of(2, 0x200)]);
    let most = amplification(&fan).unwrap();
    assert_eq!((most.frames, most.bus, most.example.id, most.is_exact), (3, BusIndex(0), RawId(0x100), true));
    assert_eq!(hazards(&fan), []);
}

#[test]
fn echo_leads_on_only_with_a_hop_limit_above_one() {
    let echo = |route| Route { echo: Echo::On, hop_limit: Some(2), ..route };
    let chain = |route: fn(Route) -> Route| {
        let hop = |name, from, to| route(super::super::edges::tests::route(name, from, to, Filter::ALL));
        plan(3, vec![hop("1", 0, 1), hop("2", 1, 2), hop("3", 0, 2)])
    };
    assert_eq!(amplification(&chain(|route| Route { echo: Echo::On, ..route })).unwrap().frames, 2);
    let led_on = chain(echo);
    assert_eq!(amplification(&led_on).unwrap().frames, 3);
    let again = hazards(&led_on).into_iter().find(|hazard| matches!(hazard, Hazard::ArrivesAgain { .. }));
    let Some(Hazard::ArrivesAgain { routes, other, bus, .. }) = again else { panic!("{again:?}") };
    assert_eq!(bus, BusIndex(2));
    assert_eq!([routes.len(), other.len()].iter().sum::<usize>(), 3);
}

/// Buses a and b, and the vxcan pair c and d.
fn paired(routes: Vec<Route>) -> Vec<Hazard> {
    let mut plan = plan(4, routes);
    (plan.buses[2].vxcan_peer, plan.buses[3].vxcan_peer) = (Some(BusIndex(3)), Some(BusIndex(2)));
    hazards(&plan)
}

#[test]
fn what_a_program_sends_on_one_end_of_a_pair_arrives_by_a_route_from_each() {
    let from = |bus| route("r", bus, 0, Filter::exact(RawId(0x100)));
    let again = |hazards: Vec<Hazard>| {
        let of = |hazard| match hazard {
            Hazard::ArrivesAgain { routes, other, bus, .. } => Some((routes, other, bus)),
            _ => None,
        };
        hazards.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    let [first, second] = [0, 1].map(|route| vec![RouteIndex(route)]);
    assert_eq!(again(paired(vec![from(2), from(3)])), [(second, first, BusIndex(0))], "once for both ends");
    // No program sends on a and is seen on b.
    assert_eq!(again(paired(vec![route("r", 0, 2, Filter::ALL), route("r", 1, 2, Filter::ALL)])), []);
    let of = |bus, value: u8| {
        let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
        (pattern.mask[0], pattern.value[0]) = (0xF0, value);
        Route { payload: vec![pattern], ..from(bus) }
    };
    assert_eq!(again(paired(vec![of(2, 0x10), of(3, 0x20)])), [], "each end has its own part of the message");
    assert_eq!(again(paired(vec![of(2, 0x10), of(3, 0x10)])).len(), 1);
}

#[test]
fn ways_without_number_are_no_proof_that_nothing_is_sent() {
    let round = |len| {
        let mut route = route("round", 2, 3, Filter::ALL);
        route.modifications.xor.len = Some(len);
        route
    };
    for rings in [2, 8] {
        let mut plan = plan(4, [vec![route("on", 3, 0, Filter::ALL)], (0..rings).map(round).collect()].concat());
        (plan.buses[2].vxcan_peer, plan.buses[3].vxcan_peer) = (Some(BusIndex(3)), Some(BusIndex(2)));
        let most = amplification(&plan).unwrap();
        assert!(most.frames > 0 && !most.is_exact, "{most:?}");
    }
}

#[test]
fn frames_that_go_round_have_no_end() {
    let mut ring = plan(2, vec![route("round", 1, 0, Filter::ALL)]);
    ring.buses[0].vxcan_peer = Some(BusIndex(1));
    ring.buses[1].vxcan_peer = Some(BusIndex(0));
    assert!(!amplification(&ring).unwrap().is_exact);
}

#[test]
fn a_gateway_without_frames_amplifies_nothing() {
    assert_eq!(amplification(&plan(2, vec![route("r", 0, 1, Filter { id: 0x2000_0000, mask: 0 })])), None);
}
