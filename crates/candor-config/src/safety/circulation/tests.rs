use super::*;
use crate::plan::{BusIndex, Echo};
use crate::safety::edges::tests::{plan, route};
use crate::safety::hazards;
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat, RawId};
use candor_core::payload::PayloadPattern;

/// Buses a, b, and the vxcan pair c and d.
fn paired(routes: Vec<Route>) -> Vec<Hazard> {
    let mut plan = plan(4, routes);
    plan.buses[2].vxcan_peer = Some(BusIndex(3));
    plan.buses[3].vxcan_peer = Some(BusIndex(2));
    hazards(&plan)
}

fn exact(id: u32) -> Filter {
    Filter::exact(RawId(id))
}

fn with_id(mut route: Route, id: u32) -> Route {
    route.modifications.set.id = Some(id);
    route
}

#[test]
fn a_bridge_with_echo_is_no_ring() {
    let echo = |route| Route { echo: Echo::On, ..route };
    let bridge = vec![echo(route("there", 0, 1, Filter::ALL)), echo(route("back", 1, 0, Filter::ALL))];
    assert_eq!(hazards(&plan(2, bridge)), []);
    // Through a pair and back again.
    let there = vec![route("1", 0, 2, Filter::ALL), route("2", 3, 1, Filter::ALL)];
    let back = vec![route("3", 1, 3, Filter::ALL), route("4", 2, 0, Filter::ALL)];
    assert_eq!(paired([there, back].concat()), []);
}

#[test]
fn a_pair_whose_ends_are_joined_is_a_ring() {
    let ring = paired(vec![route("in", 0, 2, exact(0x123)), route("round", 3, 2, Filter::ALL)]);
    let frame = Kind { id: RawId(0), format: FrameFormat::Classic };
    let round = Hazard::Circulates { routes: vec![RouteIndex(1)], frame, is_certain: true };
    assert!(ring.contains(&round), "{ring:?}");
}

#[test]
fn a_ring_that_lets_nothing_through_twice_is_none() {
    let shift = |name, id| with_id(route(name, 3, 2, exact(id)), id + 1);
    assert_eq!(paired(vec![shift("1", 0x100), shift("2", 0x101), shift("3", 0x102)]), []);
    let closed = paired(vec![shift("1", 0x100), shift("2", 0x101), with_id(route("3", 3, 2, exact(0x102)), 0x100)]);
    let [Hazard::Circulates { routes, frame, is_certain: true }] = closed.as_slice() else { panic!("{closed:?}") };
    assert_eq!(routes.len(), 3);
    assert!((0x100..0x103).contains(&frame.id.0), "{frame}");
}

#[test]
fn content_may_end_a_ring() {
    let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
    pattern.mask[0] = 1;
    let round = Route { payload: vec![pattern], ..route("round", 3, 2, Filter::ALL) };
    let ring = paired(vec![round]);
    assert!(matches!(ring.as_slice(), [Hazard::Circulates { is_certain: false, .. }]), "{ring:?}");
    let mut round = route("round", 3, 2, Filter::ALL);
    round.modifications.or.len = Some(8);
    assert!(paired(vec![round]).iter().any(|hazard| matches!(hazard, Hazard::Circulates { is_certain: false, .. })));
}

#[test]
fn what_would_take_too_long_is_said_to_be_unknown() {
    // Every identifier becomes the next; the last has none.
    let shift = |id| with_id(route(&format!("{id:x}"), 3, 2, exact(id)), id + 1);
    let found = paired((0..0x7FF).map(shift).collect());
    assert!(found.iter().any(|hazard| matches!(hazard, Hazard::MayCirculate { routes } if routes.len() == 0x7FF)));
    assert!(found.contains(&Hazard::NotCompared));
}
