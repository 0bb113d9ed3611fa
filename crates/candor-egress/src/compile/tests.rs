use std::num::{NonZeroU8, NonZeroU32};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::classify::{End, Packet, SenderResult, Socket, egress};
use crate::discipline::ByteRate;
use crate::filter::{ETH_P_CAN, ETH_P_CANFD};
use crate::policy::{Band, Fair, FrameKind, FrameRate, Full, Mark, Outgoing, PolicyError, Queue};
use crate::text;
use candor_core::arbitrary::wire_frame;
use candor_core::filter::Filter as IdFilter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CANFD_MTU, Frame, FrameFormat, RawId};
use candor_core::ids::{Effort, IdRange, IdSet};

mod groups;
mod lookup;

const BUSES: usize = 4;

/// Few bits that differ, so that sets and frames meet.
fn word() -> impl Strategy<Value = u32> {
    let flags = select([0, 0, CAN_RTR_FLAG, CAN_EFF_FLAG, CAN_EFF_FLAG, CAN_EFF_FLAG | CAN_RTR_FLAG].as_slice());
    (0..16_u32, 0..4_u32, 0..4_u32, flags).prop_map(|(low, high, source, flags)| {
        let id = if flags & CAN_EFF_FLAG == 0 { high << 9 | low } else { high << 26 | low << 16 | low << 8 | source };
        id | flags
    })
}

/// Enough 29-bit identifiers for a lookup, with the masks of identifiers, of parameter groups, and with odd ones.
fn many() -> impl Strategy<Value = IdSet> {
    let masks = select([0xDFFF_FFFF, 0x9FFF_FFFF, 0xC3FF_FF00, 0x83FF_0000, 0xDFFF_00FF, 0x9C0F_0F03].as_slice());
    let filter = (word(), masks).prop_map(|(id, mask)| IdFilter { id: id | CAN_EFF_FLAG, mask });
    vec(filter, 20..200).prop_map(|filters| IdSet::of_filters(filters, &mut Effort::new(u32::MAX)).unwrap())
}

fn ids() -> impl Strategy<Value = IdSet> {
    let exact = word().prop_map(|id| IdFilter::exact(RawId(id)));
    let loose = (word(), any::<u32>()).prop_map(|(id, mask)| IdFilter { id, mask: mask & !0x2000_0000 });
    let filters = vec(prop_oneof![exact, loose], 0..5);
    let ranges = vec((word(), 0..40_u32), 0..3).prop_map(|ranges| {
        let range = |(word, length): (u32, u32)| {
            let is_extended = word & CAN_EFF_FLAG != 0;
            let (first, most) = (word & CAN_EFF_MASK, if is_extended { CAN_EFF_MASK } else { 0x7FF });
            IdRange { is_extended, first, last: (first + length).min(most) }
        };
        ranges.into_iter().map(range).collect::<Vec<_>>()
    });
    (filters, ranges).prop_map(|(filters, ranges)| {
        let mut effort = Effort::new(u32::MAX);
        let ranges = IdSet::of_ranges(ranges, &mut effort).unwrap();
        IdSet::of_filters(filters, &mut effort).unwrap().union(&ranges, &mut effort).unwrap()
    })
}

fn mark() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, any::<u32>()]
}

fn selection() -> impl Strategy<Value = Selection> {
    let kind = option::weighted(0.3, select([FrameKind::Data, FrameKind::Remote].as_slice()));
    let length = option::weighted(0.3, (0..=9_u8, 0..=64_u8).prop_map(|(first, last)| first..=last));
    let from = vec((0..BUSES).prop_map(BusIndex), 0..3);
    let priorities = vec(0..4_u32, 0..3);
    let marks = vec((mark(), select([0, 1, 3, u32::MAX].as_slice())), 0..3)
        .prop_map(|marks| marks.into_iter().map(|(value, mask)| Mark { value, mask }).collect());
    let ids = prop_oneof![4 => ids().boxed(), 1 => many().boxed()];
    let each = (option::weighted(0.7, ids), kind, length, from, priorities, marks, 0..4_u8);
    each.prop_map(|(ids, kind, length, from, socket_priorities, marks, which)| {
        // All at once would take no frame.
        let mut selection = Selection { ids, kind, length, ..Selection::default() };
        match which {
            0 => selection.from = from,
            1 => selection.socket_priorities = socket_priorities,
            2 => selection.marks = marks,
            _ => {}
        }
        selection
    })
    .boxed()
}

fn band(selection: BoxedStrategy<Selection>) -> impl Strategy<Value = Band> {
    let fair = select([Fair::No, Fair::PerMark, Fair::PerSocket, Fair::PerUser].as_slice());
    let full = select([Full::DropOldest, Full::Refuse].as_slice());
    let rate = option::of((1..100_000_u32).prop_map(|rate| FrameRate::new(rate).unwrap()));
    (vec(selection, 1..4), fair, 1..=127_u32, full, rate).prop_map(|(take, fair, frames, full, rate)| Band {
        name: "band".to_owned(),
        take,
        queue: Queue::new(fair, frames, full).unwrap(),
        rate,
        share: None,
    })
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    policy_of(selection().boxed())
}

fn policy_of(selection: BoxedStrategy<Selection>) -> impl Strategy<Value = Policy> {
    let shares = (0..4_usize, vec(1..=10_u8, 5));
    (vec(band(selection.clone()).boxed(), 0..5), band(selection), shares).prop_map(
        |(mut bands, last, (sharing, shares))| {
            bands.push(Band { take: Vec::new(), ..last });
            let sharing = if sharing > 1 { bands.len().saturating_sub(sharing) } else { bands.len() };
            if bands.len() - sharing > 1 {
                for (band, share) in bands[sharing..].iter_mut().zip(shares) {
                    (band.share, band.rate) = (NonZeroU8::new(share), None);
                }
            }
            Policy::new(bands, Vec::new()).unwrap()
        },
    )
}

#[derive(Clone, Debug)]
struct Sent {
    frame: Frame,
    priority: u32,
    mark: u32,
    from: Option<BusIndex>,
    /// The numbers of its control groups, from the root of all on.
    groups: Vec<u64>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let frame = (wire_frame(), word(), any::<bool>()).prop_map(|(frame, word, other)| {
        let kept = if frame.format == FrameFormat::Fd { !CAN_RTR_FLAG } else { u32::MAX };
        if other { Frame { id: RawId(word & kept), ..frame } } else { frame }
    });
    let from = option::of((0..BUSES).prop_map(BusIndex));
    (frame, 0..20_u32, mark(), from, groups::ancestors()).prop_map(|(frame, priority, mark, from, groups)| Sent {
        frame,
        priority,
        mark,
        from,
        groups,
    })
}

/// The band in whose queue the trees put a frame.
fn band_by_tree(trees: &BTreeMap<BusIndex, Tree>, bus: BusIndex, bands: usize, sent: &Sent) -> usize {
    let mut bytes = [0; CANFD_MTU];
    let len = sent.frame.to_kernel(&mut bytes);
    let protocol = if len == CANFD_MTU { ETH_P_CANFD } else { ETH_P_CAN };
    let socket = sent.from.is_none().then_some(Socket { user: 1, group: 1, control_groups: &sent.groups });
    let mark = effective_mark(trees, sent);
    let packet =
        Packet { bytes: &bytes[..len], protocol, priority: sent.priority, mark, socket, incoming_interface: 0 };
    let End::Queue { qdisc, .. } = egress(&trees[&bus], &packet).end else {
        panic!("{sent:?} does not wait: {:?}", egress(&trees[&bus], &packet));
    };
    if bands == 1 { 0 } else { usize::from(qdisc.major() >> 4) - 1 }
}

/// The mark after the ingress of its source.
fn effective_mark(trees: &BTreeMap<BusIndex, Tree>, sent: &Sent) -> u32 {
    let Some(from) = sent.from else { return sent.mark };
    let actions = trees.get(&from).into_iter().flat_map(|tree| &tree.filters);
    let marks = actions.filter(|filter| filter.parent == Handle::INGRESS).flat_map(|filter| &filter.actions);
    marks.fold(0, |mark, action| match action {
        Action::Skbedit { mark: Some(new), mask, .. } => mark & !mask.unwrap_or(u32::MAX) | new,
        _ => mark,
    })
}

proptest! {
    #[test]
    fn frames_queue_in_the_band_of_the_policy(
        policy in policy_of(prop_oneof![3 => selection().boxed(), 1 => groups::selection().boxed()].boxed()),
        frames in vec(sent(), 1..40),
    ) {
        let bus = BusIndex(1);
        let mut trees = trees(&[Egress { bus, queueing: Queueing::Bands(policy.clone()) }]);
        trees.values_mut().for_each(groups::locate);
        for sent in &frames {
            let Sent { frame, priority, from, .. } = sent;
            let mark = effective_mark(&trees, sent);
            let wanted = Outgoing { id: frame.id, len: frame.len, priority: *priority, mark, from: *from, groups: &groups::names(sent) };
            let by_tree = band_by_tree(&trees, bus, policy.bands().len(), sent);
            prop_assert_eq!(by_tree, policy.band_of(&wanted), "{:?} in {:#?}", sent, trees[&bus].filters);
        }
    }

    /// So that it can be read by people and run by `tc`.
    #[test]
    fn compiled_trees_have_a_tc_script(policy in policy()) {
        for tree in trees(&[Egress { bus: BusIndex(0), queueing: Queueing::Bands(policy) }]).values() {
            let script = text::script(tree, "can0");
            prop_assert!(script.is_ok(), "{:?} of {:#?}", script, tree);
            prop_assert_eq!(&text::parse(&script.unwrap()).unwrap().tree, tree);
        }
    }
}

fn of_ids(filters: &[&str]) -> Selection {
    let filters = filters.iter().map(|text| IdFilter::parse(text).unwrap()).collect();
    Selection { ids: Some(IdSet::of_filters(filters, &mut Effort::new(u32::MAX)).unwrap()), ..Selection::default() }
}

fn plain(name: &str, take: Vec<Selection>, frames: u32) -> Band {
    Band {
        name: name.to_owned(),
        take,
        queue: Queue::new(Fair::No, frames, Full::Refuse).unwrap(),
        rate: None,
        share: None,
    }
}

fn tc(tree: &Tree) -> String {
    text::script(tree, "can0").unwrap()
}

/// Figure 1.1 of the report of 2011.
#[test]
fn compiles_the_ideal_discipline_of_the_report() {
    let fair = Queue::new(Fair::PerSocket, 100, Full::Refuse).unwrap();
    let bands = vec![
        plain("urgent", vec![of_ids(&["080:C0000780"])], 100),
        Band { queue: fair, ..plain("middle", vec![of_ids(&["100:80000700", "200:80000700"])], 1) },
        Band { queue: fair, rate: FrameRate::new(100), ..plain("low", Vec::new(), 1) },
    ];
    let burst_frames = NonZeroU32::new(3).unwrap();
    let marked = Selection { marks: vec![Mark { value: 7, mask: u32::MAX }], ..Selection::default() };
    let limits = vec![Limit { take: vec![marked], rate: FrameRate::new(20).unwrap(), burst_frames }];
    // In a frame, the identifier has the byte order of the machine; u32 reads it as big-endian.
    let script = tc(&tree(&Policy::new(bands, limits).unwrap()));
    insta::assert_snapshot!(script.replace(&format!("{:#010x} at 0", CAN_RTR_FLAG.to_be()), "0x00000040 at 0"));
}

#[test]
fn a_single_band_needs_no_prio() {
    let band = Band { rate: FrameRate::new(200), ..plain("all", Vec::new(), 20) };
    let tree = tree(&Policy::new(vec![band], Vec::new()).unwrap());
    let [shaper, queue] = tree.qdiscs.as_slice() else { panic!("{tree:#?}") };
    let Discipline::Tbf(tbf) = shaper.discipline else { panic!("{tree:#?}") };
    assert_eq!((tbf.rate, tbf.burst_bytes), (ByteRate(200 * 256), 256 + 2));
    assert_eq!(queue.discipline, Discipline::Pfifo { limit_frames: Some(20) });
    // Frames of both formats count as one.
    let stab = shaper.stab.as_ref().unwrap();
    let counts_as = |bytes: usize| u32::from(stab.sizes[(bytes - 1) >> stab.cell_log]) << stab.size_log;
    assert_eq!((counts_as(16), counts_as(72)), (256, 256));
}

#[test]
fn a_limit_is_one_filter_for_all_selections() {
    let marked = |value| Selection { marks: vec![Mark { value, mask: u32::MAX }], ..Selection::default() };
    let of = |take| {
        let limit = Limit { take, rate: FrameRate::new(20).unwrap(), burst_frames: NonZeroU32::MIN };
        let policy = Policy::new(vec![plain("all", Vec::new(), 20)], vec![limit]);
        let filters = policy.map(|policy| tree(&policy).filters);
        filters.map(|filters| filters.into_iter().filter(|filter| filter.parent == Handle::EGRESS).collect::<Vec<_>>())
    };
    // Each filter would have a bucket of its own.
    assert_eq!(of(vec![marked(1), marked(2)]).unwrap().len(), 1);
    let every = of(vec![marked(1), Selection::default()]).unwrap();
    assert_eq!(every[0].classifier, Classifier::Basic(None));
    let many = IdSet::of_filters(
        (0..3000_u32)
            .map(|id| IdFilter::exact(RawId(CAN_EFF_FLAG | (id.wrapping_mul(0x9E37_79B1) & CAN_EFF_MASK))))
            .collect(),
        &mut Effort::new(u32::MAX),
    );
    let many = Selection { ids: many.ok(), ..Selection::default() };
    assert_eq!(of(vec![many]), Err(PolicyError::LargeLimit(0)));
}

#[test]
fn a_limit_refuses_and_passes_to_the_next_limit() {
    let limit = Limit {
        take: vec![of_ids(&["123"])],
        rate: FrameRate::new(20).unwrap(),
        burst_frames: NonZeroU32::new(3).unwrap(),
    };
    let policy = Policy::new(vec![plain("all", Vec::new(), 20)], vec![limit.clone(), limit]).unwrap();
    let tree = tree(&policy);
    let limits: Vec<_> = tree.filters.iter().filter(|filter| filter.parent == Handle::EGRESS).collect();
    assert_eq!(limits.len(), 2);
    let [Action::Police(police)] = limits[0].actions.as_slice() else { panic!("{limits:?}") };
    assert_eq!((police.exceed, police.conform), (Verdict::Drop, Verdict::Continue));
    // Senders get an error above the limit: the same tree with a limit that is always reached.
    let mut reached = tree.clone();
    for filter in &mut reached.filters {
        filter.actions = vec![Action::Gact { verdict: Verdict::Drop }];
    }
    let mut bytes = [0; CANFD_MTU];
    let len = Frame { id: RawId(0x123), ..Frame::EMPTY }.to_kernel(&mut bytes);
    let packet =
        Packet { bytes: &bytes[..len], protocol: ETH_P_CAN, priority: 0, mark: 0, socket: None, incoming_interface: 0 };
    let dropped = End::Dropped { at: Handle::EGRESS, result: SenderResult::Enobufs };
    assert_eq!(egress(&reached, &packet).end, dropped);
}

/// Without an order that a hash could make use of (the end of MurmurHash3), and with a mask for each.
fn scattered(count: u32) -> IdSet {
    let id = |n: u32| {
        let n = (n ^ n >> 16).wrapping_mul(0x85EB_CA6B);
        let n = (n ^ n >> 13).wrapping_mul(0xC2B2_AE35);
        (n ^ n >> 16) & CAN_EFF_MASK
    };
    let ranges = (0..count).map(|n| IdRange { is_extended: true, first: id(n), last: id(n) }).collect();
    IdSet::of_ranges(ranges, &mut Effort::new(u32::MAX)).unwrap()
}

fn chosen_by(selection: Selection) -> Tree {
    let policy = Policy::new(vec![plain("many", vec![selection], 1), plain("rest", Vec::new(), 1)], Vec::new());
    tree(&policy.unwrap())
}

#[test]
fn splits_identifiers_into_several_filters() {
    // By their priority, too, of which u32 knows nothing.
    let tree = chosen_by(Selection { ids: Some(scattered(5_000)), socket_priorities: vec![3], ..Selection::default() });
    assert_eq!(tree.filters.len(), 2);
    assert!(tree.filters.iter().all(|filter| filter.class == Some(Handle::new(1, 1))));
    assert!(tree.filters.is_sorted_by(|one, other| one.preference < other.preference));
}
