use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::discipline::{Discipline, Prio, SizeTable};
use crate::ematch::{CanRule, Ematch};
use crate::filter::{Classifier, ETH_P_ALL, Filter};
use crate::handle::Handle;
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

fn disciplines(tree: &Tree) -> Vec<(Handle, Handle, Discipline)> {
    tree.qdiscs.iter().map(|qdisc| (qdisc.parent, qdisc.handle, qdisc.discipline.clone())).collect()
}

/// The trees of a script with a line for each part, and its notes.
fn read_as(text: &str) -> String {
    let script = parse_script(text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}"));
    let lines = |(interface, tree): &(String, Tree)| {
        let qdiscs = tree.qdiscs.iter().map(|qdisc| format!("  {qdisc:?}\n"));
        let classes = tree.classes.iter().map(|class| format!("  {class:?}\n"));
        let filters = tree.filters.iter().map(|filter| format!("  {filter:?}\n"));
        format!("{interface}\n{}", qdiscs.chain(classes).chain(filters).collect::<String>())
    };
    let trees: String = script.trees.iter().map(lines).collect();
    let notes: String = notes(text).iter().map(|(code, span)| format!("{code} {span}\n")).collect();
    format!("{trees}{notes}left out: {}\n", script.left_out.len())
}

#[test]
fn reads_the_examples_of_the_report_of_2011() {
    insta::assert_snapshot!("report_a1", read_as(example!("report-a1")));
    insta::assert_snapshot!("report_a2", read_as(example!("report-a2")));
    insta::assert_snapshot!("report_a3", read_as(example!("report-a3")));
    insta::assert_snapshot!("report_a4", read_as(example!("report-a4")));
    // A class twice, three filters of 2011, and a rest that is identifier 0 alone.
    insta::assert_snapshot!("report_a5", read_as(example!("report-a5")));
}

#[test]
fn reads_the_recipes() {
    insta::assert_snapshot!("recipe_ideal", read_as(example!("recipe-ideal")));
    insta::assert_snapshot!("recipe_gateway", read_as(example!("recipe-gateway")));
    // Tables of u32 come before the nodes that refer to them.
    insta::assert_snapshot!("tables", read_as(example!("tables")));
}

#[test]
fn joints_apply_to_everything_after_them() {
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
fn filters_without_prio_run_first() {
    let text = "qdisc root handle 1: prio\nfilter basic flowid 1:1\nfilter prio 5 basic flowid 1:2\n\
                filter parent 1: matchall flowid 1:3\n";
    let tree = tree(text);
    let asked: Vec<_> = tree.filters.iter().map(|filter| (filter.preference, filter.class)).collect();
    assert_eq!(asked, [(5, Some(h(1, 2))), (0xBFFF, Some(h(1, 3))), (0xC000, Some(h(1, 1)))]);
    assert_eq!(notes(text).len(), 2);
}

#[test]
fn replaces_and_deletes() {
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
fn reads_ingress_as_clsact() {
    let text =
        "qdisc add dev can0 handle ffff: ingress\nfilter add dev can0 parent ffff: prio 1 matchall action drop\n";
    let tree = tree(text);
    assert_eq!(disciplines(&tree), [(Handle::CLSACT, Handle::CLSACT_QDISC, Discipline::Clsact)]);
    assert_eq!(tree.filters[0].parent, Handle::INGRESS);
    assert_eq!(notes(text), [("N1051", "ingress")]);
}

#[test]
fn rejects_trees_that_tc_cannot_express() {
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
    fn scripts_round_trip(tree in arbitrary::tree()) {
        let text = script(&tree, "can0").unwrap_or_else(|unsayable| panic!("{tree:#?}: {unsayable:?}"));
        let parsed = parse(&text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}"));
        prop_assert_eq!(&parsed.tree, &tree, "{}", text);
    }

    #[test]
    fn any_text_keeps_the_invariants(text in "(tc |qdisc |class |filter |add |root |parent 1: |handle 1: |prio 1 |basic match |'canid\\(sff 1\\)' |flowid 1:1 |\n|[ -~]{0,12}){0,40}") {
        invariants::check(text.as_bytes());
    }
}

#[test]
fn the_corpus_keeps_the_invariants() {
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
fn reports_mistakes_in_a_script() {
    let text = example!("mistakes");
    insta::assert_snapshot!(said(&parse_script(text).unwrap_err(), text));
}

#[test]
fn reports_mistakes_in_a_tree() {
    let text = example!("places");
    insta::assert_snapshot!(said(&parse(text).unwrap_err(), text));
}

#[test]
fn notes_surprising_meanings() {
    let text = example!("precedence");
    insta::assert_snapshot!(said(&parse(text).unwrap().notes, text));
}

#[test]
fn prints_a_script() {
    let parsed = parse_script(example!("recipe-gateway")).unwrap();
    let written: Vec<_> = parsed.trees.iter().map(|(interface, tree)| script(tree, interface).unwrap()).collect();
    insta::assert_snapshot!(written.join("\n"));
}
