//! `candor-lab papers`: the experiments of the four papers again, and which of their claims still hold.
//!
//! ```text
//!  Figure { claims, pictures } ─▶ Sheet (a plan) ─candor-lab measure─▶ Measurement ─▶ ClaimPage ─▶ HTML, SVG, README.md
//! ```

mod claim;
mod figures;
mod method;
mod pages;
mod sheet;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use candor_lab::experiment::{self, Available, Plan};
use candor_lab::report::{ClaimPage, index_html, index_markdown, page_html};
use serde_json::{Value, json};

use crate::cli::PapersArgs;
use crate::cmd::measure::fill;
use crate::cmd::measure::results::Results;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;
use figures::{Figure, MISSING};
use sheet::{Extent, How, Measurement, Sheet};

/// Below the folder of the pages: results of each plan.
const RECORDS: &str = "records";

pub(crate) fn run(args: &PapersArgs) -> Outcome {
    let mut extent = if args.quick { Extent::QUICK } else { Extent::WHOLE };
    extent.frames = args.frames.or(extent.frames);
    if args.list {
        return render::answer(&list(args.json), Exit::Fine);
    }
    if let Some(id) = &args.show_plan {
        let sheet = found(id)?.sheet;
        let text = sheet.plan_text(extent).ok_or_else(|| {
            let How::Method(method) = sheet.how() else { unreachable!("a sheet without a plan is of a method") };
            format!("{id} is not measured by a plan, but by candor {} in a guest", method.words.join(" "))
        })?;
        return render::answer(&text, Exit::Fine);
    }
    let wanted = match &args.figures[..] {
        [] => figures::all().collect::<Vec<_>>(),
        named => named.iter().map(|id| found(id)).collect::<Result<_, _>>()?,
    };
    let mut is_whole = true;
    let mut measured = BTreeMap::new();
    for sheet in Sheet::ALL.into_iter().filter(|sheet| wanted.iter().any(|figure| figure.sheet == *sheet)) {
        let folder = args.out.join(RECORDS).join(sheet.name());
        if !args.pages_only {
            is_whole &= measure(sheet, extent, &folder, args)?;
        }
        let read = match sheet.how() {
            How::Plan(..) => Measurement::read(&folder)?,
            How::Method(_) => Measurement::of_method(&folder, extent),
        };
        measured.insert(sheet, read);
    }
    let pages: Vec<ClaimPage> =
        wanted.iter().map(|figure| pages::of(figure, &measured[&figure.sheet], extent)).collect::<Result<_, _>>()?;
    write(&args.out, &pages, &pages::notes(&measured, extent))?;
    let exit = if is_whole { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&format!("{:#}\n", as_json(&pages)), exit);
    }
    render::answer(&format!("{}\nPages: {}\n", table(&pages), args.out.join("index.html").display()), exit)
}

fn found(id: &str) -> Result<&'static Figure, String> {
    figures::all()
        .find(|figure| figure.id == id)
        .ok_or_else(|| format!("There is no figure {id}; candor-lab papers --list names them"))
}

/// Measures what is missing of a sheet. Says whether all guests did their job.
fn measure(sheet: Sheet, extent: Extent, folder: &Path, args: &PapersArgs) -> Result<bool, Box<dyn std::error::Error>> {
    render::err(&format!("candor-lab: {}\n", sheet.name()));
    let text = match sheet.how() {
        How::Plan(..) => sheet.plan_text(extent).unwrap_or_default(),
        How::Method(method) => return method.run(extent, folder, args.limits),
    };
    let plan = plan(&text)?;
    let results = Results::open(folder, text.as_bytes(), &plan.logs)?;
    let blocks = plan.blocks();
    let run = fill(&results, &plan, Path::new(""), &blocks.iter().collect::<Vec<_>>(), args.limits)?;
    for (block, why) in &run.broken {
        render::err(&format!("candor-lab: the guest of block {block} did not do its job: {why}\n"));
    }
    if !run.broken.is_empty() {
        render::err("candor-lab: the same command tries what is missing again\n");
    }
    Ok(run.broken.is_empty())
}

fn plan(text: &str) -> Result<Plan, String> {
    let loaded = experiment::load(text.as_bytes(), Available::default());
    Ok(loaded.map_err(|findings| format!("a plan of candor is wrong: {findings:?}"))?.plan)
}

fn write(folder: &Path, pages: &[ClaimPage], notes: &[String]) -> Result<(), String> {
    let missing: Vec<_> = MISSING.iter().map(|one| (one.what.to_owned(), one.instead.to_owned())).collect();
    let mut files = vec![
        ("index.html".to_owned(), index_html(pages, &missing, notes)),
        ("README.md".to_owned(), index_markdown(pages, &missing, notes)),
        ("claims.json".to_owned(), format!("{:#}\n", as_json(pages))),
    ];
    for page in pages {
        files.push((format!("{}.html", page.id), page_html(page)));
        let pictures = page.pictures.iter().enumerate();
        files.extend(pictures.map(|(at, (_, svg))| (format!("{}-{}.svg", page.id, at + 1), svg.clone())));
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("Cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

fn list(json: bool) -> String {
    if json {
        let one = |figure: &Figure| json!({ "id": figure.id, "paper": figure.paper.name(), "number": figure.number, "title": figure.title });
        return format!("{:#}\n", figures::all().map(one).collect::<Value>());
    }
    let mut text = String::new();
    for figure in figures::all() {
        writeln!(text, "{:<14}{:<14}{}", figure.id, figure.number, figure.title).expect("a String takes everything");
    }
    text
}

fn table(pages: &[ClaimPage]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::UTF8_BORDERS_ONLY);
    table.set_header(["figure", "claim", "published", "ours", ""]);
    for page in pages {
        for line in &page.claims {
            let ours: Vec<_> = line.ours.iter().map(|seen| format!("{} {}", seen.value, seen.kernel)).collect();
            table.add_row([page.id.as_str(), &line.says, &line.published, &ours.join("\n"), line.verdict.words()]);
        }
    }
    format!("{table}\n")
}

fn as_json(pages: &[ClaimPage]) -> Value {
    let claims = pages.iter().flat_map(|page| page.claims.iter().map(move |line| (page, line)));
    let one = |(page, line): (&ClaimPage, &candor_lab::report::ClaimLine)| {
        let ours = line
            .ours
            .iter()
            .map(|seen| json!({ "kernel": seen.kernel, "value": seen.value, "verdict": seen.verdict.words() }));
        json!({
            "figure": page.id,
            "claim": line.says,
            "published": line.published,
            "ours": ours.collect::<Vec<_>>(),
            "verdict": line.verdict.words(),
            "why": line.because,
        })
    };
    claims.map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sheets_are_plans_without_doubt() {
        for sheet in Sheet::ALL {
            for extent in [Extent::WHOLE, Extent::QUICK] {
                let Some(text) = sheet.plan_text(extent) else { continue };
                let loaded = experiment::load(text.as_bytes(), Available::default());
                let loaded = loaded.unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", sheet.name()));
                assert_eq!(loaded.warnings, [], "{}", sheet.name());
            }
        }
    }

    #[test]
    fn each_figure_has_its_cells_in_its_plan() {
        for figure in figures::all() {
            let Some(text) = figure.sheet.plan_text(Extent::WHOLE) else { continue };
            let plan = plan(&text).unwrap();
            let measurement = Measurement::planned(&plan);
            for levels in pages::cells(figure) {
                assert!(measurement.whatever(levels, Some("debian-6.1")).is_some(), "{}: {levels:?}", figure.id);
            }
        }
    }

    #[test]
    fn methods_have_gateways_that_are_right() {
        for sheet in Sheet::ALL {
            let How::Method(method) = sheet.how() else { continue };
            for engine in method.gateways {
                let (_, text) = method::gateway(engine).unwrap_or_else(|| panic!("{engine}"));
                assert!(candor_config::config::load(text.as_bytes()).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn figures_have_names_of_their_own() {
        let names: Vec<_> = figures::all().map(|figure| figure.id).collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
        assert!(found("2011-9").is_ok() && found("9").unwrap_err().contains("--list"));
        assert!(figures::all().all(|figure| !figure.claims.is_empty()));
    }
}
