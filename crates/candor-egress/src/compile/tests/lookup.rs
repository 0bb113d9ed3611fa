//! Identifiers of 29 bits that are looked up: how many filters a frame is compared with, and what the tables look like.

use super::*;
use crate::classify::Course;
use crate::filter::{Classifier, U32, U32Link};

fn course(tree: &Tree, id: u32) -> Course {
    let mut bytes = [0; CANFD_MTU];
    let len = Frame { id: RawId(id), ..Frame::EMPTY }.to_kernel(&mut bytes);
    let packet =
        Packet { bytes: &bytes[..len], protocol: ETH_P_CAN, priority: 0, mark: 0, socket: None, incoming_interface: 0 };
    egress(tree, &packet)
}

/// The most filters that any frame can be compared with, whatever the tables let through.
fn most_compared(tree: &Tree) -> usize {
    let mut slots: BTreeMap<u32, Vec<&U32>> = BTreeMap::new();
    for filter in &tree.filters {
        match &filter.classifier {
            Classifier::U32(node) if node.divisor.is_none() => slots.entry(node.table).or_default().push(node),
            _ => {}
        }
    }
    compared_below(&slots, 0)
}

fn compared_below(slots: &BTreeMap<u32, Vec<&U32>>, slot: u32) -> usize {
    let of_link = |link: U32Link| {
        let table = slots.range(link.table..link.table + (1 << 20));
        table.map(|(slot, _)| compared_below(slots, *slot)).max().unwrap_or(0)
    };
    let nodes = slots.get(&slot).into_iter().flatten();
    nodes.map(|node| 1 + node.link.map_or(0, of_link)).sum()
}

fn waits_in_first(tree: &Tree, id: u32) -> bool {
    let first = Handle::new(1, 1);
    matches!(course(tree, id).end, End::Queue { class, .. } if class == first)
}

/// Comparisons, which `cargo xtask can-send` counts in instructions.
#[test]
fn a_thousand_identifiers_need_few_comparisons() {
    let ids = scattered(1_000);
    let tree = chosen_by(Selection { ids: Some(ids.clone()), ..Selection::default() });
    assert_eq!(most_compared(&tree), 5);
    assert_eq!(tree.filters.len(), 1_188);
    for id in ids.cubes().map(|cube| cube.id) {
        assert!(waits_in_first(&tree, id) && course(&tree, id).tested.len() <= 5);
        let other = id ^ 1 << (id % 29);
        assert_eq!(waits_in_first(&tree, other), ids.contains(RawId(other)));
    }
    // Frames of 11 bits have no part in it.
    assert_eq!(course(&tree, 0x123).tested.len(), 1);
}

#[test]
fn the_most_identifiers_need_few_comparisons() {
    let tree = chosen_by(Selection { ids: Some(scattered(16_000)), ..Selection::default() });
    assert_eq!(most_compared(&tree), 6);
}

#[test]
fn parameter_groups_get_a_table() {
    // Engine, vehicle speed, temperatures, fuel, time, what is broken, …
    let groups = [
        0xF003, 0xF004, 0xF009, 0xFD7C, 0xFE6C, 0xFEBF, 0xFEC1, 0xFECA, 0xFED5, 0xFEDA, 0xFEDF, 0xFEE5, 0xFEE6, 0xFEE9,
        0xFEEC, 0xFEEE, 0xFEF1, 0xFEF2, 0xFEF5, 0xFEF7, 0xFEFC,
    ];
    let filters = groups.map(|group| IdFilter { id: CAN_EFF_FLAG | group << 8, mask: 0xC3FF_FF00 }).to_vec();
    let ids = IdSet::of_filters(filters, &mut Effort::new(u32::MAX)).unwrap();
    insta::assert_snapshot!(tc(&chosen_by(Selection { ids: Some(ids), ..Selection::default() })));
}

/// The kernel has a bitmap for 11-bit identifiers, and comparing a few 29-bit identifiers is cheaper.
#[test]
fn compares_identifiers_if_that_is_cheaper() {
    let kinds = |selection: Selection| {
        let tree = chosen_by(selection);
        let kinds: BTreeSet<_> = tree.filters.iter().map(|filter| filter.classifier.kind().to_owned()).collect();
        kinds.into_iter().collect::<Vec<_>>().join(" ")
    };
    let of = |ids| Selection { ids: Some(ids), ..Selection::default() };
    assert_eq!(kinds(of(scattered(15))), "basic");
    assert_eq!(kinds(of(scattered(16))), "u32");
    let short = of_ids(&["123"]).ids.unwrap();
    let both = scattered(16).union(&short, &mut Effort::new(u32::MAX)).unwrap();
    assert_eq!(kinds(of(both)), "basic u32");
    assert_eq!(kinds(Selection { length: Some(0..=3), ..of(scattered(1000)) }), "basic");
    let all_short = (0..0x800).step_by(3).map(|id| IdRange { is_extended: false, first: id, last: id }).collect();
    assert_eq!(kinds(of(IdSet::of_ranges(all_short, &mut Effort::new(u32::MAX)).unwrap())), "basic");
}

/// Each node would have a limit of its own.
#[test]
fn a_limit_does_not_use_tables() {
    let take = vec![Selection { ids: Some(scattered(300)), ..Selection::default() }];
    let limit = Limit { take, rate: FrameRate::new(20).unwrap(), burst_frames: NonZeroU32::MIN };
    let tree = tree(&Policy::new(vec![plain("all", Vec::new(), 20)], vec![limit]).unwrap());
    assert_eq!(tree.filters.len(), 1);
}

#[test]
fn each_selection_has_its_own_tables() {
    let of = |ids| plain("many", vec![Selection { ids: Some(ids), ..Selection::default() }], 1);
    let other = scattered(600).difference(&scattered(300), &mut Effort::new(u32::MAX)).unwrap();
    let policy = Policy::new(vec![of(scattered(300)), of(other), plain("rest", Vec::new(), 1)], Vec::new());
    let tree = tree(&policy.unwrap());
    let tables: Vec<_> = tree.filters.iter().map_while(index::table_of).collect();
    assert!(tables.len() > 1 && tables.is_sorted_by(|one, other| one < other), "{tables:?}");
    let preferences: BTreeSet<_> = tree.filters.iter().map(|filter| filter.preference).collect();
    assert_eq!(preferences.into_iter().collect::<Vec<_>>(), [1, 2]);
}

proptest! {
    /// For any masks, there are few more nodes than identifiers, and no more tables than numbers of them.
    #[test]
    fn tables_stay_small(filters in vec((any::<u32>(), any::<[u32; 3]>()), 16..60)) {
        let filter = |(id, [one, two, three]): (u32, [u32; 3])| {
            let mask = one | two | three;
            IdFilter { id: id & CAN_EFF_MASK | CAN_EFF_FLAG, mask: mask & CAN_EFF_MASK | 0xC000_0000 }
        };
        // Many of such sets are beyond what a policy may have.
        let Ok(ids) = IdSet::of_filters(filters.into_iter().map(filter).collect(), &mut Effort::new(100_000)) else {
            return Ok(());
        };
        prop_assume!((16..4_000).contains(&ids.cube_count()));
        let tree = chosen_by(Selection { ids: Some(ids.clone()), ..Selection::default() });
        let is_node = |filter: &&Filter| match &filter.classifier {
            Classifier::U32(node) => node.divisor.is_none() && node.link.is_none(),
            _ => false,
        };
        let nodes = tree.filters.iter().filter(is_node).count() as u64;
        prop_assert!(nodes <= 2 * ids.cube_count(), "{nodes} for {}", ids.cube_count());
        prop_assert!(tree.filters.iter().filter_map(index::table_of).all(|table| (1..0x800).contains(&table)));
    }
}
