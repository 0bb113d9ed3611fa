use proptest::prelude::*;

use super::same::canonical;
use super::*;
use crate::action::{Action, Police, PoliceBytes, Verdict};
use crate::arbitrary::any as arbitrary;
use crate::discipline::{ByteRate, Discipline, Ets, FqCodel, Prio, Sfq, SizeTable, Tbf};
use crate::ematch::{CanRule, Ematch};
use crate::filter::{ETH_P_ALL, Flow, U32, U32Key};
use crate::tree::{HtbClass, Share};

fn qdisc(handle: Handle, discipline: Discipline) -> Qdisc {
    Qdisc { handle, parent: Handle::ROOT, stab: None, discipline }
}

fn filter(preference: u16, handle: u32, classifier: Classifier) -> Filter {
    let (parent, class) = (Handle::new(1, 0), Some(Handle::new(1, 1)));
    Filter { parent, preference, protocol: ETH_P_ALL, handle, classifier, class, actions: Vec::new() }
}

fn fit(wanted: Discipline, found: Discipline) -> bool {
    same_qdisc(&qdisc(Handle::NONE, wanted), &qdisc(Handle::new(1, 0), found))
}

fn canid(rules: &[(u32, u32)]) -> Ematch {
    Ematch::Canid(rules.iter().map(|&(id, mask)| CanRule { id, mask }).collect())
}

/// Values that 6.1 reports after a change, and values that it never reports.
#[test]
fn ignores_kernel_changes_to_disciplines() {
    let tbf = |burst_bytes| Discipline::Tbf(Tbf { rate: ByteRate(1600), burst_bytes, limit_bytes: 160, peak: None });
    assert!(fit(tbf(60), tbf(60)) && !fit(tbf(60), tbf(59)));
    let fast =
        |burst_bytes| Discipline::Tbf(Tbf { rate: ByteRate(1 << 30), burst_bytes, limit_bytes: 160, peak: None });
    assert!(fit(fast(1000), fast(950)) && !fit(fast(1000), fast(800)));

    let sfq = Sfq { limit_frames: Some(500), ..Sfq::default() };
    let shown = Sfq {
        limit_frames: Some(500),
        quantum_bytes: Some(256),
        perturb_s: Some(0),
        divisor: Some(1024),
        flows: Some(127),
        depth_frames: Some(127),
        head_drop: false,
    };
    assert!(fit(Discipline::Sfq(sfq), Discipline::Sfq(shown)));
    assert!(fit(Discipline::Sfq(Sfq { quantum_bytes: Some(16), ..sfq }), Discipline::Sfq(shown)));
    let bounded = Sfq { limit_frames: Some(10_000), depth_frames: Some(200), flows: Some(9), ..sfq };
    let shown = Sfq { limit_frames: Some(9 * 127), flows: Some(9), ..shown };
    assert!(fit(Discipline::Sfq(bounded), Discipline::Sfq(shown)));
    assert!(!fit(Discipline::Sfq(Sfq { head_drop: true, ..bounded }), Discipline::Sfq(shown)));

    let ets = |quanta: &[u32], priomap: &[u8]| {
        Discipline::Ets(Ets { bands: 3, strict: 1, quanta_bytes: quanta.to_vec(), priomap: priomap.to_vec() })
    };
    let shown = ets(&[256, 1514], &[0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
    assert!(fit(ets(&[16], &[0, 1]), shown.clone()));
    assert!(!fit(ets(&[512], &[0, 1]), shown.clone()) && !fit(ets(&[16], &[1, 1]), shown));

    let times = |target_us| Discipline::FqCodel(FqCodel { target_us, ..FqCodel::default() });
    assert!(fit(times(Some(5000)), times(Some(4999))) && !fit(times(Some(5000)), times(Some(4998))));
    assert!(fit(times(None), times(Some(4999))));
}

#[test]
fn compares_size_tables_without_unreported_entries() {
    let table = SizeTable { overhead_bytes: 240, sizes: vec![1], ..SizeTable::default() };
    let prio = || Discipline::Prio(Prio { bands: 3, priomap: Prio::PRIOMAP });
    let with = |stab| Qdisc { stab, ..qdisc(Handle::new(1, 0), prio()) };
    let reported = SizeTable { sizes: Vec::new(), ..table.clone() };
    assert!(same_qdisc(&with(Some(table.clone())), &with(Some(reported.clone()))));
    assert!(!same_qdisc(&with(Some(table)), &with(Some(SizeTable { overhead_bytes: 0, ..reported.clone() }))));
    assert!(!same_qdisc(&with(None), &with(Some(reported))));
}

#[test]
fn ignores_kernel_changes_to_classes() {
    let htb = |quantum_bytes, prio| HtbClass {
        rate: ByteRate(1600),
        ceil: ByteRate(1600),
        burst_bytes: 16,
        ceil_burst_bytes: 16,
        quantum_bytes,
        prio,
    };
    let class = |minor, parent, share| Class { handle: Handle::new(1, minor), parent, share };
    let root = Handle::new(1, 0);
    let outer = |quantum, prio| class(1, root, Share::Htb(htb(quantum, prio)));
    let inner = |quantum, prio| class(2, Handle::new(1, 1), Share::Htb(htb(quantum, prio)));
    let tree = |classes| Tree { classes, ..Tree::default() };
    let found = tree(vec![outer(None, 0), inner(Some(1000), 7)]);
    assert_eq!(differences(&tree(vec![outer(Some(16), 0), inner(None, 9)]), &found), []);
    let wanted = inner(Some(16), 7);
    let left = differences(&tree(vec![outer(None, 0), wanted.clone()]), &found);
    let found = Part::Class(inner(Some(1000), 7));
    assert_eq!(left, [Difference::Differs { wanted: Part::Class(wanted), found }]);
    let drr = |quantum_bytes| class(1, root, Share::Drr { quantum_bytes });
    assert_eq!(differences(&tree(vec![drr(Some(16))]), &tree(vec![drr(Some(256))])), []);
    assert_eq!(differences(&tree(vec![drr(None)]), &tree(vec![drr(Some(256))])), []);
}

#[test]
fn canonical_rules_keep_only_compared_bits() {
    let given = canid(&[(0xAABB, 0x00FF), (0x9234_5678, 0x9FFF_FFFF), (0xAABB, 0x00FF)]);
    let shown = canid(&[(0x9234_5678, 0x1FFF_FFFF), (0x2BB, 0xFF)]);
    assert_eq!(canonical(&given), canonical(&shown));
    // With 29 bits remote frames can be reported apart, with 11 they cannot.
    assert_ne!(canonical(&canid(&[(0x8000_0001, 0x1FFF_FFFF)])), canonical(&canid(&[(0x8000_0001, 0x5FFF_FFFF)])));
    assert_eq!(canonical(&canid(&[(1, 0x7FF)])), canonical(&canid(&[(1, 0x4000_07FF)])));
}

#[test]
fn canonical_form_flattens_groups() {
    let [a, b, c] = [1, 2, 3].map(|id| canid(&[(id, 0x7FF)]));
    let nested = Ematch::And(vec![Ematch::And(vec![a.clone(), b.clone()]), c.clone()]);
    assert_eq!(canonical(&nested), Ematch::And(vec![a.clone(), b.clone(), c.clone()]));
    let mixed = Ematch::And(vec![a.clone(), Ematch::Or(vec![b, c])]);
    assert_eq!(canonical(&mixed), mixed);
    let twice = Ematch::Not(Box::new(Ematch::Not(Box::new(a.clone()))));
    assert_eq!(canonical(&twice), a);
}

#[test]
fn pairs_filters_without_handle_by_content() {
    let mark = |preference, handle, mask| filter(preference, handle, Classifier::Fw { mask: Some(mask) });
    let tree = |filters| Tree { filters, ..Tree::default() };
    let found = tree(vec![mark(1, 1, 0xF), mark(1, 2, 0xFF), mark(2, 3, 0xF)]);
    let wanted = tree(vec![mark(1, 0, 0xFF), mark(1, 0, 0x7), mark(3, 0, 0xF)]);
    let part = Part::Filter;
    let expected = [
        Difference::Differs { wanted: part(mark(1, 0, 0x7)), found: part(mark(1, 1, 0xF)) },
        Difference::Missing(part(mark(3, 0, 0xF))),
        Difference::Extra(part(mark(2, 3, 0xF))),
    ];
    assert_eq!(differences(&wanted, &found), expected);
    let slots: Vec<_> = expected.iter().map(|difference| difference.slot().to_string()).collect();
    assert_eq!(slots, ["filter parent 1: pref 1", "filter parent 1: pref 3", "filter parent 1: pref 2 handle 0x3"]);
    // One that is wanted by its number is left to that.
    let wanted = tree(vec![mark(1, 0, 0xF), mark(1, 1, 0xF)]);
    let found = tree(vec![mark(1, 1, 0xF), mark(1, 2, 0xF)]);
    assert_eq!(differences(&wanted, &found), []);
}

#[test]
fn ignores_kernel_changes_to_filters() {
    let same = |wanted: Filter, found: Filter| {
        let tree = |filter| Tree { filters: vec![filter], ..Tree::default() };
        differences(&tree(wanted), &tree(found)).is_empty()
    };
    let flow = |base, divisor| filter(1, 1, Classifier::Flow(Flow { base, divisor, ..Flow::default() }));
    assert!(same(flow(None, None), flow(Some(Handle::new(1, 1)), None)));
    assert!(same(flow(Some(Handle::new(0, 5)), Some(0)), flow(Some(Handle::new(1, 5)), None)));
    assert!(!same(flow(Some(Handle::new(0, 5)), None), flow(Some(Handle::new(1, 6)), None)));
    let fw = |mask| filter(1, 1, Classifier::Fw { mask });
    assert!(same(fw(Some(u32::MAX)), fw(None)) && !same(fw(Some(1)), fw(None)));
    // The mask of one that says no more is not reported.
    let silent = |mask| Filter { class: None, ..fw(mask) };
    assert!(same(silent(Some(1)), silent(None)));
    let key = |value| U32 { keys: vec![U32Key { mask: 0xFF, value, offset: 0 }], ..U32::default() };
    let node = |handle, value| filter(1, handle, Classifier::U32(key(value)));
    assert!(same(node(0, 0x123), node(0x8000_0800, 0x23)) && same(node(5, 0x23), node(0x8000_0005, 0x23)));
    assert!(!same(node(0x8010_0005, 0x23), node(0x8000_0005, 0x23)));
    let police = |mtu_bytes| {
        let bytes = PoliceBytes { rate: ByteRate(1600), burst_bytes: 160, mtu_bytes };
        let limit = Police { bytes: Some(bytes), frames: None, exceed: Verdict::Drop, conform: Verdict::Pass };
        Filter { actions: vec![Action::Police(limit)], ..filter(1, 1, Classifier::Matchall) }
    };
    assert!(same(police(0), police(2040)) && !same(police(72), police(2040)));
}

#[test]
fn reports_disciplines_of_another_handle_or_kind() {
    let one = qdisc(Handle::new(1, 0), Discipline::Drr);
    let tree = |qdisc: &Qdisc| Tree { qdiscs: vec![qdisc.clone()], ..Tree::default() };
    for other in [qdisc(Handle::new(2, 0), Discipline::Drr), qdisc(Handle::new(1, 0), Discipline::PfifoFast)] {
        let (wanted, found) = (Part::Qdisc(one.clone()), Part::Qdisc(other.clone()));
        assert_eq!(differences(&tree(&one), &tree(&other)), [Difference::Differs { wanted, found }]);
    }
    let slot = Difference::Missing(Part::Qdisc(one.clone())).slot();
    assert_eq!(slot.to_string(), "qdisc parent root");
    assert_eq!(differences(&tree(&one), &Tree::default()), [Difference::Missing(Part::Qdisc(one.clone()))]);
    assert_eq!(differences(&Tree::default(), &tree(&one)), [Difference::Extra(Part::Qdisc(one))]);
}

proptest! {
    #[test]
    fn a_tree_equals_itself(
        qdisc in arbitrary::qdisc(),
        class in arbitrary::class(),
        filters in proptest::collection::vec(arbitrary::filter(), 0..4),
    ) {
        let htb = |share: &Share| matches!(share, Share::Htb(class) if class.prio > 7);
        prop_assume!(!htb(&class.share));
        let tree = Tree { qdiscs: vec![qdisc], classes: vec![class], filters };
        prop_assert!(is_odd(&tree) || differences(&tree, &tree).is_empty());
    }

    #[test]
    fn canonical_form_is_idempotent(expression in arbitrary::ematch()) {
        let once = canonical(&expression);
        prop_assert_eq!(canonical(&once), once);
    }
}

/// True for values outside of the kernel's bounds.
fn is_odd(tree: &Tree) -> bool {
    let odd_filter = |filter: &Filter| match &filter.classifier {
        Classifier::Flow(flow) => flow.base.is_some_and(|base| base.major() == 0),
        _ => false,
    };
    let odd_discipline = match &tree.qdiscs[0].discipline {
        Discipline::Sfq(_) | Discipline::Netem(_) | Discipline::Ets(_) => true,
        Discipline::FqCodel(fq_codel) => fq_codel.memory_limit_bytes.is_some_and(|limit| limit > 1 << 31),
        Discipline::Htb(htb) => htb.rate_to_quantum == 0,
        _ => false,
    };
    odd_discipline || tree.filters.iter().any(odd_filter)
}
