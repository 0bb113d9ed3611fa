//! `candor-lab papers`: repeats the experiments of the four papers, and reports which of their claims still hold.
//!
//! ```text
//!  papers/*.toml ─▶ Figure ─▶ Experiment (plan or method) ─▶ guests ─▶ Measurement ─▶ ClaimPage ─▶ HTML, SVG, README.md
//! ```

mod claim;
mod data;
mod experiment;
mod measurement;
mod method;
mod pages;
mod quantity;

use std::fs;
use std::path::Path;

use candor_lab::report::{ClaimLine, ClaimPage, Seen, index_html, index_markdown, page_html};
use serde::Serialize;

use crate::cli::PapersArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;
use data::{Figure, Paper};
pub(in crate::cmd) use experiment::Experiment;
pub(in crate::cmd) use measurement::Measurement;
pub(in crate::cmd) use method::{Extent, series};
pub(in crate::cmd) use quantity::Term;

/// Directory of the results, below that of the pages.
const RECORDS: &str = "records";

pub(crate) fn run(args: &PapersArgs) -> Outcome {
    let mut extent = if args.quick { Extent::QUICK } else { Extent::WHOLE };
    extent.frames = args.frames.or(extent.frames);
    extent.arch = args.arch;
    let papers = data::load()?;
    let figures: Vec<_> = papers.iter().flat_map(|paper| paper.figures.iter().map(move |one| (paper, one))).collect();
    let found = |id: &String| {
        let known = figures.iter().copied().find(|(_, figure)| figure.id == *id);
        known.ok_or_else(|| format!("no figure {id}; candor-lab papers --list prints all figures"))
    };
    if args.list {
        return render::answer(&list(&figures, args.json), Exit::Fine);
    }
    if let Some(id) = &args.show_plan {
        let (paper, figure) = found(id)?;
        let experiment = paper.experiment(figure);
        let text = experiment.and_then(|experiment| experiment.plan_text(extent)).ok_or_else(|| {
            let command =
                experiment.and_then(|experiment| experiment.method.as_ref()).map_or("", |method| &method.command);
            format!("{id} has no plan: it is measured with candor-lab {command} in a guest")
        })?;
        return render::answer(&text, Exit::Fine);
    }
    let wanted = match &args.figures[..] {
        [] => figures,
        [all] if all == "all" => figures,
        named => named.iter().map(found).collect::<Result<_, _>>()?,
    };
    let mut is_whole = true;
    let mut measured: Vec<(&Experiment, Extent<'_>, Measurement)> = Vec::new();
    for (paper, experiment) in
        papers.iter().flat_map(|paper| paper.experiments.iter().map(move |experiment| (paper, experiment)))
    {
        let name = experiment.name.get_ref();
        if !wanted.iter().any(|(_, figure)| figure.experiment.get_ref() == name) {
            continue;
        }
        let records = args.out.join(RECORDS);
        let extent = experiment.largest(extent, &records)?;
        if !args.pages_only {
            render::err(&format!("candor-lab: {name}\n"));
            is_whole &= experiment.measure(extent, &records, args.limits)?;
        }
        measured.push((experiment, extent, experiment.read(&paper.answers, extent, &records)?));
    }
    let page = |(paper, figure): &(&Paper, &Figure)| {
        let of = measured.iter().find(|(experiment, ..)| experiment.name.get_ref() == figure.experiment.get_ref());
        of.map(|(_, extent, measurement)| pages::of(paper, figure, measurement, *extent))
    };
    let pages: Vec<ClaimPage> = wanted.iter().filter_map(page).collect::<Result<_, _>>()?;
    write(&args.out, &pages, &pages::notes(&measured, extent))?;
    let exit = if is_whole { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&render::object(&views(&pages)), exit);
    }
    render::answer(&format!("{}\nPages: {}\n", table(&pages), args.out.join("index.html").display()), exit)
}

fn write(folder: &Path, pages: &[ClaimPage], notes: &[String]) -> Result<(), String> {
    let missing = data::missing()?;
    let mut files = vec![
        ("index.html".to_owned(), index_html(pages, &missing, notes)),
        ("README.md".to_owned(), index_markdown(pages, &missing, notes)),
        ("claims.json".to_owned(), render::object(&views(pages))),
    ];
    for page in pages {
        files.push((format!("{}.html", page.id), page_html(page)));
        let pictures = page.pictures.iter().enumerate();
        files.extend(pictures.map(|(at, (_, svg))| (format!("{}-{}.svg", page.id, at + 1), svg.clone())));
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

fn list<'a>(figures: &[(&'a Paper, &'a Figure)], json: bool) -> String {
    if json {
        let one = |(paper, figure): &(&'a Paper, &'a Figure)| FigureView {
            id: &figure.id,
            paper: &paper.name,
            number: &figure.number,
            title: &figure.title,
        };
        return render::object(&figures.iter().map(one).collect::<Vec<_>>());
    }
    let line = |(_, figure): &(&Paper, &Figure)| format!("{:<14}{:<14}{}\n", figure.id, figure.number, figure.title);
    figures.iter().map(line).collect()
}

fn table(pages: &[ClaimPage]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::UTF8_BORDERS_ONLY);
    table.set_header(["figure", "claim", "published", "measured", "verdict"]);
    for page in pages {
        for line in &page.claims {
            let ours: Vec<_> = line.ours.iter().map(|seen| format!("{} {}", seen.value, seen.kernel)).collect();
            table.add_row([page.id.as_str(), &line.says, &line.published, &ours.join("\n"), &line.verdict.to_string()]);
        }
    }
    format!("{table}\n")
}

/// An entry of `--list`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FigureView<'a> {
    id: &'a str,
    paper: &'a str,
    number: &'a str,
    title: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ClaimView<'a> {
    figure: &'a str,
    claim: &'a str,
    published: &'a str,
    ours: Vec<OursView<'a>>,
    verdict: String,
    why: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OursView<'a> {
    kernel: &'a str,
    value: &'a str,
    verdict: String,
}

fn views<'a>(pages: &'a [ClaimPage]) -> Vec<ClaimView<'a>> {
    let claims = pages.iter().flat_map(|page| page.claims.iter().map(|line| (&page.id, line)));
    let one = |(figure, ClaimLine { says, published, ours, verdict, because }): (&'a String, &'a ClaimLine)| {
        let ours =
            ours.iter().map(|Seen { kernel, value, verdict }| OursView { kernel, value, verdict: verdict.to_string() });
        ClaimView { figure, claim: says, published, ours: ours.collect(), verdict: verdict.to_string(), why: because }
    };
    claims.map(one).collect()
}

#[cfg(test)]
mod tests;
