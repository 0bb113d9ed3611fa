use crate::placement::{KernelAbilities, not_for_kernel};
use crate::testing::{findings, loaded, underlined, with_route};
use candor_core::frame::{Frame, RawId};
use candor_core::rule::Verdict;
use candor_core::ruleset::{Routed, RuleSet};

/// Sends these payloads through a route, by the rule set that gateways run. `None`: not sent.
fn sent(lines: &str, payloads: &[&str]) -> Vec<Option<String>> {
    let plan = loaded(&format!("engine = \"auto\"\n{}", with_route(&format!("match = \"123\"\n{lines}"))));
    let rules = RuleSet::compile(&crate::lower(&plan), plan.buses().len());
    let send = |payload: &&str| {
        let frame: Frame = format!("123#{payload}").parse().unwrap();
        let mut out = None;
        rules.from_bus(plan.routes()[0].from).outcomes(&frame, |_, routed| {
            if let Routed::Send { frame, .. } = routed {
                out = Some(frame.to_string().split('#').nth(1).unwrap().to_owned());
            }
        });
        out
    };
    payloads.iter().map(send).collect()
}

fn texts(sent: &[Option<String>]) -> Vec<&str> {
    sent.iter().map(|one| one.as_deref().unwrap_or("-")).collect()
}

const ZEROS: &str = "0000000000000000";

#[test]
fn golden_vectors_of_the_profiles() {
    let p01 =
        |mode: &str| sent(&format!("protect = {{ e2e = \"P01\", data-id = 0x123, mode = \"{mode}\" }}"), &[ZEROS; 3]);
    let start =
        |sent: Vec<Option<String>>| sent.into_iter().map(|one| one.unwrap()[..4].to_owned()).collect::<Vec<_>>();
    assert_eq!(start(p01("both")), ["CC00", "9101", "7602"]);
    assert_eq!(start(p01("alternating")), ["CE00", "0201", "7402"]);
    assert_eq!(start(p01("nibble")), ["2A10", "7711", "9012"]);
    let ids: Vec<_> = (1..=16).map(|id| id.to_string()).collect();
    let p02 = sent(&format!("protect = {{ e2e = \"P02\", data-id = [{}] }}", ids.join(", ")), &[ZEROS; 2]);
    assert_eq!(start(p02), ["1B01", "9802"]);
}

#[test]
fn a_check_drops_what_is_wrong_and_a_protection_counts_on() {
    let check = "check = { e2e = \"P01\", data-id = 0x123 }";
    let [first, second] = ["CC00000000000000", "9101000000000000"];
    // Right, repeated, damaged, the next one, too short, and far away.
    let all = [first, first, "CD00000000000000", second, "9101", "CC00000000000000"];
    assert_eq!(texts(&sent(check, &all)), [first, "-", "-", second, "-", "-"]);
    assert_eq!(texts(&sent("check = { e2e = \"P01\", data-id = 0x123, on-bad = \"pass\" }", &all)), all);
    // After three bad frames that follow each other, the sender has restarted.
    let restarted = [second, "CC00000000000000", "9101000000000000", "7602000000000000"];
    assert_eq!(texts(&sent("check = { e2e = \"P01\", data-id = 0x123, resync = 0 }", &restarted[..2])), [second, "-"]);
    // A frame that is changed between arrives valid, with the counter of the gateway.
    let both = format!(
        "{check}\nframes = \"classic\"\nset = {{ data = \"0000AA0000000000\" }}\nprotect = {{ e2e = \"P01\", data-id = 0x123 }}"
    );
    let out = sent(&both, &[first, first, second]);
    let out: Vec<_> = out.iter().flatten().map(String::as_str).collect();
    assert_eq!(out.len(), 2);
    assert!(out.iter().all(|payload| &payload[4..6] == "AA"), "{out:?}");
    assert_eq!(texts(&sent(check, &out)), out);
}

#[test]
fn another_payload_is_sent_in_place_of_a_bad_one() {
    let [first, second] = ["CC00000000000000", "9101000000000000"];
    let check = |on_bad: &str| format!("check = {{ e2e = \"P01\", data-id = 0x123, on-bad = \"{on_bad}\" }}");
    let protect = "\nframes = \"classic\"\nset = { len = 8 }\nprotect = { e2e = \"P01\", data-id = 0x123 }";
    let both = check("substitute:0000000000000055") + protect;
    let out = sent(&both, &[first, "CD00000000000000", second, "9101"]);
    let out = texts(&out);
    // The last one is too short.
    assert_eq!((out[0], &out[1][2..], out[2].len(), out[3]), (first, "01000000000055", 16, "-"));
    // What arrives is valid.
    assert_eq!(texts(&sent("check = { e2e = \"P01\", data-id = 0x123 }", &out[..3])), out[..3]);
    let found = |on_bad: &str| {
        let text = format!("engine = \"auto\"\n{}", with_route(&format!("match = \"123\"\n{}", check(on_bad))));
        findings(&text).iter().map(|finding| finding.code.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("substitute:00000000000000"), ["E0427"]);
    // Its checksum is wrong, and nothing writes another one.
    assert_eq!(found("substitute:0000000000000055"), ["E0427"]);
    assert_eq!(found("substitute:CC00000000000000"), [""; 0]);
    assert_eq!(found("replace"), ["E0427"]);
}

#[test]
fn makers_have_schemes_of_their_own() {
    // Sum of the identifier, the length and the other bytes (Toyota); 4 bits of a sum and a counter of 2 bits (Honda).
    let toyota = "protect = { checksum = \"sum\", init = \"6A\", at = 7 }";
    assert_eq!(texts(&sent(toyota, &["00FFF40000FFC500"])), ["00FFF40000FFC521"]);
    let crc = "protect = { crc = { width = 8, polynomial = \"1D\", init = \"FF\", final-xor = \"FF\" }, at = 7, over = \"0..6\" }";
    let named = "protect = { checksum = \"SAE-J1850\", at = 7, over = \"0..6\" }";
    assert_eq!(sent(crc, &["1122334455667700"]), sent(named, &["1122334455667700"]));
    let counted =
        "protect = { checksum = \"xor\", at = 7, counter-at = { start-bit = 48, bits = 4 }, counter-max = 14 }";
    let counters: Vec<_> = sent(counted, &[ZEROS; 17]).into_iter().map(|one| one.unwrap()[12..14].to_owned()).collect();
    assert_eq!((counters[14].as_str(), counters[15].as_str()), ("0E", "00"));
    let follow =
        "protect = { checksum = \"xor\", at = 7, counter-at = { start-bit = 48, bits = 4 }, counter = \"follow\" }";
    assert_eq!(texts(&sent(follow, &["0000000000000500"])), ["0000000000000505"]);
}

/// P02 whose counter is that of the received frame, after a change that keeps the length.
#[test]
fn can_gw_protects_where_it_does_the_same() {
    let ids: Vec<_> = (1..=16).map(|id| id.to_string()).collect();
    let lines = |keys: &str, set: &str| {
        let ids = ids.join(", ");
        format!("frames = \"classic\"\nset = {{ {set} }}\nprotect = {{ e2e = \"P02\", data-id = [{ids}]{keys} }}")
    };
    let in_kernel = |lines: &str| {
        let plan = loaded(&format!("engine = \"auto\"\n{}", with_route(&format!("match = \"123\"\n{lines}"))));
        let route = &plan.routes()[0];
        assert_ne!(route.protected.is_some(), route.checksums.crc8.is_some());
        not_for_kernel(route, KernelAbilities::EVERY).is_none()
    };
    let follow = lines(", counter = \"follow\"", "len = 8");
    assert!(in_kernel(&follow));
    assert!(!in_kernel(&lines("", "len = 8")));
    assert!(!in_kernel(&lines(", counter = \"follow\"", "data = \"FF00000000000000\"")));
    // The same golden vectors.
    let received = ["0001000000000000", "0002000000000000"];
    assert_eq!(texts(&sent(&follow, &received)), ["1B01000000000000", "9802000000000000"]);
}

#[test]
fn jobs_and_rule_sets_agree() {
    let lines =
        "match = \"123\"\ncheck = { e2e = \"P05\", data-id = 0x1234 }\nprotect = { e2e = \"P05\", data-id = 0x4321 }";
    let text = format!("engine = \"auto\"\n{}", with_route(lines));
    let (plan, other) = (loaded(&text), loaded(&text));
    assert_eq!(plan, other);
    let rules = RuleSet::compile(&crate::lower(&plan), 2);
    let job = crate::lower(&other).remove(0);
    for text in ["1CCA000000000000", "CF8D010000000000", "1CCA000000000000", "BA45020000000000", "BA45"] {
        let frame = Frame::classic(
            RawId(0x123),
            &(0..text.len() / 2)
                .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        let mut out = None;
        rules.from_bus(plan.routes()[0].from).outcomes(&frame, |_, routed| {
            if let Routed::Send { frame, .. } = routed {
                out = Some(*frame);
            }
        });
        let (slow, verdict) = job.apply(&frame);
        assert_eq!(out, (verdict == Verdict::Send).then_some(slow), "{text}");
    }
}

#[test]
fn mistakes_are_named() {
    let found = |lines: &str| {
        let text = format!("engine = \"auto\"\n{}", with_route(lines));
        let findings = findings(&text);
        underlined(&text, &findings).into_iter().map(|(code, text)| format!("{code} {text}")).collect::<Vec<_>>()
    };
    let of = |table: &str| found(&format!("match = \"123\"\nprotect = {table}"));
    assert_eq!(of("{ e2e = \"P01\", data-id = 0x123 }"), Vec::<String>::new());
    assert_eq!(of("{ e2e = \"P99\", data-id = 0x123 }"), ["E0427 \"P99\""]);
    assert_eq!(of("{ e2e = \"P01\", data-id = 0x123, resync = 2 }"), ["E0427 2"]);
    let checks = |table: &str| found(&format!("match = \"123\"\ncheck = {table}"));
    assert_eq!(checks("{ e2e = \"P01\", data-id = 0x123, strip = true }"), ["E0427 true"]);
    assert_eq!(checks("{ checksum = \"xor\", at = 7, max-delta = 3 }"), ["E0427 3"]);
    assert_eq!(checks("{ checksum = \"xor\", at = 7, resync = 0 }"), ["E0427 0"]);
    assert_eq!(of("{ e2e = \"P02\", data-id = [1, 2] }"), ["E0427 { e2e = \"P02\", data-id = [1, 2] }"]);
    assert_eq!(of("{ e2e = \"P01\", data-id = 0x123, checksum = \"xor\" }"), ["E0410 \"xor\""]);
    assert_eq!(of("{ at = 7 }"), ["E0427 { at = 7 }"]);
    for key in [
        "at = 7",
        "over = \"0..6\"",
        "counter-max = 7",
        "before = \"01\"",
        "after = \"01\"",
        "init = \"01\"",
        "negated = true",
        "final-xor = \"01\"",
        "counter-at = 5",
    ] {
        let (_, value) = key.split_once(" = ").unwrap();
        assert_eq!(of(&format!("{{ e2e = \"P01\", data-id = 0x123, {key} }}")), [format!("E0427 {value}")]);
    }
    for key in
        ["data-id = 5", "mode = \"low\"", "offset = 1", "counter-max = 7", "negated = true", "final-xor = \"01\""]
    {
        let (_, value) = key.split_once(" = ").unwrap();
        assert_eq!(of(&format!("{{ checksum = \"xor\", at = 7, {key} }}")), [format!("E0427 {value}")]);
    }
    assert_eq!(of("{ checksum = \"SAE-J1850\", at = 7, init = \"01\" }"), ["E0427 \"01\""]);
    assert_eq!(of("{ checksum = \"crc-9\", at = 7 }"), ["E0427 \"crc-9\""]);
    assert_eq!(of("{ checksum = \"CRC-16/CCITT-FALSE\", at = 6 }"), ["E0427 6"]);
    assert_eq!(of("{ checksum = \"xor\" }"), ["E0427 { checksum = \"xor\" }"]);
    assert_eq!(of("{ checksum = \"xor\", at = 8 }"), ["E0427 { checksum = \"xor\", at = 8 }"]);
    assert_eq!(of("{ checksum = \"xor\", at = 7, over = \"x\" }"), ["E0427 \"x\""]);
    assert_eq!(of("{ checksum = \"xor\", at = 7, over = \"7..7\" }"), ["E0427 \"7..7\""]);
    let none = Vec::<String>::new();
    let part = "{ checksum = \"xor-nibbles\", at = { start-bit = 56, bits = 4 }, over = \"7..7\" }";
    assert_eq!(of(part), none);
    // Lengths that no frame of the route can have.
    let check = "check = { e2e = \"P01\", data-id = 1 }";
    let long = "match = \"123\"\ncheck = { e2e = \"P01\", data-id = 1, len = 9 }";
    assert_eq!(found(long), ["E0427 9"]);
    assert_eq!(found(&long.replace('9', "12")), none);
    assert_eq!(found(&format!("frames = \"classic\"\n{}", long.replace('9', "12"))), ["E0427 12"]);
    let converted = "match = \"123\"\nsend-as = \"classic\"\nprotect = { e2e = \"P01\", data-id = 1, len = 12 }";
    assert_eq!(found(converted), ["E0427 12"]);
    assert_eq!(found(&format!("match = \"123\"\nguard = {{ len = [7, 6] }}\n{check}")), ["E0430 7"]);
    assert_eq!(found(&format!("match = \"123\"\nguard = {{ len = [7, 8] }}\n{check}")), none);
    let protect = "frames = \"classic\"\nprotect = { e2e = \"P01\", data-id = 1 }";
    assert_eq!(found(&format!("match = \"123\"\nguard = {{ len = 7 }}\n{protect}")), ["E0430 7"]);
    assert_eq!(found(&format!("match = \"123\"\nset = {{ len = 4 }}\n{protect}")), ["E0427 4"]);
    assert_eq!(found(&format!("match = \"123\"\nguard = {{ len = 7 }}\nset = {{ len = 8 }}\n{protect}")), none);
    let both = found("match = \"123\"\nboth-ways = true\ncheck = { e2e = \"P01\", data-id = 1 }");
    assert_eq!(both, ["E0410 true"]);
    let range = found("match = \"100..1FF\"\nprotect = { e2e = \"P01\", data-id = 1 }");
    assert_eq!(range, ["E0427 { e2e = \"P01\", data-id = 1 }"]);
}
