use candor_core::frame::{CANFD_MTU, Frame};
use candor_core::job::{BusIndex, RealtimeNs};
use candor_core::ruleset::{RuleSet, Visit};

use crate::explain::{Act, trace};
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

/// All identifiers of 29 bits.
const EXTENDED: &str = "00000000..1FFFFFFF";

#[test]
fn source_addresses_belong_to_one_side() {
    let list = "j1939 = [\"claimed\", \"00\", \"20..2F\"]";
    let frames = ["0 18FEF100#", "1 18FEF101#", "2 18FEF11F#", "3 18FEF120#", "4 0CF0042F#", "5 18FEF130#"];
    assert_eq!(passes(EXTENDED, list, &frames), [F, T, T, F, F, T]);
    // Whatever the address, none is claimed or assigned.
    let frames = ["0 18EEFF80#0102030405060708", "1 18EEFFFE#0102030405060708", "2 1CECFF80#20090002FFD8FE00"];
    assert_eq!(passes(EXTENDED, "j1939 = \"claimed\"", &frames), [F, F, F]);
    assert_eq!(passes(EXTENDED, "j1939 = \"80\"", &["0 18EEFF81#0102030405060708", "1 18EAFFFE#00EE00"]), [F, T]);
    let text = with_guard(EXTENDED, "j1939 = [\"claimed\", \"80\"], on-violation = \"drop\"");
    let plan = loaded(&text);
    plan.routes()[0].claimed().unwrap().protect([0x0B].into_iter().collect());
    assert_eq!(sent(&plan, &["0 18FEF10B#", "1 18FEF180#", "2 18FEF10C#"]), [F, F, T]);
    let says = "no source address claimed on b or 80, and no address claim; other frames are dropped";
    assert_eq!(plan.routes()[0].told, [("guard", says.to_owned())]);
    assert_eq!(plan.learns_claims(plan.routes()[0].to), T);
    assert_eq!(plan.learns_claims(plan.routes()[0].from), F);
    assert_eq!(loaded(&with_guard(EXTENDED, "j1939 = \"80\"")).learns_claims(plan.routes()[0].to), F);
    // A reload knows what was claimed.
    let mut next = loaded(&text);
    next.go_on_from(&plan);
    assert_eq!(sent(&next, &["0 18FEF10B#"]), [F]);
}

#[test]
fn an_explanation_does_not_know_what_is_claimed() {
    let act = |list: &str, frame: &str| {
        let plan = loaded(&with_guard(EXTENDED, &format!("j1939 = {list}")));
        trace(&crate::lower(&plan)[0], &frame.parse().unwrap()).steps[0].act
    };
    let list = "[\"claimed\", \"80\"]";
    assert_eq!(act(list, "18FEF10B#"), Act::Claimed);
    assert_eq!(act(list, "18FEF180#"), Act::Check(Some("j1939")));
    assert_eq!(act(list, "18EEFF0B#0102030405060708"), Act::Check(Some("j1939")));
    assert_eq!(act("\"80\"", "18FEF10B#"), Act::Check(None));
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
    assert_eq!(counts(&plan), [("len", 1), ("min-gap", 2)]);
    let mut next = loaded(&with_guard("123", "len = 2, min-gap = \"8ms\""));
    next.go_on_from(&plan);
    assert_eq!(counts(&next), [("len", 1), ("min-gap", 2)]);
    let mut other = loaded(&with_guard("123", "len = 2, min-gap = \"9ms\""));
    other.go_on_from(&plan);
    assert_eq!(counts(&other), [("len", 1)]);
}

#[test]
fn what_is_wrong_is_said() {
    let found_in = |matches: &str, guard: &str| {
        let text = with_guard(matches, guard);
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    let found = |guard: &str| found_in("123", guard);
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
    for wrong in ["FE", "2F..20", "+B", "100", "", "Claimed"] {
        assert_eq!(found_in(EXTENDED, &format!("j1939 = \"{wrong}\"")), [format!("E0430 \"{wrong}\"")]);
    }
    assert_eq!(found_in(EXTENDED, "j1939 = []"), ["E0430 { j1939 = [] }"]);
    assert_eq!(found_in(EXTENDED, "j1939 = 11"), ["E0202 11"]);
    assert_eq!(found_in(EXTENDED, "j1939 = [\"claimed\", \"0G\"]"), ["E0430 \"0G\""]);
    assert_eq!(found("j1939 = \"claimed\""), ["E0430 \"claimed\""]);
    assert_eq!(found("len = 8, alarm = { to = \"nowhere\", frame = \"7F0#01\" }"), ["E0401 \"nowhere\""]);
    assert_eq!(found("len = 8, alarm = { to = \"b\", frame = \"7F0\" }"), ["E0430 \"7F0\""]);
    assert_eq!(found("len = [8, 9]"), ["E0430 9"]);
    let constant = "constant = { mask = \"0000FF\", value = \"000001\" }";
    assert_eq!(found(&format!("len = [8, 2, 3], {constant}")), ["E0430 2"]);
    assert_eq!(found("len = 8, alarm = { to = \"a\", frame = \"123#01\" }"), ["W0520 \"a\""]);
    for other in ["to = \"b\", frame = \"123#01\"", "to = \"a\", frame = \"124#01\""] {
        assert_eq!(found(&format!("len = 8, alarm = {{ {other} }}")), Vec::<String>::new());
    }
}

#[test]
fn a_rate_without_its_unit_is_written_out() {
    let help = |rate: &str| findings(&with_guard("123", &format!("rate = {rate}")))[0].help.clone().unwrap();
    assert_eq!(help("50"), "write rate = \"50 frames/s\"");
    for rate in ["50", "50/s", "50 Hz", "50 fps"] {
        assert_eq!(help(&format!("\"{rate}\"")), "write a rate, such as \"50 frames/s\"");
    }
    for rate in ["20 %", "1.5 frames", "fast"] {
        assert_eq!(help(&format!("\"{rate}\"")), "write a rate, such as \"120 frames/s\"");
    }
}
