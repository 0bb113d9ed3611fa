use super::*;
use crate::plan::{Echo, Route};
use crate::safety::hazards;
use crate::testing::{exact, pair, paired, pattern, plan, route};
use candor_core::filter::Filter;
use candor_core::frame::RawId;

#[test]
fn counts_the_routes_of_one_frame() {
    let of = |to, id| route("r", 0, to, exact(id));
    let fan = plan(4, vec![of(1, 0x100), of(2, 0x100), of(3, 0x100), of(1, 0x200), of(2, 0x200)]);
    let most = amplification(&fan).unwrap();
    assert_eq!((most.frames, most.bus, most.example.id, most.is_exact), (3, BusIndex(0), RawId(0x100), true));
    assert_eq!(hazards(&fan), []);
}

#[test]
fn follows_echo_only_with_a_hop_limit_above_one() {
    let echo = |route| Route { echo: Echo::On, hop_limit: Some(2), ..route };
    let chain = |route: fn(Route) -> Route| {
        let hop = |name, from, to| route(crate::testing::route(name, from, to, Filter::ALL));
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

#[test]
fn routes_from_both_ends_of_a_pair_send_a_frame_twice() {
    let from = |bus| route("r", bus, 0, exact(0x100));
    let again = |hazards: Vec<Hazard>| {
        let of = |hazard| match hazard {
            Hazard::ArrivesAgain { routes, other, bus, .. } => Some((routes, other, bus)),
            _ => None,
        };
        hazards.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    let [first, second] = [0, 1].map(|route| vec![RouteIndex(route)]);
    assert_eq!(again(paired(vec![from(2), from(3)])), [(second, first, BusIndex(0))], "once for both ends");
    // A frame sent on a is not seen on b.
    assert_eq!(again(paired(vec![route("r", 0, 2, Filter::ALL), route("r", 1, 2, Filter::ALL)])), []);
    let of = |bus, value: u8| Route { payload: vec![pattern(0, 0xF0, value)], ..from(bus) };
    assert_eq!(again(paired(vec![of(2, 0x10), of(3, 0x20)])), [], "the payloads differ");
    assert_eq!(again(paired(vec![of(2, 0x10), of(3, 0x10)])).len(), 1);
}

#[test]
fn too_many_paths_make_the_number_inexact() {
    let round = |len| {
        let mut route = route("round", 2, 3, Filter::ALL);
        route.modifications.xor.len = Some(len);
        route
    };
    for rings in [2, 8] {
        let mut plan = plan(4, [vec![route("on", 3, 0, Filter::ALL)], (0..rings).map(round).collect()].concat());
        pair(&mut plan, 2, 3);
        let most = amplification(&plan).unwrap();
        assert!(most.frames > 0 && !most.is_exact, "{most:?}");
    }
}

#[test]
fn loops_make_the_number_inexact() {
    let mut ring = plan(2, vec![route("round", 1, 0, Filter::ALL)]);
    pair(&mut ring, 0, 1);
    assert!(!amplification(&ring).unwrap().is_exact);
}

#[test]
fn returns_none_if_no_frame_is_sent() {
    assert_eq!(amplification(&plan(2, vec![route("r", 0, 1, Filter { id: 0x2000_0000, mask: 0 })])), None);
}
