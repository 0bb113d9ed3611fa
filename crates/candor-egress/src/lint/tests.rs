use proptest::prelude::*;

use super::*;
use crate::discipline::SizeTable;
use crate::policy::{Full, Policy};
use crate::{compile, text};
use candor_core::units::BitRate;

fn codes(text: &str, facts: &Facts) -> Vec<&'static str> {
    let tree = text::parse(text).unwrap_or_else(|found| panic!("{text}: {found:#?}")).tree;
    lint(&tree, facts).iter().map(Finding::code).collect()
}

fn fd() -> Facts {
    Facts { has_fd: Some(true), ..Facts::default() }
}

fn driver(frames: u32) -> Facts {
    let bitrate = BitRate::from_bits_per_second(500_000);
    Facts { bitrate, driver_frames: Some(frames), ..Facts::default() }
}

const PRIO: &str = "qdisc root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nqdisc parent 1:1 pfifo limit 1\nqdisc parent 1:2 pfifo limit 1\n";
const SFQ: &str = "qdisc root handle 1: stab mpu 256 sfq limit 16129 depth 127 flows 127\n";
const FLOW: &str = "filter parent 1: prio 1 handle 1 flow hash keys src divisor 1024\n";
const HTB: &str = "qdisc root handle 1: htb default 2\nclass parent 1: classid 1:2 htb rate 1kbit quantum 16\n\
                   class parent 1: classid 1:3 htb rate 1kbit quantum 16\nqdisc parent 1:2 pfifo limit 1\n\
                   qdisc parent 1:3 pfifo limit 1\n";
const DRR: &str =
    "qdisc root handle 1: stab mpu 256 drr\nclass parent 1: classid 1:1 drr\nqdisc parent 1:1 pfifo limit 1\n";

/// A tree that has the trap, one that differs in little and has it not, and what is known of both.
#[test]
fn each_trap_is_found_and_its_remedy_is_one() {
    let none = Facts::default;
    let with = |first: &str, second: &str| format!("{first}{second}");
    let cases: Vec<(&str, String, String, Facts, Facts)> = vec![
        ("W1061", SFQ.to_owned(), with(SFQ, FLOW), none(), none()),
        ("W1062", with(&SFQ.replace("stab mpu 256 ", ""), FLOW), with(SFQ, FLOW), none(), none()),
        (
            "W1063",
            "qdisc root handle 1: tbf rate 1600bps burst 16 limit 16\nqdisc parent 1:1 handle 2: ets bands 2 strict 2\n".to_owned(),
            "qdisc root handle 1: tbf rate 1600bps burst 16 limit 16\nqdisc parent 1:1 handle 2: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n".to_owned(),
            none(),
            none(),
        ),
        (
            "W1064",
            "qdisc root tbf rate 1600bps burst 16 limit 16\n".to_owned(),
            "qdisc root tbf rate 1600bps burst 72 limit 72\n".to_owned(),
            fd(),
            fd(),
        ),
        (
            "W1064",
            "qdisc clsact\nfilter egress prio 1 matchall action police rate 1600bps burst 15\n".to_owned(),
            "qdisc clsact\nfilter egress prio 1 matchall action police rate 1600bps burst 16\n".to_owned(),
            none(),
            none(),
        ),
        ("W1065", HTB.replace(" default 2", ""), HTB.to_owned(), none(), none()),
        ("W1066", HTB.replacen(" quantum 16", "", 1), HTB.to_owned(), none(), none()),
        ("W1067", DRR.to_owned(), with(DRR, "filter parent 1: prio 1 matchall flowid 1:1\n"), none(), none()),
        (
            "W1068",
            with(PRIO, "filter parent 1: protocol can prio 1 matchall flowid 1:1\n"),
            with(PRIO, "filter parent 1: protocol all prio 1 matchall flowid 1:1\n"),
            fd(),
            fd(),
        ),
        (
            "W1068",
            with(PRIO, "filter parent 1: protocol canfd prio 1 matchall flowid 1:1\n"),
            with(
                PRIO,
                "filter parent 1: protocol canfd prio 1 matchall flowid 1:1\nfilter parent 1: protocol can prio 2 matchall \
                 flowid 1:1\n",
            ),
            fd(),
            fd(),
        ),
        (
            "W1069",
            with(PRIO, "filter parent 1: prio 1 basic match 'canid(sff 0:0)' flowid 1:1\n"),
            with(PRIO, "filter parent 1: prio 1 basic match 'canid(sff 0:0 eff 0:0)' flowid 1:1\n"),
            none(),
            none(),
        ),
        (
            "W1069",
            with(PRIO, "filter parent 1: prio 1 basic match 'canid(eff 0:0)' flowid 1:1\n"),
            with(
                PRIO,
                "filter parent 1: prio 1 basic match 'canid(eff 0:0)' flowid 1:1\nfilter parent 1: prio 2 basic match \
                 'canid(sff 0:0)' flowid 1:2\n",
            ),
            none(),
            none(),
        ),
        ("W1071", PRIO.replace("qdisc parent 1:2 pfifo limit 1\n", ""), PRIO.to_owned(), none(), none()),
        ("W1071", PRIO.replacen(" limit 1", "", 1), PRIO.to_owned(), none(), none()),
        (
            "W1072",
            "qdisc root pfifo_fast\n".to_owned(),
            "qdisc root pfifo_fast\n".to_owned(),
            Facts { kernel: Some((5, 4)), ..none() },
            Facts { kernel: Some((5, 10)), ..none() },
        ),
        ("N1081", DRR.to_owned(), PRIO.to_owned(), none(), none()),
        ("N1082", "qdisc root pfifo_head_drop limit 9\n".to_owned(), "qdisc root pfifo limit 9\n".to_owned(), none(), none()),
        ("N1082", with(&SFQ.replace("16129", "500"), FLOW), with(SFQ, FLOW), none(), none()),
        ("N1083", PRIO.to_owned(), PRIO.to_owned(), driver(10), driver(1)),
        (
            "N1084",
            PRIO.to_owned(),
            PRIO.replace("limit 1\n", "limit 300\n"),
            Facts { socket_frames: Some(279), ..none() },
            Facts { socket_frames: Some(279), ..none() },
        ),
        (
            "N1085",
            PRIO.to_owned(),
            PRIO.to_owned(),
            Facts { restarts: Some(false), ..none() },
            Facts { restarts: Some(true), ..none() },
        ),
    ];
    for (code, trap, remedy, facts, other) in &cases {
        assert!(codes(trap, facts).contains(code), "{code} is not in {:?} of {trap}", codes(trap, facts));
        assert!(!codes(remedy, other).contains(code), "{code} is in {remedy}");
    }
    let tested: Vec<_> = cases.iter().map(|(code, ..)| *code).collect();
    let untested = code::ALL.iter().filter(|code| !tested.contains(code));
    // No text can say it.
    assert_eq!(untested.collect::<Vec<_>>(), [&"W1070"]);
}

#[test]
fn a_table_below_the_root_is_found() {
    let mut tree = text::parse(PRIO).unwrap().tree;
    assert_eq!(lint(&tree, &Facts::default()), []);
    tree.qdiscs[1].stab = Some(SizeTable::default());
    let place = Place::Qdisc(tree.qdiscs[1].handle);
    assert_eq!(lint(&tree, &Facts::default()), [Finding { trap: Trap::InnerTable, place }]);
}

#[test]
fn what_waits_in_the_driver_is_told_in_time() {
    let tree = text::parse(PRIO).unwrap().tree;
    let found = lint(&tree, &driver(10));
    // Ten frames of 160 bits at 2 us each.
    assert_eq!(found, [Finding { trap: Trap::DeepDriver { frames: 10, us: 3200 }, place: Place::Tree }]);
}

#[test]
fn every_trap_says_what_to_do() {
    let texts = [SFQ, HTB, DRR, PRIO];
    for text in texts {
        let facts = Facts { socket_frames: Some(279), queue_frames: Some(10), ..driver(10) };
        for finding in lint(&text::parse(text).unwrap().tree, &facts) {
            assert!(code::ALL.contains(&finding.code()));
            assert!(!finding.trap.help().is_empty() && !finding.trap.to_string().ends_with('.'));
            let is_note = finding.code().starts_with('N');
            assert_eq!(is_note, finding.severity() == Severity::Note);
        }
    }
}

/// A policy drops without a word where it was told to, and nothing else.
fn asks_for_silence(policy: &Policy) -> bool {
    policy.bands().iter().any(|band| band.queue.full() == Full::DropOldest)
}

proptest! {
    #[test]
    fn no_policy_becomes_a_tree_with_a_trap(policy in compile::tests::policy(), has_fd: bool) {
        let facts = Facts { has_fd: Some(has_fd), queue_frames: Some(10), ..driver(1) };
        let found = lint(&compile::tree(&policy), &facts);
        let (silent, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|finding| matches!(finding.trap, Trap::Silent { .. }));
        prop_assert_eq!(others, []);
        prop_assert_eq!(!silent.is_empty(), asks_for_silence(&policy));
    }

    #[test]
    fn any_tree_can_be_linted(tree in crate::arbitrary::tree()) {
        for finding in lint(&tree, &Facts { socket_frames: Some(279), ..driver(10) }) {
            prop_assert!(code::ALL.contains(&finding.code()));
        }
    }
}
