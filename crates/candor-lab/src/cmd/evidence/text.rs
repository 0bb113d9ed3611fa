//! The report for a terminal.

use std::path::Path;

use candor_cli::gateway_file::plural;
use candor_cli::render::{self, Source};
use candor_core::diagnostic::Diagnostic;
use candor_lab::evidence::{Judged, Verdict, title};
use candor_lab::report::EvidencePage;

/// Of the table, in characters.
const WIDTH: u16 = 120;

pub(super) fn of(page: &EvidencePage<'_>, source: &Source, out: Option<&Path>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::UTF8_BORDERS_ONLY);
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(["requirement", "verdict", "judged by", "reason"]);
    let mut findings: Vec<Diagnostic> = Vec::new();
    let mut people = Vec::new();
    for Judged { requirement, opinion } in page.lines.iter().map(|line| line.judged) {
        if requirement.is_for_people() {
            people.push(requirement.id);
            continue;
        }
        table.add_row([requirement.id, opinion.verdict.name(), opinion.by.name(), &opinion.reason]);
        // Several requirements demand the same.
        for finding in &opinion.findings {
            let is_same = |known: &Diagnostic| known.message == finding.message && known.primary == finding.primary;
            if !findings.iter().any(is_same) {
                findings.push(finding.clone());
            }
        }
    }
    let count = |verdict| page.lines.iter().filter(|line| line.judged.opinion.verdict == verdict).count();
    let (holds, violated) = (count(Verdict::Holds), count(Verdict::Violated));
    let not_judged = count(Verdict::NotJudged);
    let mut text = format!(
        "{}: from {} to {}\n{}\n\n{}{table}\n",
        page.file,
        page.untrusted.join(", "),
        page.trusted.join(", "),
        title(),
        render::text(source, &findings, render::wants_colour_out()),
    );
    if !people.is_empty() {
        text += &format!("For people to decide: {}\n", people.join(", "));
    }
    text += &format!(
        "{}: {holds} hold, {violated} violated, {not_judged} not judged\n",
        plural(page.lines.len(), "requirement")
    );
    if let Some(out) = out {
        text += &format!("Report: {}\n", out.join("evidence.html").display());
    }
    text
}
