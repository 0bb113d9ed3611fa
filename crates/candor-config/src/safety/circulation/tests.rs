use super::*;
use crate::plan::Echo;
use crate::safety::hazards;
use crate::testing::{exact, kind, paired, pattern, plan, route, with_id};
use candor_core::filter::Filter;

#[test]
fn a_bridge_with_echo_is_not_a_loop() {
    let echo = |route| Route { echo: Echo::On, ..route };
    let bridge = vec![echo(route("there", 0, 1, Filter::ALL)), echo(route("back", 1, 0, Filter::ALL))];
    assert_eq!(hazards(&plan(2, bridge)), []);
    // Through a pair and back again.
    let there = vec![route("1", 0, 2, Filter::ALL), route("2", 3, 1, Filter::ALL)];
    let back = vec![route("3", 1, 3, Filter::ALL), route("4", 2, 0, Filter::ALL)];
    assert_eq!(paired([there, back].concat()), []);
}

#[test]
fn joined_ends_of_a_pair_are_a_loop() {
    let ring = paired(vec![route("in", 0, 2, exact(0x123)), route("round", 3, 2, Filter::ALL)]);
    let round = Hazard::Circulates { routes: vec![RouteIndex(1)], frame: kind(0), is_certain: true };
    assert!(ring.contains(&round), "{ring:?}");
}

#[test]
fn a_ring_that_no_frame_passes_twice_is_not_a_loop() {
    let shift = |name, id| with_id(route(name, 3, 2, exact(id)), id + 1);
    assert_eq!(paired(vec![shift("1", 0x100), shift("2", 0x101), shift("3", 0x102)]), []);
    let closed = paired(vec![shift("1", 0x100), shift("2", 0x101), with_id(route("3", 3, 2, exact(0x102)), 0x100)]);
    let [Hazard::Circulates { routes, frame, is_certain: true }] = closed.as_slice() else { panic!("{closed:?}") };
    assert_eq!(routes.len(), 3);
    assert!((0x100..0x103).contains(&frame.id.0), "{frame}");
}

#[test]
fn content_makes_a_loop_uncertain() {
    let round = Route { payload: vec![pattern(0, 1, 0)], ..route("round", 3, 2, Filter::ALL) };
    let ring = paired(vec![round]);
    assert!(matches!(ring.as_slice(), [Hazard::Circulates { is_certain: false, .. }]), "{ring:?}");
    let mut round = route("round", 3, 2, Filter::ALL);
    round.modifications.or.len = Some(8);
    assert!(paired(vec![round]).iter().any(|hazard| matches!(hazard, Hazard::Circulates { is_certain: false, .. })));
}

#[test]
fn reports_what_was_not_compared() {
    // Every identifier becomes the next; the last has none.
    let shift = |id| with_id(route(&format!("{id:x}"), 3, 2, exact(id)), id + 1);
    let found = paired((0..0x7FF).map(shift).collect());
    assert!(found.iter().any(|hazard| matches!(hazard, Hazard::MayCirculate { routes } if routes.len() == 0x7FF)));
    assert!(found.contains(&Hazard::NotCompared));
}
