use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG};

const PLENTY: u32 = 1 << 24;

/// All 11-bit identifiers of both kinds, and 29-bit ones near those of the filters.
fn probes(filters: &[Filter]) -> Vec<RawId> {
    let kinds = [0, CAN_RTR_FLAG];
    let standard = (0..=CAN_SFF_MASK).flat_map(|id| kinds.map(|kind| RawId(id | kind)));
    let near = |id: u32| [id, id ^ 1, id ^ 0x10, id ^ 0x800, id ^ 0x1000_0000, id.wrapping_add(1), !id];
    let extended = filters
        .iter()
        .flat_map(|filter| [filter.id, filter.id ^ filter.mask, filter.id | !filter.mask])
        .chain([0, CAN_EFF_MASK, 0x18DA_F110])
        .flat_map(near)
        .flat_map(|id| kinds.map(|kind| RawId(id & CAN_EFF_MASK | CAN_EFF_FLAG | kind)));
    standard.chain(extended).collect()
}

/// The model: a frame is in the set if the kernel would match it.
fn matches(filter: Filter, id: RawId) -> bool {
    filter.normalise().matches(id)
}

fn union_of(filters: &[Filter]) -> IdSet {
    IdSet::of_filters(filters.to_vec(), &mut Effort::new(PLENTY)).unwrap()
}

/// Filters for data and remote frames, with few bits, so they overlap.
fn filter() -> impl Strategy<Value = Filter> {
    let narrow =
        (0..=CAN_SFF_MASK, 0..=CAN_SFF_MASK, any::<[bool; 4]>()).prop_map(|(id, mask, [eff, rtr, inv, says])| {
            let flags = if eff { CAN_EFF_FLAG } else { 0 } | if rtr { CAN_RTR_FLAG } else { 0 };
            let inverted = if inv { crate::filter::CAN_INV_FILTER } else { 0 };
            let mask = mask | if says { CAN_EFF_FLAG | CAN_RTR_FLAG } else { 0 };
            Filter { id: id | flags | inverted, mask }
        });
    let any = arbitrary::filter().prop_filter("not for error frames", |filter| filter.mask & 0x2000_0000 == 0);
    prop_oneof![3 => narrow, 1 => any]
}

fn range() -> impl Strategy<Value = IdRange> {
    let bounds = |most: u32| (0..=most, 0..=most).prop_map(|(one, other)| (one.min(other), one.max(other)));
    prop_oneof![
        bounds(CAN_SFF_MASK).prop_map(|(first, last)| IdRange { is_extended: false, first, last }),
        bounds(CAN_EFF_MASK).prop_map(|(first, last)| IdRange { is_extended: true, first, last }),
    ]
}

fn in_range(range: IdRange, id: RawId) -> bool {
    id.is_eff() == range.is_extended && !id.is_rtr() && (range.first..=range.last).contains(&id.bits())
}

proptest! {
    #[test]
    fn set_contains_the_frames_of_its_filters(filters in prop::collection::vec(filter(), 0..8)) {
        let set = union_of(&filters);
        for id in probes(&filters) {
            prop_assert_eq!(set.contains(id), filters.iter().any(|&filter| matches(filter, id)), "{:08X}", id.0);
        }
    }

    #[test]
    fn cubes_are_disjoint(filters in prop::collection::vec(filter(), 0..6)) {
        let set = union_of(&filters);
        let cubes: Vec<_> = set.cubes().collect();
        prop_assert_eq!(cubes.len() as u64, set.cube_count());
        prop_assert!(cubes.is_sorted_by_key(|cube| cube.id), "{cubes:08X?}");
        for id in probes(&filters) {
            let taken = cubes.iter().filter(|cube| matches(cube.filter(), id)).count();
            prop_assert_eq!(taken, usize::from(set.contains(id)), "{:08X} of {:08X?}", id.0, cubes);
        }
        let apart = |one: &Cube, other: &Cube| (one.id ^ other.id) & one.mask & other.mask != 0;
        for (at, one) in cubes.iter().enumerate() {
            prop_assert!(cubes[at + 1..].iter().all(|other| apart(one, other)), "{cubes:08X?}");
        }
    }

    #[test]
    fn filters_of_a_set_match_each_frame_once(filters in prop::collection::vec(filter(), 1..5)) {
        let set = union_of(&filters);
        let lowered = set.filters(u64::MAX).unwrap();
        for id in probes(&filters) {
            let taken = lowered.iter().filter(|&&filter| matches(filter, id)).count();
            prop_assert_eq!(taken, usize::from(set.contains(id)), "{:08X} of {:08X?}", id.0, lowered);
        }
    }

    #[test]
    fn set_operations_agree_with_the_model(
        one in prop::collection::vec(filter(), 0..4),
        other in prop::collection::vec(filter(), 0..4),
        ranges in prop::collection::vec(range(), 0..4),
    ) {
        let effort = &mut Effort::new(PLENTY);
        let (a, b) = (union_of(&one), union_of(&other).union(&IdSet::of_ranges(ranges, effort).unwrap(), effort).unwrap());
        let both = a.intersection(&b, effort).unwrap();
        let rest = a.difference(&b, effort).unwrap();
        let either = a.union(&b, effort).unwrap();
        for id in probes(&[one, other].concat()) {
            let (in_a, in_b) = (a.contains(id), b.contains(id));
            prop_assert_eq!(both.contains(id), in_a && in_b);
            prop_assert_eq!(rest.contains(id), in_a && !in_b);
            prop_assert_eq!(either.contains(id), in_a || in_b);
        }
        prop_assert_eq!(&rest.union(&both, effort).unwrap(), &a);
        prop_assert_eq!(rest.is_empty(), a.difference(&b, effort).unwrap() == IdSet::none());
    }

    #[test]
    fn set_contains_the_identifiers_of_its_ranges(ranges in prop::collection::vec(range(), 0..6)) {
        let set = IdSet::of_ranges(ranges.clone(), &mut Effort::new(PLENTY)).unwrap();
        let ends = ranges.iter().flat_map(|range| [range.first, range.last]);
        let ids: Vec<_> = ends.flat_map(|id| [id, id.wrapping_sub(1), id + 1]).map(|id| Filter { id, mask: 0 }).collect();
        for id in probes(&ids) {
            prop_assert_eq!(set.contains(id), ranges.iter().any(|&range| in_range(range, id)), "{:08X}", id.0);
        }
        let of_format = |is_extended| ranges.iter().filter(move |range| range.is_extended == is_extended);
        for is_extended in [false, true] {
            let first = of_format(is_extended).map(|range| range.first).min();
            let last = of_format(is_extended).map(|range| range.last).max();
            prop_assert_eq!(set.bounds(is_extended), first.zip(last));
            prop_assert!(!set.has_any(is_extended, true));
            prop_assert_eq!(set.has_any(is_extended, false), first.is_some());
        }
    }

    #[test]
    fn order_of_filters_does_not_matter(filters in prop::collection::vec(filter(), 0..6)) {
        let backwards: Vec<_> = filters.iter().rev().copied().collect();
        prop_assert_eq!(
            union_of(&filters).cubes().collect::<Vec<_>>(),
            union_of(&backwards).cubes().collect::<Vec<_>>()
        );
    }
}

#[test]
fn filter_becomes_one_cube() {
    for text in ["123", "12345678", "400:C0000700", "123:7FF", "000:000", "18DA00F1:DFFF00FF", "00000123:800007FF"] {
        let filter: Filter = Filter::parse(text).unwrap();
        let lowered = IdSet::of_filter(filter).unwrap().filters(10).unwrap();
        assert_eq!(lowered.iter().map(|one| one.normalise()).collect::<Vec<_>>(), [filter.normalise()], "{text}");
    }
    let inverted = Filter::parse("123~C00007FF").unwrap();
    assert_eq!(IdSet::of_filter(inverted).unwrap().filters(10), Ok(vec![inverted]));
    assert_eq!(IdSet::of_filter(Filter { id: 0, mask: 0x2000_01FF }).map(|_| ()), None);
}

#[test]
fn ranges_become_the_fewest_cubes() {
    let cubes = |first, last, is_extended| {
        let set = IdSet::of_ranges(vec![IdRange { is_extended, first, last }], &mut Effort::new(PLENTY)).unwrap();
        set.cubes().map(|cube| cube.filter().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(cubes(0x100, 0x1FF, false), ["100:C0000700"]);
    assert_eq!(cubes(0x7E0, 0x7E9, false), ["7E0:C00007F8", "7E8:C00007FE"]);
    assert_eq!(cubes(1, 0x7FE, false).len(), 20);
    assert_eq!(cubes(0, 0x7FF, false), ["000:C0000000"]);
    assert_eq!(cubes(0x18DA_0000, 0x18DA_FFFF, true), ["98DA0000:DFFF0000"]);
    assert_eq!(cubes(1, CAN_EFF_MASK - 1, true).len(), 56);
}

#[test]
fn effort_is_linear_in_the_identifiers() {
    // Odd identifiers, so no two of them form one cube.
    let ids = (0..16_384_u32).map(|index| index.wrapping_mul(0x9E37_79B1) & CAN_EFF_MASK | 1);
    let ranges: Vec<_> = ids.map(|id| IdRange { is_extended: true, first: id, last: id }).collect();
    let mut effort = Effort::new(600_000);
    let set = IdSet::of_ranges(ranges, &mut effort).unwrap();
    assert_eq!(set.cube_count(), 16_384);
    assert_eq!(set.filters(16_383), Err(16_384));
    let one = IdSet::of_filter(Filter::parse("12345678").unwrap()).unwrap();
    let before = effort;
    assert!(one.difference(&set, &mut effort).unwrap().cube_count() == 1);
    assert!(before.0 - effort.0 < 100, "a small set walks one path of the large one");
}

#[test]
fn effort_is_limited() {
    // Each filter compares other bits, so the union has many cubes.
    let filters: Vec<_> = (0..29)
        .map(|bit| Filter { id: CAN_EFF_FLAG | 5 << bit, mask: CAN_EFF_FLAG | 5 << bit | 1 << (bit * 7 % 29) })
        .collect();
    assert_eq!(IdSet::of_filters(filters, &mut Effort::new(3_000)).err(), Some(TooComplex));
}
