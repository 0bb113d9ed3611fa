//! `docs/cli.md`, generated from `--help` of the programs. Each has its part.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");

/// Compares the part of a program with its help; with `CANDOR_BLESS=1`, writes it.
pub(crate) fn check(program: &str, name: &str) {
    let page = fs::read_to_string(PAGE).expect("docs/cli.md can be read");
    let heading = format!("\n## {name}\n");
    let start = page.find(&heading).expect("docs/cli.md has a part for each program") + 1;
    let end = page[start..].find("\n## ").map_or(page.len(), |at| start + at + 1);
    let mut part = String::new();
    describe(program, name, &[], &mut part);
    if std::env::var("CANDOR_BLESS").is_ok_and(|bless| bless == "1") {
        let separator = if end < page.len() { "\n" } else { "" };
        fs::write(PAGE, [&page[..start], &part, separator, &page[end..]].concat()).expect("docs/cli.md can be written");
    } else {
        assert!(
            page[start..end].trim_end() == part.trim_end(),
            "docs/cli.md is stale: run CANDOR_BLESS=1 cargo test reference"
        );
    }
}

/// Appends the help of a command and of those below it.
fn describe(program: &str, name: &str, words: &[String], part: &mut String) {
    // Without a terminal, the lines of help are as long as COLUMNS says.
    let output = Command::new(program).args(words).arg("--help").env_remove("COLUMNS").output().expect("it starts");
    let help = String::from_utf8(output.stdout).expect("help is UTF-8");
    // Every command has these two options last; examples may follow.
    let (text, rest) = help.split_once("\n  -h, --help").unwrap_or((&help, ""));
    let text = text.trim_end().trim_end_matches("Options:").trim_end();
    let after =
        rest.match_indices("\n\n").map(|(at, _)| rest[at..].trim_end()).find(|after| !after[2..].starts_with(' '));
    let after = after.unwrap_or_default();
    let level = if words.is_empty() { "##" } else { "###" };
    let title = [&[name.to_owned()], words].concat().join(" ");
    let separator = if words.is_empty() { "" } else { "\n" };
    write!(part, "{separator}{level} {title}\n\n```text\n{text}{after}\n```\n").expect("a String grows");
    // Commands stand in one list or several, before the options; arguments begin with a bracket.
    let lists = help.lines().skip_while(|line| !line.starts_with("Usage:")).take_while(|line| *line != "Options:");
    let named = lists.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let below = named.map(|(word, _)| word).filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()));
    for command in below.filter(|command| !["help", "lab"].contains(command)) {
        describe(program, name, &[words, &[command.to_owned()]].concat(), part);
    }
}
