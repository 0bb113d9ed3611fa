//! All claims in one table.

use std::fmt::Write as _;

use maud::{DOCTYPE, html as markup};

use super::page::{CLAIM_STYLE, badge};
use super::{ClaimPage, Judgement, Seen};
use crate::report::html::{STYLE, head};

/// The page with links to all others. `missing` lists parts of the papers that cannot be repeated, and their substitutes.
#[must_use]
pub fn index_html(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let text = markup! {
        (DOCTYPE)
        html lang="en" {
            (head("Four CAN papers, repeated", &[STYLE, CLAIM_STYLE]))
            body { main.wide {
                header {
                    p.eyebrow { "candor-lab papers" }
                    h1 { "Four CAN papers, repeated on current kernels" }
                    p.lead { (counts(pages)) }
                }
                section {
                    h2 { "Claims" }
                    div.scroll { table {
                        thead { tr {
                            th scope="col" { "figure" } th scope="col" { "claim" } th scope="col" { "published" }
                            th scope="col" { "measured" } th scope="col" { "verdict" }
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
                    h2 { "Not repeatable here" }
                    div.scroll { table {
                        thead { tr { th scope="col" { "in the papers" } th scope="col" { "substitute" } } }
                        tbody { @for (what, instead) in missing { tr.first { td { (what) } td { (instead) } } } }
                    } }
                }
                section { h2 { "Measurements" } ul.trust { @for note in notes { li { (note) } } } }
            } }
        }
    };
    text.into_string()
}

/// The same as Markdown.
#[must_use]
pub fn index_markdown(pages: &[ClaimPage], missing: &[(String, String)], notes: &[String]) -> String {
    let mut text = format!("# Four CAN papers, repeated on current kernels\n\n{}\n\n", counts(pages));
    text.push_str("| figure | claim | published | measured | verdict |\n|---|---|---|---|---|\n");
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
                line.verdict
            )
            .expect("a String takes everything");
        }
    }
    text.push_str("\n## Reasons\n\n");
    for page in pages {
        for line in page.claims.iter().filter(|line| line.verdict != Judgement::Holds) {
            writeln!(text, "* {} ({}): {}", line.says, line.verdict, line.because).expect("a String takes everything");
        }
    }
    text.push_str("\n## Not repeatable here\n\n| in the papers | substitute |\n|---|---|\n");
    for (what, instead) in missing {
        writeln!(text, "| {} | {} |", cell(what), cell(instead)).expect("a String takes everything");
    }
    text.push_str("\n## Measurements\n\n");
    for note in notes {
        writeln!(text, "* {note}").expect("a String takes everything");
    }
    text
}

fn counts(pages: &[ClaimPage]) -> String {
    let verdicts: Vec<Judgement> = pages.iter().flat_map(|page| &page.claims).map(|line| line.verdict).collect();
    let count = |wanted: fn(&Judgement) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let plural = |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let mut parts = vec![
        plural(count(|one| *one == Judgement::Holds), "holds", "hold"),
        plural(count(|one| *one == Judgement::Differs), "differs", "differ"),
        format!("{} no longer true", count(|one| *one == Judgement::NoLongerTrue)),
    ];
    let rare = [
        (count(|one| matches!(one, Judgement::NotDecidable { .. })), "not decidable"),
        (count(|one| *one == Judgement::NotMeasured), "not measured"),
    ];
    parts.extend(rare.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")));
    format!("{}: {}.", plural(verdicts.len(), "claim", "claims"), parts.join(", "))
}

fn with_kernel(seen: &Seen) -> String {
    if seen.kernel.is_empty() { seen.value.clone() } else { format!("{}: {}", seen.kernel, seen.value) }
}

/// Text inside a table of Markdown.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
