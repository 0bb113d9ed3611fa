use std::collections::BTreeSet;

use super::*;
use crate::arch::Arch;
use candor_core::diagnostic::Severity;

mod bench;
mod replay;
mod stamps;

const PLAN: &str = include_str!("tests/full.toml");

fn plan(text: &str) -> Plan {
    match load(text.as_bytes(), Available::default()) {
        Ok(loaded) => {
            assert_eq!(loaded.warnings, []);
            loaded.plan
        }
        Err(findings) => panic!("{findings:#?}"),
    }
}

/// Codes, and the text at their places.
fn findings(text: &str) -> Vec<(&'static str, String)> {
    let kernels = ["debian-6.1".to_owned(), "backports-6.12".to_owned()];
    let findings = match load(text.as_bytes(), Available { kernels: Some(&kernels), logs: None }) {
        Ok(loaded) => loaded.warnings,
        Err(findings) => findings,
    };
    findings.into_iter().map(|finding| (finding.code, text[finding.primary.span].to_owned())).collect()
}

#[test]
fn levels_are_combined_excluded_and_included() {
    let plan = plan(PLAN);
    // 2 topologies x 3 of the 4 pairs of shift and traffic x (4 gateways with all, 2 with many), and 2 more.
    assert_eq!(plan.cells().len(), 2 * 3 * (4 + 2) + 2);
    let included: Vec<_> = plan.cells().iter().filter(|cell| cell.load != load::Load::None).collect();
    assert_eq!(included.len(), 2);
    assert!(included.iter().all(|cell| cell.conditions.topology == Topology::Vcan && cell.conditions.shift == 0));
    assert_eq!(
        included[1].to_string(),
        "testbed=icount arch=default kernel=default module=default topology=vcan shift=0 gateway=kernel rules=all traffic=\"one at a time\" \
         load=\"ethernet 1400\" frame=123#0000112233445566"
    );
}

#[test]
fn missing_keys_have_defaults() {
    let plan = plan("[factor]\ngateway = \"kernel\"\n");
    assert_eq!((plan.cells().len(), plan.frames, plan.warm_up, plan.seed), (1, 10_000, 500, 1));
    assert_eq!(plan.gateway(&plan.cells()[0]), &Gateway::Candor(Engine::Kernel));
}

#[test]
fn every_cell_is_in_one_block_of_its_place() {
    let plan = plan(PLAN);
    let blocks = plan.blocks();
    let names: Vec<_> = blocks.iter().flat_map(|block| &block.cells).map(|cell| cell.name(&plan)).collect();
    assert_eq!(names.len(), plan.cells().len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "two cells have one name");
    for block in &blocks {
        assert!((1..=5).contains(&block.cells.len()));
        assert!(block.cells.iter().all(|cell| cell.conditions == *block.conditions));
    }
    assert_eq!(blocks, plan.blocks());
    let other = Plan { seed: 8, ..plan.clone() };
    assert_ne!(other.blocks()[0].name, blocks[0].name);
}

#[test]
fn repeats_are_separate_cells() {
    let plan = plan("repeats = 3\n[factor]\ngateway = [\"kernel\", \"read-write\"]\n");
    assert_eq!(plan.cells().iter().map(|cell| cell.repeat).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3]);
    assert!(plan.cells()[1].to_string().ends_with(" repeat=2"));
    assert_ne!(plan.cells()[0].name(&plan), plan.cells()[1].name(&plan));
}

#[test]
fn cell_name_depends_on_the_gateway() {
    let text = |command: &str| format!("[factor]\ngateway = [\"x\"]\n[gateway.x]\ncommand = [\"{command}\"]\n");
    let (one, other) = (plan(&text("a")), plan(&text("b")));
    assert_ne!(one.cells()[0].name(&one), other.cells()[0].name(&other));
    assert_eq!(one.cells()[0].name(&one), plan(&text("a")).cells()[0].name(&one));
}

/// Results of older plans remain valid.
#[test]
fn arch_is_part_of_a_cell_name_only_if_it_is_set() {
    let text = "[factor]\ngateway = \"kernel\"\n";
    let (one, two) = (plan(text), plan(&format!("{text}arch = [\"default\", \"arm64\"]\n")));
    let [here, there] = two.cells() else { panic!("{:?}", two.cells()) };
    assert_eq!((here.conditions.arch, there.conditions.arch), (None, Some(Arch::Arm64)));
    assert_eq!(one.cells()[0].name(&one), "f624423e573e8586");
    assert_eq!(here.name(&two), "f624423e573e8586");
    assert_ne!(there.name(&two), "f624423e573e8586");
}

#[test]
fn mistakes_are_found_at_their_places() {
    let gateway = "[factor]\ngateway = [\"kernel\"]";
    // Code and place of the only finding, and the lines of the plan: `@` is a plan with a gateway, no place any place.
    for case in include_str!("tests/mistakes.txt").lines() {
        let [code, place, plan] = case.split(" | ").collect::<Vec<_>>()[..] else { panic!("{case}") };
        let found = findings(&(plan.replace('@', gateway).replace("; ", "\n") + "\n"));
        assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [code], "{case}\n{found:?}");
        assert!(["", found[0].1.as_str()].contains(&place), "{case}\n{found:?}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let found = findings("frames = 0\nseed = -1\n[factor]\ngateway = [\"x\"]\nload = \"y\"\n");
    let codes: Vec<_> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [code::RANGE, code::RANGE, code::UNDEFINED, code::LEVEL]);
}

#[test]
fn findings_have_a_remedy() {
    let text = "[factor]\ngateway = [\"kernal\"]\ntraffic = \"often\"\n";
    let Err(findings) = load(text.as_bytes(), Available::default()) else { panic!("the plan is valid") };
    for finding in findings {
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.help.is_some(), "{finding:?}");
    }
}

proptest::proptest! {
    /// Any input: no panic, and mistakes lie within the text.
    #[test]
    fn malformed_plans_are_refused_with_a_place(cut in 0..PLAN.len(), end in 0..PLAN.len(), more in "[a-z0-9=\\[\\]\"'\\n .%-]{0,12}") {
        let mut text = PLAN.as_bytes()[..cut].to_vec();
        text.extend(more.bytes());
        text.extend(&PLAN.as_bytes()[end..]);
        match load(&text, Available::default()) {
            Ok(loaded) => proptest::prop_assert!(!loaded.plan.cells().is_empty()),
            Err(findings) => {
                proptest::prop_assert!(!findings.is_empty());
                for finding in findings {
                    proptest::prop_assert!(finding.primary.span.end <= text.len());
                }
            }
        }
    }
}
