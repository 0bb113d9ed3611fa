//! `candor-lab timeline`: a fixed plan on every kernel, its cost from kernel to kernel, and a gate for the newest one.
//!
//! ```text
//!  plan.toml ─▶ Experiment (plan or method) ─▶ a guest of each kernel ─▶ DIR/KERNEL_VERSION/PROGRAMS ─▶ Line ─▶ table, SVG, gate
//! ```

mod lines;
mod output;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use candor_cli::{Exit, Outcome, render};
use candor_lab::cache::Cache;
use candor_lab::experiment::name_of;
use candor_lab::guest;
use candor_lab::kernel::{self, Kernel, Testbed};
use serde::Deserialize;

use super::papers::{Experiment, Extent, Measurement, Term};
use crate::cli::TimelineArgs;
use lines::{Line, Point};
pub(super) use output::View;

/// End of the names of real-time kernels.
const REAL_TIME: &str = "-rt";

/// The fixed plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixed {
    /// Paths into the JSON answers of the methods, by name of a [`Term`].
    answers: BTreeMap<String, String>,
    #[serde(rename = "experiment")]
    experiments: Vec<Experiment>,
    #[serde(rename = "row")]
    rows: Vec<Row>,
}

/// A measurement on every kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    experiment: String,
    of: Term,
}

pub(crate) fn run(args: &TimelineArgs) -> Outcome {
    let fixed = fixed()?;
    if args.show_plan {
        let plans = fixed.experiments.iter().filter_map(|experiment| experiment.plan_text(Extent::WHOLE));
        return render::answer(&plans.collect::<String>(), Exit::Fine);
    }
    let kernels = kernels(args)?;
    let count = |is_real_time| kernels.iter().filter(|kernel| kernel.name.ends_with(REAL_TIME) == is_real_time).count();
    if args.fail_above.is_some() && count(false) < 2 && count(true) < 2 {
        return Err("--fail-above compares the newest kernel with the one before it: name two with --kernel".into());
    }
    let programs = programs()?;
    let mut is_whole = true;
    let mut points = Vec::new();
    for kernel in &kernels {
        let folder = folder(args, kernel, &programs);
        let (point, is_measured) = fixed.measure(kernel, &folder, args)?;
        is_whole &= is_measured;
        points.push(point);
    }
    let names: Vec<&str> = fixed.rows.iter().map(|row| row.name.as_str()).collect();
    let lines = Line::all(points);
    let slower = args.fail_above.map(|share| lines::slower(&names, &lines, share));
    output::write(&args.out, &names, &lines)?;
    let exit = if is_whole && slower.as_ref().is_none_or(Vec::is_empty) { Exit::Fine } else { Exit::No };
    if args.json {
        return render::answer(&render::object(&View::of(&names, &lines, slower.as_deref())), exit);
    }
    render::answer(&output::text(&names, &lines, slower.as_deref(), args), exit)
}

fn fixed() -> Result<Fixed, String> {
    toml::from_str(include_str!("timeline/plan.toml")).map_err(|error| format!("timeline/plan.toml: {error}"))
}

/// Those named, or all plain ones, from the oldest to the newest; with `--rt` also the real-time ones.
fn kernels(args: &TimelineArgs) -> Result<Vec<Kernel>, String> {
    let cache = Cache::of_user().map_err(|error| error.to_string())?.of(args.arch);
    let known: Vec<Kernel> =
        kernel::list(&cache).into_iter().filter(|kernel| kernel.testbed == Testbed::Icount).collect();
    if args.kernel.is_empty() {
        return Ok(known.into_iter().filter(|kernel| args.rt || !kernel.name.ends_with(REAL_TIME)).collect());
    }
    let named = |name: &String| {
        let found = known.iter().find(|kernel| kernel.name == *name).cloned();
        found.ok_or_else(|| format!("no kernel {name} that counts instructions; candor-lab kernels lists all"))
    };
    args.kernel.iter().map(named).collect()
}

/// Identifies the programs that guests run: what another build has measured is measured again.
fn programs() -> Result<String, Box<dyn std::error::Error>> {
    let lab = guest::guest_lab()?;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    Ok(name_of(&[read(&lab)?, read(&lab.with_file_name("candor"))?].concat()))
}

/// Of what one build measures on one version of a kernel.
fn folder(args: &TimelineArgs, kernel: &Kernel, programs: &str) -> PathBuf {
    let arch = if args.arch.is_here() { String::new() } else { format!("{}-", args.arch.name()) };
    args.out.join("records").join(format!("{arch}{}_{}", kernel.name, kernel.version)).join(programs)
}

impl Fixed {
    /// Measures what is missing. Returns all values, and whether every guest succeeded.
    fn measure(
        &self,
        kernel: &Kernel,
        folder: &Path,
        args: &TimelineArgs,
    ) -> Result<(Point, bool), Box<dyn std::error::Error>> {
        let kernels = [kernel.name.as_str()];
        let extent = Extent { kernels: &kernels, arch: args.arch, ..Extent::WHOLE };
        let mut is_whole = true;
        let mut measured: BTreeMap<&str, Measurement> = BTreeMap::new();
        for experiment in &self.experiments {
            let name = experiment.name.get_ref().as_str();
            render::err(&format!("candor-lab: {} {}: {name}\n", kernel.name, kernel.version));
            is_whole &= experiment.measure(extent, folder, args.limits)?;
            measured.insert(name, experiment.read(&self.answers, extent, folder)?);
        }
        let value = |row: &Row| measured.get(row.experiment.as_str())?.value(&row.of, Some(&kernel.name), true);
        // An instruction lasts 1 ns; latencies of cells are in µs.
        let instructions = |row: &Row| {
            let unit = if self.is_plan(&row.experiment) { 1000.0 } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of instructions")]
            value(row).map(|value| (value * unit).round() as u64)
        };
        let instructions: Vec<Option<u64>> = self.rows.iter().map(instructions).collect();
        let is_whole = is_whole && instructions.iter().all(Option::is_some);
        Ok((Point { kernel: kernel.name.clone(), version: kernel.version.clone(), instructions }, is_whole))
    }

    fn is_plan(&self, name: &str) -> bool {
        self.experiments.iter().any(|experiment| experiment.name.get_ref() == name && experiment.method.is_none())
    }
}
