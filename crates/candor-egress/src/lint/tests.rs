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

fn kernel(major: u32, minor: u32) -> Facts {
    Facts { kernel: Some((major, minor)), ..Facts::default() }
}

const TBF: &str = "qdisc root handle 1: tbf rate 1600bps";
const PRIO: &str = "qdisc root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nqdisc parent 1:1 pfifo limit 1\nqdisc parent 1:2 pfifo limit 1\n";
const SFQ: &str = "qdisc root handle 1: stab mpu 256 sfq limit 16129 depth 127 flows 127\n";
const FLOW: &str = "filter parent 1: prio 1 handle 1 flow hash keys src divisor 1024\n";
const HTB: &str = "qdisc root handle 1: htb default 2\nclass parent 1: classid 1:2 htb rate 1kbit quantum 16\n\
                   class parent 1: classid 1:3 htb rate 1kbit quantum 16\nqdisc parent 1:2 pfifo limit 1\n\
                   qdisc parent 1:3 pfifo limit 1\n";
const DRR: &str =
    "qdisc root handle 1: stab mpu 256 drr\nclass parent 1: classid 1:1 drr\nqdisc parent 1:1 pfifo limit 1\n";

/// A tree with the trap and one that differs in little and lacks it, each with the facts about its interface.
#[test]
fn finds_each_trap_and_accepts_its_remedy() {
    let none = Facts::default;
    let with = |first: &str, second: &str| format!("{first}{second}");
    let filter = |text: &str| format!("{PRIO}filter parent 1: {text}\n");
    let below_tbf = |below: &str| format!("{TBF} burst 16 limit 16\nqdisc parent 1:1 handle 2: {below}\n");
    let police =
        |burst| format!("qdisc clsact\nfilter egress prio 1 matchall action police rate 1600bps burst {burst}\n");
    let sff = "prio 1 basic match 'canid(sff 0:0)' flowid 1:1";
    let eff = "prio 1 basic match 'canid(eff 0:0)' flowid 1:1";
    let canfd = "protocol canfd prio 1 matchall flowid 1:1";
    let both_formats = with(&filter(canfd), "filter parent 1: protocol can prio 2 matchall flowid 1:1\n");
    let both_lengths = with(&filter(eff), "filter parent 1: prio 2 basic match 'canid(sff 0:0)' flowid 1:2\n");
    let same_facts: Vec<(&str, String, String, Facts)> = vec![
        ("W1061", SFQ.to_owned(), with(SFQ, FLOW), none()),
        ("W1062", with(&SFQ.replace("stab mpu 256 ", ""), FLOW), with(SFQ, FLOW), none()),
        (
            "W1063",
            below_tbf("ets bands 2 strict 2"),
            below_tbf("prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
            none(),
        ),
        ("W1064", with(TBF, " burst 16 limit 16\n"), with(TBF, " burst 72 limit 72\n"), fd()),
        ("W1064", police(15), police(16), none()),
        ("W1065", HTB.replace(" default 2", ""), HTB.to_owned(), none()),
        ("W1066", HTB.replacen(" quantum 16", "", 1), HTB.to_owned(), none()),
        ("W1067", DRR.to_owned(), with(DRR, "filter parent 1: prio 1 matchall flowid 1:1\n"), none()),
        (
            "W1068",
            filter("protocol can prio 1 matchall flowid 1:1"),
            filter("protocol all prio 1 matchall flowid 1:1"),
            fd(),
        ),
        ("W1068", filter(canfd), both_formats, fd()),
        ("W1069", filter(sff), filter(&sff.replace("sff 0:0", "sff 0:0 eff 0:0")), none()),
        ("W1069", filter(eff), both_lengths, none()),
        ("W1071", PRIO.replace("qdisc parent 1:2 pfifo limit 1\n", ""), PRIO.to_owned(), none()),
        ("W1071", PRIO.replacen(" limit 1", "", 1), PRIO.to_owned(), none()),
        ("N1081", DRR.to_owned(), PRIO.to_owned(), none()),
        ("N1082", "qdisc root pfifo_head_drop limit 9\n".to_owned(), "qdisc root pfifo limit 9\n".to_owned(), none()),
        ("N1082", with(&SFQ.replace("16129", "500"), FLOW), with(SFQ, FLOW), none()),
        (
            "N1084",
            PRIO.to_owned(),
            PRIO.replace("limit 1\n", "limit 300\n"),
            Facts { socket_frames: Some(279), ..none() },
        ),
    ];
    let same_tree: Vec<(&str, &str, Facts, Facts)> = vec![
        ("W1072", "qdisc root pfifo_fast\n", kernel(5, 4), kernel(5, 10)),
        ("N1083", PRIO, driver(10), driver(1)),
        ("N1085", PRIO, Facts { restarts: Some(false), ..none() }, Facts { restarts: Some(true), ..none() }),
    ];
    let mut tested = Vec::new();
    let mut check = |code, trap: (&str, &Facts), remedy: (&str, &Facts)| {
        assert!(codes(trap.0, trap.1).contains(&code), "{code} is not in {:?} of {}", codes(trap.0, trap.1), trap.0);
        assert!(!codes(remedy.0, remedy.1).contains(&code), "{code} is in {}", remedy.0);
        tested.push(code);
    };
    same_facts.iter().for_each(|(code, trap, remedy, facts)| check(*code, (trap, facts), (remedy, facts)));
    same_tree.iter().for_each(|(code, tree, trap, remedy)| check(*code, (tree, trap), (tree, remedy)));
    let untested = code::ALL.iter().filter(|code| !tested.contains(code));
    // No text can say it.
    assert_eq!(untested.collect::<Vec<_>>(), [&"W1070"]);
}

#[test]
fn accepts_a_format_that_is_left_out_on_purpose() {
    let filter = |rules: &str| format!("{PRIO}filter parent 1: prio 1 basic match 'canid({rules})' flowid 1:1\n");
    assert_eq!(codes(&filter("sff 0:0 eff 0x123"), &Facts::default()), [""; 0]);
    let is_compiled = Facts { is_compiled: true, ..Facts::default() };
    assert_eq!(codes(&filter("sff 0:0"), &is_compiled), [""; 0]);
}

#[test]
fn finds_a_size_table_below_the_root() {
    let mut tree = text::parse(PRIO).unwrap().tree;
    assert_eq!(lint(&tree, &Facts::default()), []);
    tree.qdiscs[1].stab = Some(SizeTable::default());
    let subject = LintSubject::Qdisc(tree.qdiscs[1].handle);
    assert_eq!(lint(&tree, &Facts::default()), [Finding { trap: Trap::InnerTable, subject }]);
}

#[test]
fn reports_driver_frames_as_time() {
    let tree = text::parse(PRIO).unwrap().tree;
    let found = lint(&tree, &driver(10));
    // Ten frames of 160 bits at 2 us each.
    assert_eq!(found, [Finding { trap: Trap::DeepDriver { frames: 10, us: 3200 }, subject: LintSubject::Tree }]);
}

#[test]
fn every_trap_has_a_remedy() {
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

/// A policy drops silently only if it says so.
fn asks_for_silence(policy: &Policy) -> bool {
    policy.bands().iter().any(|band| band.queue.full() == Full::DropOldest)
}

proptest! {
    #[test]
    fn compiled_policies_have_no_traps(policy in compile::tests::policy(), has_fd: bool) {
        let facts = Facts { has_fd: Some(has_fd), queue_frames: Some(10), is_compiled: true, ..driver(1) };
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
