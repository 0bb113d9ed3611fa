//! `docs/config.md` and the README against the code.

mod candor;

use candor::candor;
use candor_core::config::code;
use candor_core::import;

const REFERENCE: &str = include_str!("../../../docs/config.md");
const CANGW: &str = include_str!("../../../docs/cangw.md");
const FINDINGS: &str = include_str!("../../../docs/findings.md");
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
        .filter(|word| word.len() == 5 && word.starts_with(['E', 'W', 'N']) && word[1..].parse::<u16>().is_ok())
        .collect()
}

#[test]
fn every_code_has_a_section_of_its_own() {
    let sections: Vec<_> = FINDINGS.split("\n## ").skip(1).filter_map(|section| section.split_once(": ")).collect();
    let codes: Vec<_> = sections.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [code::ALL, import::code::ALL].concat());
    for (code, text) in sections {
        let (heading, text) = text.split_once("\n\n").unwrap();
        assert!(!heading.is_empty() && !heading.ends_with('.') && text.trim().len() > 60, "{code}: {heading}");
        let run = candor(".", &["check", "--explain", code]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{code}");
        assert_eq!(run.stdout, format!("{code}: {heading}\n\n{}\n", text.trim()));
    }
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

/// Keys of `--json` against docs/json.md.
#[test]
fn every_key_is_explained() {
    const JSON: &str = include_str!("../../../docs/json.md");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for arguments in [
        ["show", "--json", "show/split.toml"],
        ["show", "--json", "../../../examples/04-checksum.toml"],
        ["check", "--json", "findings/five-mistakes.toml"],
        ["check", "--json", "../../../examples/01-forward.toml"],
    ] {
        let printed = candor(folder, &arguments).stdout;
        let mut keys = Vec::new();
        collect_keys(&serde_json::from_str(&printed).unwrap(), &mut keys);
        assert!(keys.len() > 5, "{arguments:?}: {printed}");
        for key in keys {
            assert!(JSON.contains(&format!("`{key}`")), "docs/json.md does not explain {key} of {arguments:?}");
        }
    }
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                keys.push(key.clone());
                collect_keys(value, keys);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
        _ => {}
    }
}
