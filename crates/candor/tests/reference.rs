//! `docs/config.md` and the README against the code.

use candor_core::config::code;
use candor_core::import;

const REFERENCE: &str = include_str!("../../../docs/config.md");
const CANGW: &str = include_str!("../../../docs/cangw.md");
const README: &str = include_str!("../../../README.md");

#[test]
fn every_code_is_explained_and_none_else() {
    assert_eq!(explained(REFERENCE), code::ALL);
    assert_eq!(explained(CANGW), import::code::ALL);
}

/// The codes that have a line in a table.
fn explained(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(word, _)| word)
        .filter(|word| word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].parse::<u16>().is_ok())
        .collect()
}

#[test]
fn the_gateways_in_them_are_valid() {
    for text in [REFERENCE, README] {
        let blocks: Vec<_> = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let loaded = candor_core::config::load(block.as_bytes());
            assert!(loaded.is_ok(), "{block}\n{loaded:#?}");
        }
    }
}
