//! The page of one figure.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::{ClaimLine, ClaimPage, ClaimTable, Judgement};
use crate::report::html::{STYLE, head};

pub(super) const CLAIM_STYLE: &str = include_str!("claims.css");

/// The page as HTML text, which loads no other file.
#[must_use]
pub fn page_html(page: &ClaimPage) -> String {
    let text = markup! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{}: {}", page.number, page.title), &[STYLE, CLAIM_STYLE]))
            body { main {
                header {
                    p.eyebrow { (page.paper) " · " (page.number) }
                    h1 { (page.title) }
                    p.lead { (page.setup) }
                }
                section { h2 { "Claims" } @for line in &page.claims { (claim(line)) } }
                @if !page.pictures.is_empty() {
                    section {
                        h2 { "Latency and loss" }
                        @for (caption, svg) in &page.pictures {
                            figure { (PreEscaped(svg)) figcaption { (caption) } }
                        }
                    }
                }
                @if !page.table.rows.is_empty() { section { h2 { "Values" } (table(&page.table)) } }
                section { h2 { "Conditions and limits" } ul.trust { @for note in &page.notes { li { (note) } } } }
                p { a href="index.html" { "All claims" } }
            } }
        }
    };
    text.into_string()
}

fn claim(line: &ClaimLine) -> Markup {
    markup! {
        article.claim {
            h3 { (line.says) " " (badge(line.verdict)) }
            dl {
                dt { "published" } dd { (line.published) }
                @for seen in &line.ours {
                    dt { @if seen.kernel.is_empty() { "measured" } @else { "measured, " (seen.kernel) } }
                    dd { (seen.value) " " @if line.ours.len() > 1 { (badge(seen.verdict)) } }
                }
                dt { "reason" } dd { (line.because) }
            }
        }
    }
}

pub(super) fn badge(verdict: Judgement) -> Markup {
    markup! { span.badge.(verdict.class()) { (verdict) } }
}

fn table(table: &ClaimTable) -> Markup {
    markup! {
        div.scroll { table {
            thead { tr { @for (at, name) in table.head.iter().enumerate() { th.n[at > 0] scope="col" { (name) } } } }
            tbody { @for row in &table.rows {
                tr.first { @for (at, cell) in row.iter().enumerate() {
                    @if at == 0 { th scope="row" { (cell) } } @else { td.n { (cell) } }
                } }
            } }
        } }
    }
}
