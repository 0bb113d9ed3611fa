//! The requirements on a gateway at a border, as a page for an auditor.
//!
//! Equal evidence gives equal bytes.

use candor_cli::gateway_file::plural;
use maud::{Markup, html as markup};

use super::claims;
use super::parts::{columns, page};
use crate::evidence::{By, Judged, SOURCE, Verdict, title};

const STYLE: &str = include_str!("evidence.css");

/// What was judged, and the result.
#[derive(Clone, Debug)]
pub struct EvidencePage<'a> {
    /// The gateway file.
    pub file: &'a str,
    pub untrusted: &'a [String],
    pub trusted: &'a [String],
    /// The file and its databases: name, BLAKE2b digest and signer.
    pub contents: &'a [(String, String, String)],
    /// Of the guest of the runs.
    pub kernel_release: Option<&'a str>,
    pub version: &'a str,
    pub lines: &'a [EvidenceLine<'a>],
}

/// A requirement and its verdict.
#[derive(Clone, Debug)]
pub struct EvidenceLine<'a> {
    pub judged: &'a Judged,
    /// The places in the file, as text.
    pub findings: String,
    /// The command that repeats the verdict.
    pub repeat: Option<String>,
}

impl EvidenceLine<'_> {
    const fn is_for_people(&self) -> bool {
        self.judged.requirement.is_for_people()
    }
}

/// A page without external references.
pub fn evidence_html(of: &EvidencePage<'_>) -> String {
    let name = format!("Evidence for {}", of.file);
    let main = markup! {
        header {
            p.eyebrow { "candor-lab evidence · candor " (of.version) }
            h1 { (name) }
            p.lead { (counts(of.lines)) }
        }
        section {
            h2 { "Requirements" }
            p.note { "Of " em { (title()) } ", in our words; the " a href=(*SOURCE) { "published text" } " decides." }
            div.scroll { table {
                (columns(4, &["requirement", "demand", "verdict", "judged by"]))
                tbody { @for line in of.lines { (row(line)) } }
            } }
        }
        section {
            h2 { "What was judged" }
            dl {
                dt { "untrusted" } dd { (of.untrusted.join(", ")) }
                dt { "trusted" } dd { (of.trusted.join(", ")) }
                @for (file, digest, signer) in of.contents {
                    dt { (file) } dd { code { "BLAKE2b " (digest) } br; (signer) }
                }
                dt { "runs" }
                dd { @match of.kernel_release {
                    Some(release) => { "in a guest that counts instructions, Linux " (release) }
                    None => "none (--static)",
                } }
            }
        }
        section {
            h2 { "Evidence" }
            @for line in of.lines.iter().filter(|line| !line.is_for_people()) { (article(line)) }
        }
        @if of.lines.iter().any(EvidenceLine::is_for_people) { section {
            h2 { "For people to decide" }
            p.note { "No gateway file and no run of it can show these." }
            div.scroll { table {
                (columns(3, &["requirement", "demand", "reason"]))
                tbody { @for line in of.lines.iter().filter(|line| line.is_for_people()) {
                    tr.first id=(line.judged.requirement.id) {
                        th scope="row" { (line.judged.requirement.id) }
                        td { (line.judged.requirement.demand) } td { (line.judged.opinion.reason) }
                    }
                } }
            } }
        } }
    };
    page(&name, &format!("{}{STYLE}", claims::STYLE), "wide", &main, &markup! {})
}

fn row(line: &EvidenceLine<'_>) -> Markup {
    let Judged { requirement, opinion } = line.judged;
    markup! {
        tr.first {
            th scope="row" { a href=(format!("#{}", requirement.id)) { (requirement.id) } }
            td { (requirement.demand) }
            td { (badge(opinion.verdict)) }
            td { (by(line)) }
        }
    }
}

const fn by(line: &EvidenceLine<'_>) -> &'static str {
    match line.judged.opinion.by {
        _ if line.is_for_people() => "people",
        By::Nothing => "–",
        by => by.name(),
    }
}

fn article(line: &EvidenceLine<'_>) -> Markup {
    let Judged { requirement, opinion } = line.judged;
    markup! {
        article.claim id=(requirement.id) {
            h3 { (requirement.id) " " (badge(opinion.verdict)) }
            p { (requirement.demand) "." }
            dl {
                dt { "judged by" } dd { (by(line)) }
                dt { "reason" } dd { (opinion.reason) }
                @if let Some(command) = &line.repeat { dt { "repeat" } dd { code { (command) } } }
            }
            @if !opinion.figures.is_empty() { div.scroll { table.figures {
                tbody { @for (name, value) in &opinion.figures { tr.first { td { (name) } td { (value) } } } }
            } } }
            @if !line.findings.is_empty() { pre { (line.findings.trim_end()) } }
        }
    }
}

fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Holds => "holds",
        Verdict::NotJudged => "unmeasured",
        Verdict::Violated => "violated",
    };
    markup! { span.badge.(class) { (verdict.name()) } }
}

/// `29 requirements: 9 hold, 2 violated, 18 not judged`.
fn counts(lines: &[EvidenceLine<'_>]) -> String {
    let of = |verdict| lines.iter().filter(|line| line.judged.opinion.verdict == verdict).count();
    let people = lines.iter().filter(|line| line.is_for_people()).count();
    format!(
        "{}: {} hold, {} violated, {} not judged; {people} of these are for people to decide.",
        plural(lines.len(), "requirement"),
        of(Verdict::Holds),
        of(Verdict::Violated),
        of(Verdict::NotJudged),
    )
}
