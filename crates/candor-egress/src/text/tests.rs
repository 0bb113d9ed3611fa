use proptest::prelude::*;

use super::*;
use crate::action::{Action, Mirred, Police, PoliceFrames, Verdict};
use crate::arbitrary;
use crate::discipline::{ByteRate, Discipline, Htb, Prio, Sfq, SizeTable, Tbf};
use crate::ematch::{CanRule, Ematch};
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use crate::tree::{HtbClass, Share};
use candor_core::diagnostic::Severity;

macro_rules! example {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/egress_text/", $name))
    };
}

fn tree(text: &str) -> Tree {
    parse(text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}")).tree
}

fn notes(text: &str) -> Vec<(&'static str, &str)> {
    let notes = parse_script(text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}")).notes;
    notes.iter().map(|note| (note.code, &text[note.primary.span.clone()])).collect()
}

const fn h(major: u16, minor: u16) -> Handle {
    Handle::new(major, minor)
}

fn sff(id: u32, mask: u32) -> CanRule {
    CanRule { id, mask }
}

fn eff(id: u32, mask: u32) -> CanRule {
    CanRule { id: 0x8000_0000 | id, mask }
}

/// The rules of filters with one `canid`, and the class each names.
fn rules(tree: &Tree) -> Vec<(u16, Vec<CanRule>, Option<Handle>)> {
    let rules = |filter: &Filter| match &filter.classifier {
        Classifier::Basic(Some(Ematch::Canid(rules))) => Some((filter.preference, rules.clone(), filter.class)),
        _ => None,
    };
    tree.filters.iter().filter_map(rules).collect()
}

fn disciplines(tree: &Tree) -> Vec<(Handle, Handle, Discipline)> {
    tree.qdiscs.iter().map(|qdisc| (qdisc.parent, qdisc.handle, qdisc.discipline.clone())).collect()
}

const EVERY: [(u32, u32); 2] = [(0, 0), (0x8000_0000, 0)];

fn every() -> Vec<CanRule> {
    EVERY.map(|(id, mask)| CanRule { id, mask }).to_vec()
}

#[test]
fn example_a1_of_the_report() {
    let text = example!("report-a1");
    let tree = tree(text);
    let prio = Discipline::Prio(Prio { bands: 5, priomap: Prio::PRIOMAP });
    assert_eq!(disciplines(&tree), [(Handle::ROOT, h(1, 0), prio)]);
    let expected = [
        (1, vec![sff(0, 0x7FF)], Some(h(1, 1))),
        (2, vec![sff(0x80, 0x7FF)], Some(h(1, 2))),
        (3, vec![sff(0, 0x400)], Some(h(1, 3))),
        (4, vec![sff(1, 0x400), eff(0x126, 0x1FFF_FFFF)], Some(h(1, 4))),
        (5, every(), Some(h(1, 5))),
    ];
    assert_eq!(rules(&tree), expected);
    assert!(tree.filters.iter().all(|filter| filter.protocol == ETH_P_ALL && filter.parent == h(1, 0)));
    assert_eq!(notes(text), [("N1052", "can"); 5]);
}

#[test]
fn examples_a2_to_a4_of_the_report() {
    let prio = (Handle::ROOT, h(1, 0), Discipline::Prio(Prio { bands: 3, priomap: Prio::PRIOMAP }));
    // 70 ms at the rate and the burst.
    let tbf =
        |rate, limit_bytes| Discipline::Tbf(Tbf { rate: ByteRate(rate), burst_bytes: 5120, limit_bytes, peak: None });
    let sfq = Discipline::Sfq(Sfq { perturb_s: Some(10), ..Sfq::default() });
    let a2 = tree(example!("report-a2"));
    let (fast, slow) = (tbf(12_500, 5995), tbf(6250, 5557));
    assert_eq!(disciplines(&a2), [prio.clone(), (h(1, 2), h(0x10, 0), fast.clone()), (h(1, 3), h(0x11, 0), slow)]);
    let a3 = tree(example!("report-a3"));
    let below = [(h(1, 2), h(0x10, 0), sfq.clone()), (h(1, 3), h(0x11, 0), sfq.clone())];
    assert_eq!(disciplines(&a3), [vec![prio.clone()], below.to_vec()].concat());
    assert_eq!(rules(&a3)[1].1, [sff(0, 0x400), sff(0x400, 0x780)]);
    let a4 = tree(example!("report-a4"));
    let shaped = [(h(1, 2), h(0x10, 0), fast.clone()), (h(1, 3), h(0x11, 0), fast)];
    let below = [(h(0x10, 1), h(0x101, 0), sfq.clone()), (h(0x11, 1), h(0x102, 0), sfq)];
    assert_eq!(disciplines(&a4), [vec![prio], shaped.to_vec(), below.to_vec()].concat());
}

#[test]
fn example_a5_of_the_report_and_its_slips() {
    let text = example!("report-a5");
    let tree = tree(text);
    let kbps = |rate: u64, ceil: u64| {
        let (rate, ceil) = (ByteRate(rate * 1000), ByteRate(ceil * 1000));
        let (burst_bytes, ceil_burst_bytes) = (1600, 1600);
        Share::Htb(HtbClass { rate, ceil, burst_bytes, ceil_burst_bytes, quantum_bytes: None, prio: 0 })
    };
    let classes: Vec<_> = tree.classes.iter().map(|class| (class.parent, class.handle, class.share.clone())).collect();
    let expected = [
        (h(1, 0), h(1, 1), kbps(100, 100)),
        (h(1, 1), h(1, 0x10), kbps(30, 100)),
        (h(1, 1), h(1, 0x11), kbps(10, 100)),
        (h(1, 1), h(1, 0x12), kbps(60, 100)),
    ];
    assert_eq!(classes, expected);
    assert_eq!(
        tree.qdiscs[0].discipline,
        Discipline::Htb(Htb { default: 0, rate_to_quantum: 10, direct_frames: None })
    );
    assert_eq!(rules(&tree)[2].1, [sff(0, 0x7FF), eff(0, 0x1FFF_FFFF)]);
    let notes = notes(text);
    let codes: Vec<_> = notes.iter().map(|(code, _)| *code).collect();
    // A class twice, three filters of 2011, and a rest that is identifier 0 alone.
    assert_eq!(codes, ["N1053", "N1052", "N1052", "N1052", "N1052"]);
    assert!(notes[0].1.contains("classid 1:12"), "{notes:?}");
    assert!(notes.contains(&("N1052", "can sffid 0x0 effid 0x0 flowid 1:12")), "{notes:?}");
}

#[test]
fn the_recipes() {
    let script = parse_script(example!("recipe-ideal")).unwrap();
    let [(interface, tree)] = script.trees.as_slice() else { panic!("{script:?}") };
    assert_eq!(interface, "can0");
    let stab = SizeTable { overhead_bytes: 240, ..SizeTable::default() };
    assert_eq!((&tree.qdiscs[0].stab, tree.qdiscs.len()), (&Some(stab), 4));
    assert_eq!(tree.qdiscs[0].discipline, Discipline::Prio(Prio { bands: 3, priomap: [1; 16] }));
    let tbf = Tbf { rate: ByteRate(25_600), burst_bytes: 256, limit_bytes: 128_000, peak: None };
    assert_eq!(tree.qdiscs[2].discipline, Discipline::Tbf(tbf));
    let flow = Flow { keys: vec![FlowKey::Source], hashed: true, divisor: Some(1024), ..Flow::default() };
    let flows: Vec<_> = tree.filters.iter().filter(|filter| filter.classifier.kind() == "flow").collect();
    assert!(flows.iter().all(|filter| filter.classifier == Classifier::Flow(flow.clone()) && filter.handle == 1));
    assert_eq!(flows.iter().map(|filter| filter.parent).collect::<Vec<_>>(), [h(0x20, 0), h(0x31, 0)]);
    assert_eq!((script.notes, script.left_out.len()), (Vec::new(), 1));

    let script = parse_script(example!("recipe-gateway")).unwrap();
    let [(_, from), (_, to)] = script.trees.as_slice() else { panic!("{script:?}") };
    assert_eq!((from.filters[0].parent, from.filters[1].parent), (Handle::INGRESS, Handle::EGRESS));
    let priority = Some(h(1, 1));
    assert_eq!(from.filters[0].actions, [Action::Skbedit { priority, mark: None, verdict: Verdict::Pipe }]);
    let frames = Some(PoliceFrames { per_second: 20, burst_frames: 3 });
    let police = Police { bytes: None, frames, exceed: Verdict::Drop, conform: Verdict::Pass };
    assert_eq!(from.filters[1].actions, [Action::Police(police)]);
    let protocols: Vec<_> = to.filters.iter().map(|filter| filter.protocol).collect();
    assert_eq!(protocols, [ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD]);
    assert_eq!((to.filters[1].handle, &to.filters[1].classifier), (8, &Classifier::Fw { mask: Some(0xFF) }));
}

#[test]
fn tables_of_u32_come_before_what_refers_to_them() {
    let tree = tree(example!("tables"));
    let [table, link, node, copy] = tree.filters.as_slice() else { panic!("{tree:#?}") };
    let is = |filter: &Filter, expected: U32| assert_eq!(filter.classifier, Classifier::U32(expected));
    is(table, U32 { divisor: Some(256), ..U32::default() });
    assert_eq!((table.handle, table.preference, link.preference), (1 << 20, 2, 1));
    let to = U32Link { table: 1 << 20, mask: 0xFF00_0000, offset: 0 };
    is(link, U32 { keys: vec![U32Key { mask: 0, value: 0, offset: 0 }], link: Some(to), ..U32::default() });
    let keys = vec![U32Key { mask: 0xFF00_0000, value: 0, offset: 4 }];
    is(node, U32 { table: 0x0012_3000, keys, ..U32::default() });
    let mirror = Action::Mirred { interface: "can1".into(), how: Mirred::EgressMirror, verdict: Verdict::Pipe };
    assert_eq!(copy.actions, [mirror, Action::Gact { verdict: Verdict::Drop }]);
    let Share::Htb(class) = &tree.classes[0].share else { panic!("{tree:#?}") };
    assert_eq!(
        (class.rate, class.ceil, class.quantum_bytes, class.prio),
        (ByteRate(1600), ByteRate(3200), Some(16), 1)
    );
}

#[test]
fn a_joint_is_for_all_that_follows() {
    let expression = |text: &str| {
        let text = format!("qdisc root handle 1: prio\nfilter parent 1: prio 1 basic match '{text}' flowid 1:1\n");
        match tree(&text).filters.remove(0).classifier {
            Classifier::Basic(Some(expression)) => (expression, notes(&text).len()),
            other => panic!("{other:?}"),
        }
    };
    let one = |id| Ematch::Canid(vec![sff(id, 0x7FF)]);
    let (a, b, c) = (one(1), one(2), one(3));
    let and = |terms: &[&Ematch]| Ematch::And(terms.iter().copied().cloned().collect());
    let or = |terms: &[&Ematch]| Ematch::Or(terms.iter().copied().cloned().collect());
    let cases = [
        ("1 and 2 or 3", and(&[&a, &or(&[&b, &c])]), 1),
        ("1 or 2 and 3", or(&[&a, &and(&[&b, &c])]), 0),
        ("1 and 2 and 3", and(&[&a, &b, &c]), 0),
        ("(1 and 2) or 3", or(&[&and(&[&a, &b]), &c]), 0),
        ("1 AND (2 Or 3)", and(&[&a, &or(&[&b, &c])]), 0),
        (
            "not 1 or not (2 and 3)",
            Ematch::Or(vec![Ematch::Not(a.clone().into()), Ematch::Not(and(&[&b, &c]).into())]),
            0,
        ),
        ("((1))", a.clone(), 0),
    ];
    for (text, expected, notes) in cases {
        let text = text.replace('1', "canid(sff 1)").replace('2', "canid(sff 0x2)").replace('3', "canid(sff 3)");
        assert_eq!(expression(&text), (expected, notes), "{text}");
    }
}

#[test]
fn a_filter_without_prio_is_asked_before_those_that_are_there() {
    let text = "qdisc root handle 1: prio\nfilter basic flowid 1:1\nfilter prio 5 basic flowid 1:2\n\
                filter parent 1: matchall flowid 1:3\n";
    let tree = tree(text);
    let asked: Vec<_> = tree.filters.iter().map(|filter| (filter.preference, filter.class)).collect();
    assert_eq!(asked, [(5, Some(h(1, 2))), (0xBFFF, Some(h(1, 3))), (0xC000, Some(h(1, 1)))]);
    assert_eq!(notes(text).len(), 2);
}

#[test]
fn what_replaces_and_starts_afresh() {
    let text = "tc qdisc del dev can0 root\ntc qdisc replace dev can0 root handle 1: prio\n\
                tc filter add dev can0 parent 1: prio 1 handle 7 basic flowid 1:1\n\
                tc filter replace dev can0 parent 1: prio 1 handle 7 basic flowid 1:2\n\
                tc qdisc change dev can0 root handle 1: prio bands 4\ntc qdisc show dev can0\n";
    let script = parse_script(text).unwrap();
    let tree = &script.trees[0].1;
    assert_eq!((tree.filters.len(), tree.filters[0].class), (1, Some(h(1, 2))));
    assert_eq!(tree.qdiscs[0].discipline, Discipline::Prio(Prio { bands: 4, priomap: Prio::PRIOMAP }));
    // Another name takes all that was below the old one with it.
    let tree = self::tree(&format!("{text}tc qdisc replace dev can0 root handle 2: pfifo limit 5\n"));
    assert_eq!(
        (tree.filters.len(), disciplines(&tree)),
        (0, vec![(Handle::ROOT, h(2, 0), Discipline::Pfifo { limit_frames: Some(5) })])
    );
}

#[test]
fn ingress_is_clsact() {
    let text =
        "qdisc add dev can0 handle ffff: ingress\nfilter add dev can0 parent ffff: prio 1 matchall action drop\n";
    let tree = tree(text);
    assert_eq!(disciplines(&tree), [(Handle::CLSACT, Handle::CLSACT_QDISC, Discipline::Clsact)]);
    assert_eq!(tree.filters[0].parent, Handle::INGRESS);
    assert_eq!(notes(text), [("N1051", "ingress")]);
}

#[test]
fn what_tc_cannot_say_is_refused() {
    let rule = |count: usize, mask| Ematch::Canid(vec![CanRule { id: 0x8000_0001, mask }; count]);
    let tree = |expression: Ematch| Tree {
        filters: vec![Filter {
            parent: h(1, 0),
            preference: 1,
            protocol: ETH_P_ALL,
            handle: 0,
            classifier: Classifier::Basic(Some(expression)),
            class: None,
            actions: Vec::new(),
        }],
        ..Tree::default()
    };
    let why = |tree: &Tree| script(tree, "can0").unwrap_err().remove(0).why;
    assert_eq!(why(&tree(rule(401, 0xFF))), NotSayable::TooManyIdentifiers);
    assert!(script(&tree(rule(400, 0xFF)), "can0").is_ok());
    assert_eq!(why(&tree(rule(1, 0x4000_00FF))), NotSayable::RemoteFlag);
    assert_eq!(why(&tree(Ematch::And(vec![rule(1, 0)]))), NotSayable::Expression);
    assert_eq!(why(&tree(Ematch::Other { kind: 9, data: vec![1] })), NotSayable::Other);
    let deep = (0..100).fold(rule(1, 0), |inner, _| Ematch::Not(inner.into()));
    assert_eq!(why(&tree(deep)), NotSayable::TooDeep);
    assert_eq!(script(&Tree::default(), "can0; reboot").unwrap_err()[0].why, NotSayable::Interface);
    let table = SizeTable { sizes: vec![17, 60], mpu_bytes: 1, ..SizeTable::default() };
    let mut sized = parse("qdisc root prio").unwrap().tree;
    sized.qdiscs[0].stab = Some(table);
    assert_eq!(why(&sized), NotSayable::SizeTable);
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same_tree(tree in arbitrary::tree()) {
        let text = script(&tree, "can0").unwrap_or_else(|unsayable| panic!("{tree:#?}: {unsayable:?}"));
        let parsed = parse(&text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}"));
        prop_assert_eq!(&parsed.tree, &tree, "{}", text);
    }

    #[test]
    fn no_text_breaks_a_promise(text in "(tc |qdisc |class |filter |add |root |parent 1: |handle 1: |prio 1 |basic match |'canid\\(sff 1\\)' |flowid 1:1 |\n|[ -~]{0,12}){0,40}") {
        invariants::check(text.as_bytes());
    }
}

#[test]
fn the_corpus_keeps_its_promises() {
    for text in [
        example!("report-a1"),
        example!("report-a2"),
        example!("report-a3"),
        example!("report-a4"),
        example!("report-a5"),
        example!("recipe-ideal"),
        example!("recipe-gateway"),
        example!("tables"),
        example!("precedence"),
        example!("mistakes"),
        example!("places"),
    ] {
        invariants::check(text.as_bytes());
    }
}

#[test]
fn every_code_is_described() {
    let described = include_str!("../../../../docs/egress.md");
    for code in code::ALL {
        assert!(described.contains(&format!("| `{code}` |")), "{code} is not in docs/egress.md");
    }
}

fn said(findings: &[Diagnostic], text: &str) -> String {
    let one = |finding: &Diagnostic| {
        let part = &text[finding.primary.span.clone()];
        let help = finding.help.as_deref().unwrap_or_default();
        let severity = if finding.severity == Severity::Error { "" } else { " (note)" };
        format!("{}{severity} at [{part}]\n    {}\n    {help}\n", finding.code, finding.message)
    };
    findings.iter().map(one).collect()
}

#[test]
fn in_a_script() {
    let text = example!("mistakes");
    insta::assert_snapshot!(said(&parse_script(text).unwrap_err(), text));
}

#[test]
fn in_a_tree() {
    let text = example!("places");
    insta::assert_snapshot!(said(&parse(text).unwrap_err(), text));
}

#[test]
fn what_is_read_but_perhaps_not_meant() {
    let text = example!("precedence");
    insta::assert_snapshot!(said(&parse(text).unwrap().notes, text));
}

#[test]
fn a_script_as_it_is_printed() {
    let parsed = parse_script(example!("recipe-gateway")).unwrap();
    let written: Vec<_> = parsed.trees.iter().map(|(interface, tree)| script(tree, interface).unwrap()).collect();
    insta::assert_snapshot!(written.join("\n"));
}
