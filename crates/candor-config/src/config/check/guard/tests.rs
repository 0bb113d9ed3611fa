use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::job::{BusIndex, RealtimeNs};
use candor_core::ruleset::{RuleSet, Visit};

use crate::plan::Plan;
use crate::testing::{findings, loaded, underlined, with_route};

fn with_guard(matches: &str, guard: &str) -> String {
    format!("engine = \"auto\"\n{}", with_route(&format!("match = \"{matches}\"\nguard = {{ {guard} }}")))
}

/// What becomes of one frame.
#[derive(Default)]
struct Fate {
    at_ms: i64,
    is_sent: bool,
}

impl Visit for Fate {
    fn at(&self) -> RealtimeNs {
        RealtimeNs(1_700_000_000_000_000_000 + self.at_ms * 1_000_000)
    }

    fn pass(&mut self, _job: usize, _to: BusIndex, _bytes: &[u8]) {
        self.is_sent = true;
    }

    fn send(&mut self, _job: usize, _to: BusIndex, _bytes: &[u8]) {
        self.is_sent = true;
    }

    fn delete(&mut self, _job: usize) {}
}

/// Which frames a route sends, by time in milliseconds: `10 123#11`.
fn sent(plan: &Plan, frames: &[&str]) -> Vec<bool> {
    let rules = RuleSet::compile(&crate::lower(plan), plan.buses().len());
    let of = |line: &&str| {
        let (at_ms, frame) = line.split_once(' ').unwrap();
        let frame: Frame = frame.parse().unwrap();
        let mut bytes = [0; CANFD_MTU];
        let len = frame.to_kernel(&mut bytes);
        let mut fate = Fate { at_ms: at_ms.parse().unwrap(), is_sent: false };
        rules.from_bus(plan.routes()[0].from).route(&bytes[..len], &mut fate);
        fate.is_sent
    };
    frames.iter().map(of).collect()
}

fn passes(matches: &str, guard: &str, frames: &[&str]) -> Vec<bool> {
    sent(&loaded(&with_guard(matches, &format!("{guard}, on-violation = \"drop\""))), frames)
}

const T: bool = true;
const F: bool = false;

#[test]
fn frames_by_themselves() {
    assert_eq!(passes("123", "len = [2, 4]", &["0 123#1122", "1 123#11", "2 123#11223344"]), [T, F, T]);
    let constant = "constant = { mask = \"F001\", value = \"1001\" }";
    assert_eq!(passes("123", constant, &["0 123#1F01", "1 123#1F00", "2 123#10", "3 123#1003AA"]), [T, F, F, T]);
    assert_eq!(passes("123", constant, &["0 123#1F01000000000000", "1 123#2F01000000000000"]), [T, F]);
}

#[test]
fn frames_over_time() {
    let rate = "rate = \"100 frames/s\", burst = 2";
    assert_eq!(passes("123", rate, &["0 123#", "1 123#", "2 123#", "10 123#", "11 123#"]), [T, T, F, T, F]);
    // A gap counts from the last frame that passed.
    let gap = "min-gap = \"8ms\"";
    assert_eq!(passes("123", gap, &["0 123#", "7 123#", "8 123#", "15 123#", "16 123#"]), [T, F, T, F, T]);
    // 131 bits of the largest classic frame, twice, are 2.62 ms at 100 kbit/s.
    let bits = "bit-rate = \"100kbit/s\", burst = 2";
    let frames = ["0 123#1122334455667788", "0 123#1122334455667788", "0 123#1122334455667788", "1 123#11"];
    assert_eq!(
        sent(&loaded(&with_guard("123", bits).replace("match", "frames = \"classic\"\nmatch")), &frames),
        [T; 4]
    );
    let drop =
        with_guard("123", &format!("{bits}, on-violation = \"drop\"")).replace("match", "frames = \"classic\"\nmatch");
    assert_eq!(sent(&loaded(&drop), &frames), [T, T, F, T]);
}

#[test]
fn each_identifier_has_its_own_limits() {
    let frames = ["0 100#", "1 101#", "2 100#", "3 18FF0001#", "4 18FF0002#", "5 18FF0001#"];
    let list = "[\"100..101\", \"18FF0000..18FF00FF\"]";
    let text = |guard: &str| {
        let guard = format!("min-gap = \"8ms\", on-violation = \"drop\"{guard}");
        with_guard("X", &guard).replace("\"X\"", list)
    };
    assert_eq!(sent(&loaded(&text("")), &frames), [T, T, F, T, T, F]);
    assert_eq!(sent(&loaded(&text(", per = \"route\"")), &frames), [T, F, F, F, F, F]);
}

#[test]
fn a_bad_frame_takes_nothing_from_good_ones() {
    let guard = "len = 8, rate = \"10 frames/s\", burst = 2, on-violation = \"drop\"";
    let check = "check = { e2e = \"P01\", data-id = 0x123 }";
    let text = format!(
        "engine = \"auto\"\n{}",
        with_route(&format!("match = \"123\"\nframes = \"classic\"\nguard = {{ {guard} }}\n{check}"))
    );
    let flood: Vec<String> = (0..1000).map(|_| "1 123#0000000000000000".to_owned()).collect();
    let mut frames: Vec<&str> = flood.iter().map(String::as_str).collect();
    frames.extend(["2 123#CC00000000000000", "3 123#9101000000000000", "4 123#7602000000000000"]);
    let sent = sent(&loaded(&text), &frames);
    assert_eq!(sent[..1000], [F; 1000]);
    assert_eq!(sent[1000..], [T, T, F]);
}

#[test]
fn violations_are_counted_and_a_reload_goes_on() {
    let plan = loaded(&with_guard("123", "len = 2, min-gap = \"8ms\""));
    assert_eq!(sent(&plan, &["0 123#11", "1 123#1122", "2 123#1122"]), [T; 3]);
    let counts = |plan: &Plan| {
        let all = plan.routes()[0].violations().into_iter().filter(|(_, frames)| *frames > 0);
        all.map(|(rule, frames)| (rule.name(), frames)).collect::<Vec<_>>()
    };
    // The short frame passed, so the gap of the next one is too short.
    assert_eq!(counts(&plan), [("length", 1), ("min-gap", 2)]);
    let mut next = loaded(&with_guard("123", "len = 2, min-gap = \"8ms\""));
    next.go_on_from(&plan);
    assert_eq!(counts(&next), [("length", 1), ("min-gap", 2)]);
    let mut other = loaded(&with_guard("123", "len = 2, min-gap = \"9ms\""));
    other.go_on_from(&plan);
    assert_eq!(counts(&other), [("length", 1)]);
}

#[test]
fn what_is_wrong_is_said() {
    let found = |guard: &str| {
        let text = with_guard("123", guard);
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(found("on-violation = \"drop\""), ["E0430 { on-violation = \"drop\" }"]);
    assert_eq!(found("rate = \"20 %\""), ["E0317 \"20 %\""]);
    assert_eq!(found("rate = \"120\""), ["E0317 \"120\""]);
    assert_eq!(found("burst = 3, len = 1"), ["E0430 3"]);
    assert_eq!(found("burst = 1, rate = \"1 frames/s\""), ["E0308 1"]);
    assert_eq!(found("constant = { mask = \"F0\", value = \"1000\" }"), ["E0430 \"1000\""]);
    assert_eq!(found("constant = { mask = \"F0\", value = \"11\" }"), ["E0430 \"11\""]);
    assert_eq!(found("constant = { mask = \"00\", value = \"00\" }"), ["E0430 \"00\""]);
    assert_eq!(found("len = 8, on-violation = \"pass\""), ["E0430 \"pass\""]);
    assert_eq!(found("values = \"ABS1.VehSpd < 250\""), ["E0430 ABS1.VehSpd < 250"]);
    assert_eq!(found("len = 8, alarm = { to = \"nowhere\", frame = \"7F0#01\" }"), ["E0401 \"nowhere\""]);
    assert_eq!(found("len = 8, alarm = { to = \"b\", frame = \"7F0\" }"), ["E0430 \"7F0\""]);
}
