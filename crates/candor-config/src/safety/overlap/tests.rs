use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::plan::{Formats, IdChange, Selection, SendAs};
use crate::safety::hazards;
use crate::safety::tests::random_cases;
use crate::testing::{exact, kind, pattern, plan, route, with_id};
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};

const THIS: RouteIndex = RouteIndex(1);
const FIRST: RouteIndex = RouteIndex(0);

fn found(one: Route, other: Route) -> Vec<Hazard> {
    hazards(&plan(3, vec![one, other]))
}

fn sent_twice(share: Share, example: u32) -> [Hazard; 1] {
    [Hazard::SentTwice { route: THIS, first: FIRST, share, example: kind(example) }]
}

#[test]
fn finds_common_frames_of_two_routes() {
    let (all, one) = (|| route("all", 0, 1, Filter::ALL), || route("one", 0, 1, exact(0x123)));
    assert_eq!(found(all(), all()), [Hazard::Repeated { route: THIS, first: FIRST }]);
    assert_eq!(found(all(), one()), sent_twice(Share::AllOfThis, 0x123));
    assert_eq!(found(one(), all()), sent_twice(Share::AllOfFirst, 0x123));
    let (low, even) = (Filter { id: 0, mask: 0xC000_07F0 }, Filter { id: 0, mask: 0xC000_0001 });
    assert_eq!(found(route("low", 0, 1, low), route("even", 0, 1, even)), sent_twice(Share::Some, 0));
    assert_eq!(found(route("low", 0, 1, low), route("high", 0, 1, Filter { id: 0x10, mask: 0xC000_07F0 })), []);
    // The same set in another notation.
    let halves = [Filter { id: 0, mask: 0xC000_07F8 }, Filter { id: 8, mask: 0xC000_07F8 }];
    let selections = halves.map(|filter| Selection { filter, id: None }).to_vec();
    let written = Route { selections, ..route("halves", 0, 1, low) };
    assert_eq!(found(route("low", 0, 1, low), written), [Hazard::Repeated { route: THIS, first: FIRST }]);
    // The same frames, of which only odd ones keep their identifier.
    let mut odd = all();
    odd.modifications.or.id = Some(1);
    assert_eq!(found(all(), odd), sent_twice(Share::Some, 1));
}

#[test]
fn compares_with_the_first_of_equal_routes() {
    let all = || route("all", 0, 1, Filter { id: 0x123 | CAN_INV_FILTER, mask: 0xC000_07FF });
    let (second, third) = (RouteIndex(1), RouteIndex(2));
    let repeated = Hazard::Repeated { route: second, first: FIRST };
    let found = |third| hazards(&plan(3, vec![all(), all(), third]));
    assert_eq!(found(all()), [repeated.clone(), Hazard::Repeated { route: third, first: FIRST }]);
    let one = Hazard::SentTwice { route: third, first: FIRST, share: Share::AllOfThis, example: kind(0x124) };
    assert_eq!(found(route("one", 0, 1, exact(0x124))), [repeated.clone(), one]);
    // Equal selections may have different modifications.
    let mut changed = all();
    changed.modifications.set.flags = Some(1);
    assert_eq!(
        found(changed),
        [repeated.clone(), Hazard::SentInTwoForms { route: third, first: FIRST, example: kind(0) }]
    );
    assert_eq!(found(Route { formats: Formats::Only(FrameFormat::Fd), ..route("r", 1, 0, exact(0x125)) }), [repeated]);
}

#[test]
fn formats_and_buses_keep_routes_apart() {
    let of = |format, from, to| Route { formats: Formats::Only(format), ..route("r", from, to, exact(0x123)) };
    assert_eq!(found(of(FrameFormat::Classic, 0, 1), of(FrameFormat::Fd, 0, 1)), []);
    assert_eq!(found(of(FrameFormat::Fd, 0, 1), of(FrameFormat::Fd, 0, 2)), []);
    assert_eq!(found(of(FrameFormat::Fd, 0, 1), of(FrameFormat::Fd, 1, 0)), []);
}

#[test]
fn finds_two_forms_of_one_frame() {
    let all = || route("all", 0, 1, Filter::ALL);
    let mut data = [0; CANFD_MAX_DLEN];
    data[0] = 1;
    let mut changed = route("one", 0, 1, exact(0x123));
    changed.modifications.or.data = Some(data);
    let forms = Hazard::SentInTwoForms { route: THIS, first: FIRST, example: kind(0x123) };
    assert_eq!(found(all(), changed.clone()), [forms]);
    // OR of zeros is no change.
    changed.modifications.or.data = Some([0; CANFD_MAX_DLEN]);
    assert_eq!(found(all(), changed), sent_twice(Share::AllOfThis, 0x123));
    // A copy with another identifier is another message, which collides with the original one.
    let copy = with_id(route("copy", 0, 1, exact(0x123)), 0x456);
    let meets = Hazard::SameIdentifier { route: THIS, first: FIRST, sent: kind(0x456) };
    assert_eq!(found(all(), copy.clone()), [meets]);
    assert_eq!(found(route("low", 0, 1, Filter { id: 0, mask: 0xC000_0400 }), copy), []);
}

#[test]
fn finds_one_identifier_of_two_messages() {
    let from = |bus, id| with_id(route("r", bus, 2, exact(id)), 0x456);
    let same = [Hazard::SameIdentifier { route: THIS, first: FIRST, sent: kind(0x456) }];
    let passed_on = |bus| route("r", bus, 2, exact(0x456));
    assert_eq!(found(passed_on(0), passed_on(1)), same, "each is for this identifier");
    assert_eq!(found(from(0, 0x100), from(1, 0x100)), same);
    assert_eq!(found(from(0, 0x100), from(0, 0x101)), same);
    assert_eq!(found(from(0, 0x100), route("r", 1, 2, Filter::ALL)), same);
    assert_eq!(found(from(0, 0x100), route("r", 1, 2, exact(0x100))), []);
    // Within one route, this is intended.
    let ids = [0x100, 0x101].map(|id| Selection { filter: exact(id), id: Some(IdChange::Set(0x456)) });
    let collapsing = Route { selections: ids.to_vec(), ..route("r", 0, 2, Filter::ALL) };
    assert_eq!(hazards(&plan(3, vec![collapsing])), []);
}

#[test]
fn reports_common_identifiers_once_per_bus() {
    let meet = |routes: &[usize], first, id| Hazard::IdentifiersMeet {
        routes: routes.iter().map(|&route| RouteIndex(route)).collect(),
        first: RouteIndex(first),
        sent: kind(id),
    };
    let all = |from, to| route("r", from, to, Filter::ALL);
    // Every bus to every other one.
    let pairs = (0..4).flat_map(|from| (0..4).filter(move |&to| to != from).map(move |to| (from, to)));
    let hub = plan(4, pairs.map(|(from, to)| all(from, to)).collect());
    let expected = [meet(&[6, 9], 3, 0), meet(&[7, 10], 0, 0), meet(&[4, 11], 1, 0), meet(&[5, 8], 2, 0)];
    assert_eq!(hazards(&hub), expected);
    // One of several identifiers is not a named one.
    assert_eq!(found(all(0, 2), route("r", 1, 2, exact(0x456))), [meet(&[1], 0, 0x456)]);
    let ranges = [Filter { id: 0x7E0, mask: 0xC000_07F0 }, Filter { id: 0x7E8, mask: 0xC000_07F8 }];
    assert_eq!(found(route("r", 0, 2, ranges[0]), route("r", 1, 2, ranges[1])), [meet(&[1], 0, 0x7E8)]);
    // 100 to 102 is a range, though one of its filters is for 102 alone; 200 is a named identifier.
    let selections = |filters: &[Filter]| filters.iter().map(|&filter| Selection { filter, id: None }).collect();
    let range = [Filter { id: 0x100, mask: 0xC000_07FE }, exact(0x102)];
    let list = |from, more: &[Filter]| Route { selections: selections(&[&range, more].concat()), ..all(from, 2) };
    assert_eq!(found(list(0, &[]), list(1, &[])), [meet(&[1], 0, 0x100)]);
    let same = [Hazard::SameIdentifier { route: THIS, first: FIRST, sent: kind(0x200) }];
    assert_eq!(found(list(0, &[exact(0x200)]), list(1, &[exact(0x200)])), same, "the worse of the two");
    // FD and classic frames of one bus with the same identifier have the same sender.
    let only = |format, send_as| Route { formats: Formats::Only(format), send_as, ..all(0, 2) };
    assert_eq!(found(only(FrameFormat::Classic, None), only(FrameFormat::Fd, Some(SendAs::Classic))), []);
}

#[test]
fn payloads_keep_routes_apart() {
    let of = |value: u8| Route { payload: vec![pattern(0, 0xF0, value)], ..route("r", 0, 1, exact(0x123)) };
    // Two values of a multiplexer are parts of one message.
    assert_eq!(found(of(0x10), of(0x20)), []);
    assert_eq!(found(of(0x10), of(0x10)), [Hazard::Repeated { route: THIS, first: FIRST }]);
    assert_eq!(found(of(0x10), route("all", 0, 1, exact(0x123))), sent_twice(Share::AllOfFirst, 0x123));
    assert_eq!(found(route("all", 0, 1, exact(0x123)), of(0x10)), sent_twice(Share::AllOfThis, 0x123));
}

/// Routes that match some of 16 identifiers with disjoint filters, and change some of them.
fn of_few_identifiers() -> impl Strategy<Value = Route> {
    let filter = prop_oneof![
        1 => Just(Filter::ALL),
        8 => (0..16_u32, 0..16_u32).prop_map(|(id, free)| Filter { id, mask: 0xC000_07FF & !free }),
        1 => (0..16_u32).prop_map(|id| Filter { id: id | CAN_INV_FILTER, mask: 0xC000_07FF }),
    ];
    let id = prop_oneof![3 => Just(None), 1 => (0..4_u32).prop_map(|id| Some(IdChange::Set(id)))];
    (vec((filter, id), 1..8), prop::option::weighted(0.2, 0..4_u32)).prop_map(|(wanted, or)| {
        let mut route = Route { selections: Vec::new(), ..route("r", 0, 1, Filter::ALL) };
        route.modifications.or.id = or;
        for (filter, id) in wanted {
            let is_free = |one: &Cube, edges: &Edges| {
                edges.all().iter().flat_map(|edge| &edge.takes).all(|other| one.intersect(*other).is_none())
            };
            let edges = Edges::of(&plan(2, vec![route.clone()]));
            let alone =
                Edges::of(&plan(2, vec![Route { selections: vec![Selection { filter, id }], ..route.clone() }]));
            if alone.all()[0].takes.iter().all(|one| is_free(one, &edges)) {
                route.selections.push(Selection { filter, id });
            }
        }
        route
    })
}

/// `is_all`, by subtracting cubes until none is left.
fn is_all_by_subtraction(of: &[Edge], by: &[Edge]) -> bool {
    of.iter().all(|edge| {
        let alike = by.iter().filter_map(|other| Some((other, edge.change.agrees(other.change)?)));
        let alike: Vec<_> = alike
            .flat_map(|(other, agreed)| other.well_formed().filter_map(move |cube| cube.intersect(agreed)))
            .collect();
        edge.well_formed().all(|cube| {
            let left = |rest: Vec<Cube>, other: &Cube| rest.into_iter().flat_map(|cube| cube.without(*other)).collect();
            alike.iter().fold(vec![cube], left).is_empty()
        })
    })
}

#[test]
fn is_all_equals_subtraction_of_cubes() {
    let answers = [false, true].map(|_| Cell::new(0));
    let routes = (of_few_identifiers(), of_few_identifiers());
    let outcome = TestRunner::new(ProptestConfig { source_file: Some(file!()), ..random_cases(1000) }).run(
        &routes,
        |(one, other)| {
            let plan = plan(2, vec![one, other]);
            let edges = Edges::of(&plan);
            for (of, by) in [(FIRST, THIS), (THIS, FIRST)] {
                let expected = is_all_by_subtraction(edges.of_route(of), edges.of_route(by));
                prop_assert_eq!(is_all(&plan, &edges, of, by), expected);
                let answer = &answers[usize::from(expected)];
                answer.set(answer.get() + 1);
            }
            Ok(())
        },
    );
    outcome.unwrap();
    assert!(answers.iter().all(|count| count.get() > 100), "{answers:?}");
}
