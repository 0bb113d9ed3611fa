//! `docs/plans.md` and `docs/cli.md` against the code.

#[path = "../../candor/tests/help_page/mod.rs"]
mod help_page;

use candor_lab::experiment;

const PLANS: &str = include_str!("../../../docs/plans.md");

#[test]
fn every_code_is_explained() {
    let codes = PLANS.lines().filter_map(|line| line.strip_prefix("| `P")?.split_once('`'));
    let codes: Vec<_> = codes.map(|(number, _)| format!("P{number}")).filter(|code| code.len() == 5).collect();
    assert_eq!(codes, experiment::code::ALL);
}

#[test]
fn plans_in_the_documentation_are_valid() {
    let blocks = PLANS.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let (plans, gateways): (Vec<_>, Vec<_>) = blocks.partition(|block| block.contains("[factor]"));
    assert!(plans.len() >= 3, "{} plans", plans.len());
    for block in plans {
        let loaded = experiment::load(block.as_bytes(), experiment::Available::default());
        assert!(loaded.as_ref().is_ok_and(|loaded| loaded.warnings.is_empty()), "{block}\n{loaded:#?}");
    }
    for block in gateways {
        let loaded = candor_config::config::load(block.as_bytes());
        assert!(loaded.is_ok(), "{block}\n{loaded:#?}");
    }
}

#[test]
fn cli_page_matches_the_help() {
    help_page::check(env!("CARGO_BIN_EXE_candor-lab"), "candor-lab");
}
