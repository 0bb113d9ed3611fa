//! The report as JSON.

use candor_cli::render::{self, Finding, Source};
use candor_lab::border::Runs;
use candor_lab::evidence::{Judged, SOURCE, Verdict, title};
use candor_lab::report::{EvidenceLine, EvidencePage};
use serde::Serialize;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    file: &'a str,
    valid: bool,
    untrusted: &'a [String],
    trusted: &'a [String],
    contents: Vec<ContentView<'a>>,
    title: &'a str,
    source: &'a str,
    holds: usize,
    violated: usize,
    not_judged: usize,
    requirements: Vec<RequirementView<'a>>,
    runs: Option<&'a Runs>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ContentView<'a> {
    file: &'a str,
    blake2b_hex: &'a str,
    signer: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RequirementView<'a> {
    id: &'a str,
    demand: &'a str,
    verdict: &'a str,
    judged_by: &'a str,
    for_people: bool,
    reason: &'a str,
    figures: Vec<FigureView<'a>>,
    findings: Vec<Finding<'a>>,
    repeat: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FigureView<'a> {
    name: &'a str,
    value: &'a str,
}

pub(super) fn view<'a>(page: &'a EvidencePage<'a>, source: &Source, runs: Option<&'a Runs>) -> View<'a> {
    let count = |verdict| page.lines.iter().filter(|line| line.judged.opinion.verdict == verdict).count();
    let content = |(file, blake2b_hex, signer): &'a (String, String, String)| ContentView { file, blake2b_hex, signer };
    View {
        file: page.file,
        valid: true,
        untrusted: page.untrusted,
        trusted: page.trusted,
        contents: page.contents.iter().map(content).collect(),
        title: title(),
        source: &SOURCE,
        holds: count(Verdict::Holds),
        violated: count(Verdict::Violated),
        not_judged: count(Verdict::NotJudged),
        requirements: page.lines.iter().map(|line| requirement(line, source)).collect(),
        runs,
    }
}

fn requirement<'a>(line: &'a EvidenceLine<'a>, source: &Source) -> RequirementView<'a> {
    let Judged { requirement, opinion } = line.judged;
    RequirementView {
        id: requirement.id,
        demand: requirement.demand,
        verdict: opinion.verdict.name(),
        judged_by: opinion.by.name(),
        for_people: requirement.is_for_people(),
        reason: &opinion.reason,
        figures: opinion.figures.iter().map(|(name, value)| FigureView { name, value }).collect(),
        findings: render::json(source, &opinion.findings),
        repeat: line.repeat.as_deref(),
    }
}
