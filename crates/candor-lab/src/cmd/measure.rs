//! `candor-lab measure`: measures each cell of a plan once, and resumes after interruptions.

mod budgets;
mod canary;
pub(super) mod dry_run;
mod emit;
mod expected;
pub(super) mod guests;
mod kernel_files;
mod lease;
mod machines;
pub(crate) mod merge;
mod progress;
pub(super) mod results;
pub(super) mod status_table;
pub(super) mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use candor_core::diagnostic::Diagnostic;
use candor_lab::arch::Arch;
use candor_lab::batch;
use candor_lab::cells::{self, Order, OrderError};
use candor_lab::experiment::{self, Available, Block, Plan, Shard, Testbed};
use candor_lab::kernel;
use candor_lab::tools;
use clap::ValueEnum as _;

use crate::cli::{GuestLimits, MeasureArgs, Preset, WantedShard};
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{Form, Invalid, read_bytes};
use candor_cli::render::{self, Source};
use guests::Run;
use lease::{Holder, Lease, LeaseError, Pace};
use machines::Machines;
use progress::Progress;
use results::{Origin, Results};

const MOST_BYTES: usize = 1 << 20;
/// A guest keeps its logs in memory.
const MOST_LOG_BYTES: usize = 32 << 20;

pub(crate) fn run(args: &MeasureArgs) -> Outcome {
    let (name, bytes) = match (&args.plan, args.preset) {
        (_, Some(preset)) => (preset.name(), preset.text().into()),
        (Some(path), None) => read_bytes(path, MOST_BYTES)?,
        (None, None) => return Err("No plan was given".into()),
    };
    if args.show_plan {
        return render::answer(&String::from_utf8_lossy(&bytes), Exit::Fine);
    }
    let source = Source::new(name, &bytes);
    let Some(plan) = check(&source, &bytes, &plan_folder(args), Form::once(args.json))? else {
        return Ok(Exit::CouldNotRun);
    };
    if let Some(system) = args.emit {
        return emit::script(args, system);
    }
    let budgets = args.budget.as_ref().map(|path| budgets::read(path, Form::once(args.json))).transpose()?;
    if matches!(budgets, Some(None)) {
        return Ok(Exit::CouldNotRun);
    }
    let shard = match args.shard {
        WantedShard::Given(shard) => shard,
        WantedShard::Auto => {
            let found = batch::shard(|name| std::env::var(name).ok())?;
            render::err(&format!("candor-lab: shard {} ({})\n", found.shard, found.from));
            found.shard
        }
    };
    let blocks = plan.blocks();
    let dealt = deal(&plan, &blocks, shard.of());
    let mine: Vec<&Block<'_>> =
        dealt.iter().zip(&blocks).filter(|(to, _)| **to == shard.number()).map(|(_, block)| block).collect();
    if args.dry_run {
        return dry_run::show(args, &plan, &mine);
    }
    let out = args.out.clone().unwrap_or_else(|| folder_of(args));
    if !Results::are_in(&out) {
        // Before there are results: those of a wrong plan would keep out the corrected one.
        kernel_files::check(&plan, &plan_folder(args))?;
    }
    let results = Results::open(&out, &bytes, &plan.logs)?;
    let run = match fill(&results, &plan, &plan_folder(args), shard, &mine, args.limits) {
        Err(error) if matches!(error.downcast_ref(), Some(LeaseError::Held { .. })) => {
            render::error_chain("candor-lab", &*error);
            return Ok(Exit::TryAgain);
        }
        run => run?,
    };
    verdict::report(args, &plan, &mine, &results, &run, budgets.flatten().as_ref())
}

/// The number of the shard of each block. Machines are those of one shard, because times of two of them cannot be compared.
fn deal(plan: &Plan, blocks: &[Block<'_>], of: NonZeroU32) -> Vec<u32> {
    let times = |guests: bool| {
        let blocks = blocks.iter().filter(move |block| block.conditions.testbed.is_guest() == guests);
        blocks.map(|block| expected::time(plan, block))
    };
    // The machines come last, as one.
    let alone: Option<Duration> = times(false).reduce(|sum, time| sum + time);
    let all: Vec<Duration> = times(true).chain(alone).collect();
    let dealt = Shard::deal(&all, of);
    let mut guests = dealt.iter();
    let shard = |block: &Block<'_>| {
        let shard = if block.conditions.testbed.is_guest() { guests.next() } else { dealt.last() };
        shard.copied().unwrap_or(1)
    };
    blocks.iter().map(shard).collect()
}

/// Measures the missing blocks of a plan, those of a shard. Paths of the plan are relative to `folder`.
pub(super) fn fill(
    results: &Results,
    plan: &Plan,
    folder: &Path,
    shard: Shard,
    blocks: &[&Block<'_>],
    limits: GuestLimits,
) -> Result<Run, Box<dyn std::error::Error>> {
    let orders =
        blocks.iter().map(|block| Ok((*block, Order::of(plan, block)?))).collect::<Result<Vec<_>, OrderError>>()?;
    let done = |order: &(&Block<'_>, Order)| results.has(&order.0.name);
    if orders.iter().all(done) {
        let cells = blocks.iter().map(|block| block.cells.len()).sum();
        Progress::new(cells, cells).finish();
        return Ok(Run::default());
    }
    let node = batch::node(|name| std::env::var(name).ok());
    let own = Holder { node: node.clone(), host: batch::node(|_| None), pid: std::process::id() };
    let lease = Lease::take(results.folder(), shard, &own, Pace::USUAL)?;
    let (done, todo): (Vec<_>, Vec<_>) = orders.into_iter().partition(done);
    // A missing program would fail all cells of its guest.
    for (block, order) in todo.iter().filter(|(block, _)| block.conditions.testbed.is_guest()) {
        let arch = block.conditions.arch.unwrap_or_default();
        if let Some(program) = cells::programs(order).into_iter().find(|name| !tools::is_there(name, arch)) {
            let arch = arch.name();
            return Err(format!("No program {program} for {arch} guests, which a gateway of the plan runs").into());
        }
    }
    let files = kernel_files::find(results, plan, folder)?;
    let machines = Machines::ready(plan, folder, &todo)?;
    let mut origin = (shard != Shard::WHOLE).then_some(Origin { node, shard, canary: None });
    if let Some(origin) = &mut origin
        && todo.iter().any(|(block, _)| block.conditions.testbed == Testbed::Icount)
        && let Some(cell) = canary::cell(plan)
    {
        match canary::measure(plan, cell, results, limits, &machines.supervisors, &files, &lease)? {
            Ok(name) => origin.canary = Some(name),
            Err(run) => return Ok(run),
        }
    }
    let done = done.iter().map(|(block, _)| block.cells.len()).sum();
    // Dropping the machines removes candor from the board, before the report.
    guests::run(limits, &results.with_origin(origin), &todo, &machines.supervisors, &files, &lease, done)
}

/// `None` if the plan is invalid, after reporting why.
fn check(source: &Source, bytes: &[u8], folder: &Path, form: Form) -> Result<Option<Plan>, Box<dyn std::error::Error>> {
    let mut checked = experiment::load(bytes, Available::default());
    if let Ok(loaded) = &checked {
        let with_names = loaded.plan.cells().iter().filter(|cell| cell.conditions.kernel.is_some());
        let archs: BTreeSet<Arch> = with_names.map(|cell| cell.conditions.arch.unwrap_or_default()).collect();
        let kernels: Vec<String> = archs.into_iter().flat_map(kernel::names).collect();
        let logs = logs(&loaded.plan, folder)?;
        checked = experiment::load(bytes, Available { kernels: Some(&kernels), logs: Some(&logs) });
    }
    match checked {
        Ok(loaded) => {
            render::err(&render::text(source, &loaded.warnings, render::wants_colour()));
            Ok(Some(loaded.plan))
        }
        Err(findings) => {
            report_findings(source, &findings, form, "not a plan")?;
            Ok(None)
        }
    }
}

/// The logs that the plan replays. A directory of results contains its own copies.
fn logs(plan: &Plan, folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn std::error::Error>> {
    if Results::are_in(folder) {
        return Ok(Results::existing(folder)?.0.logs(&plan.replays())?);
    }
    let read = |file: &str| -> Result<_, Box<dyn std::error::Error>> {
        let read = read_bytes(&folder.join(file), MOST_LOG_BYTES);
        let (_, bytes) = read.map_err(|error| format!("{error} (paths of logs are relative to the plan)"))?;
        Ok((file.to_owned(), bytes))
    };
    plan.replays().into_iter().map(read).collect()
}

fn report_findings(source: &Source, findings: &[Diagnostic], form: Form, verdict: &str) -> io::Result<()> {
    if form == Form::Text {
        render::err(&render::text(source, findings, render::wants_colour()));
        render::err(&format!("{}: {verdict}\n", source.name()));
        return Ok(());
    }
    render::out(&render::object(&Invalid::of(source, findings, None)))
}

/// Paths in the plan are relative to it.
fn plan_folder(args: &MeasureArgs) -> PathBuf {
    args.plan.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
}

/// Default directory of the results: next to the plan.
fn folder_of(args: &MeasureArgs) -> PathBuf {
    match (&args.plan, args.preset) {
        (Some(plan), _) if plan.extension().is_some_and(|extension| extension == "toml") => {
            plan.with_extension("results")
        }
        (_, Some(preset)) => PathBuf::from(format!("{}.results", preset.name())),
        _ => PathBuf::from("results"),
    }
}

impl Preset {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Quick => include_str!("measure/presets/quick.toml"),
            Self::Gateway2011 => include_str!("measure/presets/gateway-2011.toml"),
            Self::Engines => include_str!("measure/presets/engines.toml"),
            Self::EnginesNonblocking => include_str!("measure/presets/engines-nonblocking.toml"),
            Self::Rules => include_str!("measure/presets/rules.toml"),
            Self::RulesNonblocking => include_str!("measure/presets/rules-nonblocking.toml"),
            Self::Programs => include_str!("measure/presets/programs.toml"),
            Self::Signals => include_str!("measure/presets/signals.toml"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_plans_without_warnings() {
        for preset in Preset::value_variants() {
            let loaded = experiment::load(preset.text().as_bytes(), Available::default());
            let loaded = loaded.unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", preset.name()));
            assert_eq!(loaded.warnings, [], "{}", preset.name());
            let blocks = loaded.plan.blocks();
            assert!(blocks.iter().all(|block| Order::of(&loaded.plan, block).is_ok()));
        }
    }

    #[test]
    fn preset_of_2011_has_as_many_cells_as_the_paper() {
        let loaded = experiment::load(Preset::Gateway2011.text().as_bytes(), Available::default()).unwrap();
        assert_eq!(loaded.plan.cells().len(), 688);
    }
}
