//! `candor-lab measure`: the cells of a plan, each measured once, whatever interrupts it.

mod budgets;
mod dry_run;
mod guests;
mod machines;
mod merge;
mod progress;
pub(super) mod results;
pub(super) mod status_table;
mod verdict;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use candor_core::diagnostic::Diagnostic;
use candor_lab::cache::Cache;
use candor_lab::experiment::{self, Available, Block, EXTENSION, Plan};
use candor_lab::kernel;
use candor_lab::{cells, tools};
use serde_json::json;

use crate::cli::{GuestLimits, MeasureArgs, Preset};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{Form, read_bytes};
use candor_cli::render::{self, Source};
use machines::Machines;
pub(crate) use merge::run as merge;
use results::Results;

/// Plans beyond this many bytes are refused.
const MOST_BYTES: usize = 1 << 20;
/// And logs beyond this many: a guest has them in its memory.
const MOST_LOG_BYTES: usize = 32 << 20;

pub(crate) fn run(args: &MeasureArgs) -> Outcome {
    let (name, bytes) = match (&args.plan, args.preset) {
        (_, Some(preset)) => (preset.name().to_owned(), preset.text().into()),
        (Some(path), None) => read_bytes(path, MOST_BYTES)?,
        (None, None) => return Err("There is no plan".into()),
    };
    if args.show_plan {
        return render::answer(&String::from_utf8_lossy(&bytes), Exit::Fine);
    }
    let source = Source::new(name, &bytes);
    let Some(plan) = check(&source, &bytes, &plan_folder(args), Form::once(args.json))? else { return Ok(Exit::No) };
    let budgets = match &args.budget {
        Some(path) => match budgets::read(path, Form::once(args.json))? {
            Some(budgets) => Some(budgets),
            None => return Ok(Exit::No),
        },
        None => None,
    };
    let blocks = plan.blocks();
    let mine: Vec<&Block<'_>> =
        (0..).zip(&blocks).filter(|(at, _)| args.shard.has(*at)).map(|(_, block)| block).collect();
    if args.dry_run {
        return dry_run::show(args, &plan, &mine);
    }
    let out = args.out.clone().unwrap_or_else(|| folder_of(args));
    let results = Results::open(&out, &bytes, &plan.logs)?;
    let run = fill(&results, &plan, &plan_folder(args), &mine, args.limits)?;
    verdict::tell(args, &plan, &mine, &results, &run, budgets.as_ref())
}

/// Measures those blocks of a plan that have not been measured yet. Its paths begin at `folder`.
pub(super) fn fill(
    results: &Results,
    plan: &Plan,
    folder: &Path,
    blocks: &[&Block<'_>],
    limits: GuestLimits,
) -> Result<guests::Run, Box<dyn std::error::Error>> {
    let orders = guests::orders(plan, blocks)?;
    let (done, todo): (Vec<_>, Vec<_>) = orders.into_iter().partition(|(block, _)| results.has(&block.name));
    // One that is missing would take all cells of its guest with it.
    let guests = todo.iter().filter(|(block, _)| block.place.testbed.is_guest());
    if let Some(program) = guests.flat_map(|(_, order)| cells::programs(order)).find(|name| !tools::is_there(name)) {
        return Err(format!(
            "This machine has no program {program}, which a gateway of the plan has in its command or stop"
        )
        .into());
    }
    let machines = Machines::ready(plan, folder, &todo)?;
    let done = done.iter().map(|(block, _)| block.cells.len()).sum();
    // The board gets rid of candor when the machines go, before anything is told.
    guests::run(limits, results, &todo, &machines.supervisors, done)
}

/// The plan; `None` after saying what is wrong with it.
fn check(source: &Source, bytes: &[u8], folder: &Path, form: Form) -> Result<Option<Plan>, Box<dyn std::error::Error>> {
    let mut checked = experiment::load(bytes, Available::default());
    if let Ok(loaded) = &checked {
        // Looking for kernels may need the network, so only who names some waits for it.
        let names_kernels = loaded.plan.cells().iter().any(|cell| cell.place.kernel.is_some());
        let kernels = if names_kernels { kernels() } else { None };
        let logs = logs(&loaded.plan, folder)?;
        if kernels.is_some() || !logs.is_empty() {
            checked = experiment::load(bytes, Available { kernels: kernels.as_deref(), logs: Some(&logs) });
        }
    }
    match checked {
        Ok(loaded) => {
            render::err(&render::text(source, &loaded.warnings, render::wants_colour()));
            Ok(Some(loaded.plan))
        }
        Err(findings) => {
            tell_findings(source, &findings, form, "not a plan")?;
            Ok(None)
        }
    }
}

/// What the logs hold that a plan replays. A plan in a folder of results has them there.
fn logs(plan: &Plan, folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn std::error::Error>> {
    if Results::are_in(folder) {
        return Ok(Results::existing(folder)?.0.logs(&plan.replays())?);
    }
    let read = |file: &str| -> Result<_, Box<dyn std::error::Error>> {
        let read = read_bytes(&folder.join(file), MOST_LOG_BYTES);
        let (_, bytes) = read.map_err(|error| format!("{error} (paths of logs begin at the folder of the plan)"))?;
        Ok((file.to_owned(), bytes))
    };
    plan.replays().into_iter().map(read).collect()
}

/// Says what is wrong with a file, in the form of the answer.
fn tell_findings(source: &Source, findings: &[Diagnostic], form: Form, verdict: &str) -> io::Result<()> {
    if form == Form::Text {
        render::err(&render::text(source, findings, render::wants_colour()));
        render::err(&format!("{}: {verdict}\n", source.name()));
        return Ok(());
    }
    let value = json!({ "file": source.name(), "valid": false, "findings": render::json(source, findings) });
    render::out(&format!("{value:#}\n"))
}

/// Names of the kernels that can be had; `None` if nobody knows, which shows when the first one boots.
fn kernels() -> Option<Vec<String>> {
    let mut progress = crate::cmd::progress::Progress::new();
    let list = kernel::list(&Cache::of_user().ok()?, &mut progress);
    progress.clear();
    list.ok().filter(|list| list.doubt.is_none()).map(|list| list.kernels.into_iter().map(|one| one.name).collect())
}

/// What paths in the plan begin at.
fn plan_folder(args: &MeasureArgs) -> PathBuf {
    args.plan.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
}

/// Where results are if nobody says where: beside the plan.
fn folder_of(args: &MeasureArgs) -> PathBuf {
    match (&args.plan, args.preset) {
        (Some(plan), _) if plan.extension().is_some_and(|extension| extension == EXTENSION) => {
            plan.with_extension("results")
        }
        (_, Some(preset)) => PathBuf::from(format!("{}.results", preset.name())),
        _ => PathBuf::from("results"),
    }
}

impl Preset {
    const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Gateway2011 => "gateway-2011",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Quick => include_str!("measure/presets/quick.toml"),
            Self::Gateway2011 => include_str!("measure/presets/gateway-2011.toml"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn presets_are_plans_without_doubt() {
        for preset in Preset::value_variants() {
            let loaded = experiment::load(preset.text().as_bytes(), Available::default());
            let loaded = loaded.unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", preset.name()));
            assert_eq!(loaded.warnings, [], "{}", preset.name());
            let blocks = loaded.plan.blocks();
            assert!(guests::orders(&loaded.plan, &blocks.iter().collect::<Vec<_>>()).is_ok());
        }
    }

    #[test]
    fn the_preset_of_2011_is_as_large_as_the_paper() {
        let loaded = experiment::load(Preset::Gateway2011.text().as_bytes(), Available::default()).unwrap();
        assert_eq!(loaded.plan.cells().len(), 688);
    }
}
