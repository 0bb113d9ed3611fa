//! The links of the documentation, and the sources in API documentation.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::step;

/// Directories whose files the documentation may name as code, `like/this.rs`.
const NAMED: [&str; 8] = ["crates/", "docs/", "examples/", "fuzz/", "packaging/", "results/", "site/", "xtask/"];

/// Pages about the past, whose names of files need not exist today.
const HISTORY: [&str; 2] = ["CHANGELOG.md", "docs/adr/"];

/// Checks relative links, `#anchors`, names of files, and that the book contains every page of `docs`.
pub(crate) fn check_links() -> anyhow::Result<()> {
    let root = step::root();
    let listed =
        step::output(Command::new("git").args(["ls-files", "-co", "--exclude-standard", "*.md"]).current_dir(&root))?;
    let pages: Vec<&str> =
        listed.lines().filter(|page| !page.contains("/tests/") && root.join(page).exists()).collect();
    let mut wrong = Vec::new();
    let mut links = 0;
    for page in &pages {
        let text = std::fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {page}"))?;
        let text = without_blocks(&text);
        for (line, target) in targets(&text) {
            links += 1;
            if let Err(reason) = check(&root, page, target) {
                wrong.push(format!("{page}:{line}: {target}: {reason}"));
            }
        }
        if !HISTORY.iter().any(|old| page.starts_with(old)) {
            let missing = |(_, name): &(usize, &str)| !root.join(name).exists();
            let named = code(&text).filter(|(_, name)| is_file_name(name)).filter(missing);
            wrong.extend(named.map(|(line, name)| format!("{page}:{line}: there is no {name}")));
        }
    }
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md")).context("cannot read docs/SUMMARY.md")?;
    let in_book: BTreeSet<&str> = targets(&summary).into_iter().map(|(_, target)| target).collect();
    let outside = |page: &&str| *page != "SUMMARY.md" && !in_book.contains(page);
    let of_docs = pages.iter().filter_map(|page| page.strip_prefix("docs/"));
    wrong.extend(of_docs.filter(outside).map(|page| format!("docs/SUMMARY.md does not list {page}")));
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("links: {} pages, {links} links", pages.len());
    Ok(())
}

/// Checks that each `# Source` section has a URL or names the clause of a standard.
pub(crate) fn check_sources() -> anyhow::Result<()> {
    let root = step::root();
    let listed =
        step::output(Command::new("git").args(["ls-files", "-co", "--exclude-standard", "*.rs"]).current_dir(&root))?;
    let (mut count, mut wrong) = (0, Vec::new());
    for file in listed.lines().filter(|file| root.join(file).exists()) {
        let text = std::fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let sections = sources(&text);
        count += sections.len();
        let without = sections.iter().filter(|(_, section)| !is_linked(section));
        wrong.extend(without.map(|(line, _)| format!("{file}:{line}: no URL and no clause of a standard: add one")));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("sources: {count} sections");
    Ok(())
}

/// The `# Source` sections of documentation comments, with the lines of their headings.
fn sources(text: &str) -> Vec<(usize, String)> {
    let comment = |line| ["//!", "///"].iter().find_map(|start| str::trim_start(line).strip_prefix(start));
    let lines: Vec<_> = text.lines().map(comment).collect();
    let is_heading = |line: &Option<&str>| line.is_some_and(|line| line.starts_with(" # "));
    let section =
        |at: usize| lines[at + 1..].iter().take_while(|line| !is_heading(line)).map_while(|line| *line).collect();
    let headings = lines.iter().enumerate().filter(|(_, line)| **line == Some(" # Source"));
    headings.map(|(at, _)| (at + 1, section(at))).collect()
}

fn is_linked(section: &str) -> bool {
    ["https://", "http://", " clause ", " clauses ", "§"].iter().any(|sign| section.contains(sign))
}

/// Replaces code blocks by empty lines.
fn without_blocks(text: &str) -> String {
    let mut inside = false;
    let line = |line| {
        let is_fence = str::trim_start(line).starts_with("```");
        inside ^= is_fence;
        if inside || is_fence { "" } else { line }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The code spans of a text, by line.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(at, line)| line.split('`').skip(1).step_by(2).map(move |span| (at + 1, span)))
}

fn is_file_name(span: &str) -> bool {
    let plain = |one: char| one.is_ascii_alphanumeric() || "._-/".contains(one);
    NAMED.iter().any(|folder| span.starts_with(folder)) && span.chars().all(plain) && !span.contains("NAME")
}

/// The targets of links and images, by line.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for (start, _) in line.match_indices("](") {
            // Not in a code span.
            if line[..start].matches('`').count() % 2 == 0
                && let Some((target, _)) = line[start + 2..].split_once(')')
                && !target.is_empty()
            {
                found.push((at + 1, target));
            }
        }
    }
    found
}

/// A link of a page to a file below `root`, and to a heading in it.
pub(crate) fn check(root: &Path, page: &str, target: &str) -> Result<(), String> {
    if ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let file = match path {
        "" => root.join(page),
        _ => plain(&root.join(page).with_file_name("").join(path)),
    };
    if !file.starts_with(root) {
        return Err("outside the repository".to_owned());
    }
    if !file.exists() {
        return Err("no such file".to_owned());
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let read = || std::fs::read_to_string(&file).map_err(|error| error.to_string());
    let is_there = match file.extension().and_then(|extension| extension.to_str()) {
        Some("md") => anchors(&without_blocks(&read()?)).contains(anchor),
        Some("html") => read()?.contains(&format!("id=\"{anchor}\"")),
        _ => true,
    };
    if is_there { Ok(()) } else { Err("no such heading".to_owned()) }
}

/// Resolves `..` without looking at the file system.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
        plain
    })
}

/// The anchors of headings, as hosting sites and mdBook make them: lower case, words joined by hyphens, repeated ones numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|one| one.is_alphanumeric() || " -_".contains(*one));
        let anchor: String = kept.map(|one| if one == ' ' { '-' } else { one }).collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|one| !all.contains(one));
        all.extend(free);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let text = "a [b](c.md#d) `[e](f)` ![g](h.svg)\n```\n[i](j)\n```\n[k](l)";
        assert_eq!(targets(&without_blocks(text)), [(1, "c.md#d"), (1, "h.svg"), (5, "l")]);
    }

    #[test]
    fn a_source_has_a_url_or_a_clause() {
        let text = "//! # Source\n//! ISO 11898-1:2015, clause 10.4.\n\n\
                    /// # Source\n/// `net/can/gw.c`\n/// # Errors\n/// <https://example.org/>\n\
                    /// # Source\n/// A paper,\n/// <https://doi.org/10.1/2>\n\
                    fn next() {}\n/// # Source\nfn last() {} // https://example.org/\n";
        let found: Vec<_> = sources(text).iter().map(|(line, section)| (*line, is_linked(section))).collect();
        assert_eq!(found, [(1, true), (4, false), (8, true), (12, false)]);
    }

    #[test]
    fn repeated_headings_have_numbered_anchors() {
        let expected = ["busname", "a-line-of-2", "a-line-of-2-1"].map(str::to_owned);
        assert_eq!(anchors("## `[bus.NAME]`\n# A line, of 2\n### A line of 2"), expected.into());
    }
}
