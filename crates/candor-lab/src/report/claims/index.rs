//! All claims in one table.

use std::fmt::Write as _;

use maud::{DOCTYPE, html as markup};

use super::page::{CLAIM_STYLE, badge};
use super::{ClaimPage, Judgement, Seen};
use crate::report::html::{STYLE, head};

/// The page that leads to all others. `missing` is what cannot be repeated, and what stands in for it.
#[must_use]
pub fn index_html(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let text = markup! {
        (DOCTYPE)
        html lang="en" {
            (head("The four papers today", &[STYLE, CLAIM_STYLE]))
            body { main.wide {
                header {
                    p.eyebrow { "candor-lab papers" }
                    h1 { "What four papers found, on today's kernels" }
                    p.lead { (counts(pages)) }
                }
                section {
                    h2 { "Claims" }
                    div.scroll { table {
                        thead { tr {
                            th scope="col" { "figure" } th scope="col" { "claim" } th scope="col" { "published" }
                            th scope="col" { "ours" } th scope="col" { "" }
                        } }
                        tbody { @for page in pages { @for (at, line) in page.claims.iter().enumerate() {
                            tr.first {
                                @if at == 0 {
                                    th scope="row" rowspan=(page.claims.len()) {
                                        a href=(format!("{}.html", page.id)) { (page.number) }
                                        br; span.year { (page.id.get(..4).unwrap_or_default()) }
                                    }
                                }
                                td { (line.says) } td { (line.published) }
                                td.ours { @for seen in &line.ours { div { (with_kernel(seen)) } } }
                                td { (badge(line.verdict)) }
                            }
                        } } }
                    } }
                }
                section {
                    h2 { "What cannot be repeated here" }
                    div.scroll { table {
                        thead { tr { th scope="col" { "of the papers" } th scope="col" { "stands in for it" } } }
                        tbody { @for (what, instead) in missing { tr.first { td { (what) } td { (instead) } } } }
                    } }
                }
                section { h2 { "How it was measured" } ul.trust { @for note in notes { li { (note) } } } }
            } }
        }
    };
    text.into_string()
}

/// The same as Markdown, for readers of a repository.
#[must_use]
pub fn index_markdown(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let mut text = format!("# What four papers found, on today's kernels\n\n{}\n\n", counts(pages));
    text.push_str("| figure | claim | published | ours | |\n|---|---|---|---|---|\n");
    for page in pages {
        for line in &page.claims {
            let ours: Vec<String> = line.ours.iter().map(|seen| cell(&with_kernel(seen))).collect();
            let year = page.id.get(..4).unwrap_or_default();
            writeln!(
                text,
                "| {year} [{}]({}.html) | {} | {} | {} | **{}** |",
                cell(&page.number),
                page.id,
                cell(&line.says),
                cell(&line.published),
                ours.join("<br>"),
                line.verdict.words()
            )
            .expect("a String takes everything");
        }
    }
    text.push_str("\n## Why\n\n");
    for page in pages {
        for line in page.claims.iter().filter(|line| line.verdict != Judgement::Holds) {
            writeln!(text, "* {} ({}): {}", line.says, line.verdict.words(), line.because)
                .expect("a String takes everything");
        }
    }
    text.push_str("\n## What cannot be repeated here\n\n| of the papers | stands in for it |\n|---|---|\n");
    for (what, instead) in missing {
        writeln!(text, "| {} | {} |", cell(what), cell(instead)).expect("a String takes everything");
    }
    text.push_str("\n## How it was measured\n\n");
    for note in notes {
        writeln!(text, "* {note}").expect("a String takes everything");
    }
    text
}

fn counts(pages: &[ClaimPage]) -> String {
    let verdicts: Vec<Judgement> = pages.iter().flat_map(|page| &page.claims).map(|line| line.verdict).collect();
    let [hold, differ, no_longer, unmeasured] =
        Judgement::ALL.map(|verdict| verdicts.iter().filter(|one| **one == verdict).count());
    let plural = |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
    let mut text = format!(
        "{} {}: {hold} {}, {differ} {}, {no_longer} no longer true",
        verdicts.len(),
        plural(verdicts.len(), "claim", "claims"),
        plural(hold, "holds", "hold"),
        plural(differ, "differs", "differ"),
    );
    if unmeasured > 0 {
        write!(text, ", {unmeasured} not measured").expect("a String takes everything");
    }
    text.push('.');
    text
}

fn with_kernel(seen: &Seen) -> String {
    if seen.kernel.is_empty() { seen.value.clone() } else { format!("{}: {}", seen.kernel, seen.value) }
}

/// Text inside a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
