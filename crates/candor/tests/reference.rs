//! The reference pages agree with the code.

mod candor;
mod help_page;

use std::path::Path;
use std::{fs, io};

use candor::candor;
use candor_config::config::code;
use candor_config::import;

const REFERENCE: &str = include_str!("../../../docs/config.md");
const CANGW: &str = include_str!("../../../docs/cangw.md");
const EGRESS: &str = include_str!("../../../docs/egress.md");
const FINDINGS: &str = include_str!("../../../docs/findings.md");

#[test]
fn tables_list_exactly_the_codes() {
    assert_eq!(explained(REFERENCE), code::ALL);
    assert_eq!(explained(CANGW), import::code::ALL);
    assert_eq!(explained(EGRESS), [candor_egress::text::code::ALL, candor_egress::lint::code::ALL].concat());
}

/// The codes that have a line in a table.
fn explained(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(word, _)| word)
        .filter(|word| word.len() == 5 && word.starts_with(['E', 'W', 'N', 'P']) && word[1..].parse::<u16>().is_ok())
        .collect()
}

#[test]
fn every_code_has_its_section() {
    let sections: Vec<_> = FINDINGS.split("\n## ").skip(1).filter_map(|section| section.split_once(": ")).collect();
    let codes: Vec<_> = sections.iter().map(|(code, _)| *code).collect();
    let egress = [candor_egress::text::code::ALL, candor_egress::lint::code::ALL].concat();
    assert_eq!(codes, [code::ALL, import::code::ALL, &egress].concat());
    for (code, text) in sections {
        let (heading, text) = text.split_once("\n\n").unwrap();
        assert!(!heading.is_empty() && !heading.ends_with('.') && text.trim().len() > 60, "{code}: {heading}");
        let run = candor(".", &["check", "--explain", code]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{code}");
        assert_eq!(run.stdout, format!("{code}: {heading}\n\n{}\n", text.trim()));
    }
}

#[test]
fn gateways_of_the_reference_are_valid() {
    let blocks = REFERENCE.split("```toml\n").skip(1);
    let blocks: Vec<_> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 2, "{} gateways", blocks.len());
    for block in blocks {
        let loaded = candor_config::config::load(block.as_bytes());
        assert!(loaded.is_ok(), "{block}\n{loaded:#?}");
    }
}

/// Of tables without a key table in docs/config.md; tests/keys.rs generates the others.
#[test]
fn keys_of_inline_tables_are_explained() {
    let route = |line: &str| format!("[[route]]\n{line}\n");
    let places = [
        ("Selections", "[[egress.a.band]]\nj1939 = { other = 1 }\n".to_owned()),
        ("Filters", route("match = { other = 1 }")),
        ("Payloads", route("mux = { other = 1 }")),
        ("Checksums", route("checksum-xor = { other = 1 }")),
        ("Checksums", route("checksum-crc8 = { profile = { other = 1 } }")),
    ];
    for (heading, text) in places {
        let section = REFERENCE.split("\n## ").flat_map(|part| part.split("\n### "));
        let section = section.into_iter().find(|part| part.lines().next() == Some(heading)).unwrap();
        let findings = candor_config::config::load(text.as_bytes()).unwrap_err();
        let known: Vec<_> = findings
            .iter()
            .filter(|finding| finding.code == code::UNKNOWN_KEY)
            .filter_map(|finding| finding.help.as_deref()?.strip_prefix("known keys are "))
            .flat_map(|keys| keys.split(", "))
            .collect();
        assert!(known.len() > 1, "{text}: {findings:#?}");
        for key in known {
            let ways = [format!("`{key}`"), format!("`{key}."), format!(" {key} = ")];
            assert!(ways.iter().any(|way| section.contains(way)), "docs/config.md: {key} is not under {heading}");
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
        ["show", "--json", "../../../examples/12-realtime.toml"],
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

#[test]
fn command_page_is_that_of_the_help() {
    help_page::check(env!("CARGO_BIN_EXE_candor"), "candor");
}

/// Every claim has a verdict, and the tests that it names exist.
#[test]
fn claims_of_the_report_have_tests() {
    const CLAIMS: &str = include_str!("../../../docs/egress-claims.md");
    let tests = tests_below(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
    let rows: Vec<Vec<_>> = CLAIMS
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split('|').map(str::trim).collect())
        .filter(|cells: &Vec<_>| cells[0] != "section")
        .collect();
    assert!(rows.len() > 30, "{rows:#?}");
    for row in rows {
        let [_section, _claim, verdict, _today, named] = row[..] else { panic!("{row:?}") };
        assert!(["corrected", "holds", "no longer true"].contains(&verdict), "{row:?}");
        let named: Vec<_> = named.split(", ").map(|name| name.trim_matches('`')).collect();
        for name in named {
            assert!(tests.iter().any(|test| test == name), "no test {name}: {row:?}");
        }
    }
}

fn tests_below(folder: &Path) -> io::Result<Vec<String>> {
    let mut tests = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            tests.extend(tests_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path)?;
            let marked = source.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
            tests.extend(marked.map(|(name, _)| name.to_owned()));
        }
    }
    Ok(tests)
}
