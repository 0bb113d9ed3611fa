//! Arguments of `candor-lab measure` and `candor-lab merge`.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use candor_lab::experiment::Shard;
use clap::{Args, ValueEnum};

/// Measure every cell of a plan of experiments.
///
/// A plan crosses factors (kernel, gateway, rules, traffic, load, …) into cells, and measures a series of frames in each, in
/// random order and in as many laboratory guests at once as there are processors, or on interfaces of this machine and of a
/// board, one cell after the other. What was measured stays: after an interruption the same command goes on. docs/plans.md says
/// what a plan can hold.
///
/// Exit status: 0 every cell was measured, 1 the plan is not valid, a cell failed or is invalid, or a budget is exceeded, 2 it
/// could not run.
#[derive(Args, Debug)]
pub(crate) struct MeasureArgs {
    /// The plan; - is standard input.
    #[arg(required_unless_present = "preset")]
    pub(crate) plan: Option<PathBuf>,
    /// A plan that candor brings along.
    #[arg(long, value_name = "NAME", conflicts_with = "plan")]
    pub(crate) preset: Option<Preset>,
    /// Print the plan and do nothing else: something to begin with.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    pub(crate) show_plan: bool,
    /// Folder for the results (default: the plan's name with the ending .results).
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only show the cells and how long they may take.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) limits: GuestLimits,
    /// Measure only this part of the plan, such as 2/8; `candor-lab merge` puts the parts together.
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE, hide_default_value = true)]
    pub(crate) shard: Shard,
    /// Compare the cells with the budgets in this file, and exit with 1 if one is exceeded.
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How guests of the laboratories are run.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct GuestLimits {
    /// Guests at once (default: one for each processor).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// End a guest, or a cell on this machine or a board, after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Put the results of parts of one plan together.
///
/// Exit status: 0 they are together, 1 parts are missing, 2 they are not of one plan, or the folder cannot be written.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// Folders with results of `candor-lab measure --shard`.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) parts: Vec<PathBuf>,
    /// Folder for all of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Plans that candor brings along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// What a gateway costs, in some minutes: kernel and user space, cards and virtual interfaces, alone and on half a bus.
    Quick,
    /// The matrix of the 2011 paper on four kernels: 688 cells of 10 000 frames.
    #[value(name = "gateway-2011")]
    Gateway2011,
}
