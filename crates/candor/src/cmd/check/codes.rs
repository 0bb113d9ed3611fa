//! `--explain`: the section of a code in `docs/findings.md`.

const EXPLANATIONS: &str = include_str!("../../../../../docs/findings.md");

pub(super) fn explanation(code: &str) -> String {
    let section = EXPLANATIONS.split("\n## ").find(|section| section.starts_with(code));
    // A test in `tests/reference.rs` goes through all codes.
    let section = section.unwrap_or(code);
    let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
    format!("{heading}\n\n{}\n", text.trim())
}
