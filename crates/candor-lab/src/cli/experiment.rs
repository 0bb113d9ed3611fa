//! Arguments of `candor-lab measure`, `merge`, `papers` and `timeline`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use candor_core::units::parse_duration;
use candor_lab::arch::Arch;
use candor_lab::experiment::{Shard, ShardError};
use clap::{Args, ValueEnum};

use super::guests::ARCHS;
use super::named;
use super::results::share;

/// Measure every cell of an experiment plan.
///
/// A plan crosses factors (kernel, gateway, rules, traffic, load, …) into cells. Each cell is a series of frames, measured in random
/// order: in guests, one per CPU at once, or on interfaces of this machine and of a board, one cell after the
/// other. Results are kept; run the same command again to resume an interrupted measurement. docs/plans.md describes plans.
///
/// In a batch system, --shard auto takes a part from the number of the task, and --emit prints a script that submits all parts and
/// their merge. docs/how-to/cluster.md has the commands.
///
/// Exit status: 0 every cell was measured; 1 a cell failed or is invalid, or a budget is exceeded; 2 the plan is not valid, or it
/// could not run; 75 cells are missing, because a guest failed or another process measures this part: try again later.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab measure --preset quick --dry-run        the cells and the estimated time
  candor-lab measure --preset quick --show-plan > my.toml
  candor-lab measure my.toml                         again to resume
  candor-lab measure my.toml --emit slurm -n 16 | sh 16 tasks of Slurm, and a merge after them
  candor-lab report my.results --html report.html")]
pub(crate) struct MeasureArgs {
    /// Plan file; - is standard input.
    #[arg(required_unless_present = "preset")]
    pub(crate) plan: Option<PathBuf>,
    /// Built-in plan.
    #[arg(long, value_name = "NAME", conflicts_with = "plan")]
    pub(crate) preset: Option<Preset>,
    /// Print the plan and exit, as a template for your own.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    pub(crate) show_plan: bool,
    /// Directory for the results (default: the plan's name with the extension .results).
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Only list the cells and the estimated time.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) limits: GuestLimits,
    /// Measure only this part of the plan, such as 2/8; `candor-lab merge` combines the parts. auto: that of this task of Slurm, Grid
    /// Engine, GNU parallel, Kubernetes or Nomad; CANDOR_SHARDS is the number of parts, if the system does not tell it.
    #[arg(long, value_name = "I/N|auto", default_value_t = WantedShard::Given(Shard::WHOLE), hide_default_value = true)]
    pub(crate) shard: WantedShard,
    /// Print a script for this batch system that measures the plan in parts and merges them, and exit.
    #[arg(long, value_name = "SYSTEM", requires = "shards", conflicts_with_all = ["show_plan", "dry_run", "json", "shard"])]
    pub(crate) emit: Option<BatchScript>,
    /// Number of parts for --emit.
    #[arg(short = 'n', long, value_name = "N", requires = "emit", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) shards: Option<u32>,
    /// Compare the cells with the budgets in this file, and exit with 1 if one is exceeded.
    #[arg(long, value_name = "FILE")]
    pub(crate) budget: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The part of a plan to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedShard {
    Given(Shard),
    /// From the environment of a batch system.
    Auto,
}

impl FromStr for WantedShard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Given) }
    }
}

impl fmt::Display for WantedShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(shard) => shard.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// Batch systems for which there are scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BatchScript {
    /// A shell script that submits a job array and the merge after it.
    Slurm,
    /// An Indexed Job of Kubernetes and a job that merges, as YAML.
    K8s,
    /// A shell script that runs GNU parallel, on this machine or by ssh.
    Parallel,
}

/// Limits of all guests of a plan together.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct GuestLimits {
    /// Guests at once (default: one per CPU).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Kill a guest, or end a cell on this machine or a board, after this time.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Combine the results of the parts of one plan.
///
/// Every node of a cluster has measured a canary: a short cell, which must be the same on all of them, byte for byte. Cells of a node
/// that differs from most are not merged. Missing shards are listed in the form that Slurm's --array takes.
///
/// Exit status: 0 the results are complete, 1 parts are missing or not trusted, 2 they are not of one plan, or the directory cannot
/// be written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab merge plan.shards/* --out plan.results
  candor-lab merge plan.shards/* --out plan.results --discard    then repeat the shards that are listed")]
pub(crate) struct MergeArgs {
    /// Directories with results of `candor-lab measure --shard`. Files are left out.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) parts: Vec<PathBuf>,
    /// Directory for the combined results.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Remove cells that are not trusted from the parts, so that the next run of their shards measures them again.
    #[arg(long)]
    pub(crate) discard: bool,
}

/// Built-in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Cost of a gateway, in a few minutes: kernel and user space, cards and virtual interfaces, idle and at 50 % bus load.
    Quick,
    /// The matrix of the 2011 paper on four kernels: 688 cells of 10 000 frames.
    #[value(name = "gateway-2011")]
    Gateway2011,
    /// Every engine that blocks, with its baseline, on two kernels: tables of docs/engines.md.
    Engines,
    /// The same for engines that never block.
    EnginesNonblocking,
    /// 1 to 1024 rules with masks, in the kernel and in user space: the table of docs/speed.md.
    Rules,
    /// The same for an engine that never blocks.
    RulesNonblocking,
    /// eBPF programs beside can-gw on Linux 7.3: a table of docs/engines.md.
    Programs,
    /// Changed signals and composed frames beside plain forwarding: figures of docs/signals.md.
    Signals,
}

/// Repeat the measurements of the four papers on current kernels, and report which of their claims still hold.
///
/// Each figure is measured in laboratory guests with Debian's kernels 6.1, 6.12 and 7.3, plain and real-time. Its page has the
/// published claims, the measured values, and a verdict: holds, differs, no longer true, or not decidable with too few frames.
/// Measurements are kept in the directory; run the same command again to resume an interrupted run. Where the directory has
/// the papers' number of frames, --frames does not measure fewer.
///
/// Exit status: 0 the pages were written (regardless of the verdicts), 1 a measurement failed, 2 usage or other error.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  candor-lab papers --list               the figures
  candor-lab papers --quick              all figures, two kernels, 500 frames a cell: less than 10 minutes
  candor-lab papers all --frames 1000    all figures, six kernels: half an hour on two idle CPUs
  candor-lab papers all                  as many frames as in the papers: hours
  candor-lab papers 2011-9               one figure"
)]
pub(crate) struct PapersArgs {
    /// Figures (see --list), or all.
    #[arg(value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// Directory for pages and records.
    #[arg(long, value_name = "DIR", default_value = "papers.results")]
    pub(crate) out: PathBuf,
    /// Measure two of the six kernels and 500 frames per cell, which takes a few minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Frames per cell (default: as in the papers; streams always have as many as in the paper).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=65_000))]
    pub(crate) frames: Option<u32>,
    /// Processor of the guests.
    #[arg(long, default_value = "x86-64", value_parser = named(ARCHS))]
    pub(crate) arch: Arch,
    /// List the figures and exit.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the plan of a figure, for candor-lab measure, and exit.
    #[arg(long, value_name = "FIGURE", conflicts_with = "list")]
    pub(crate) show_plan: Option<String>,
    /// Rebuild the pages from existing measurements, without measuring.
    #[arg(long)]
    pub(crate) pages_only: bool,
    #[command(flatten)]
    pub(crate) limits: GuestLimits,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure a fixed plan on every kernel, and show its cost from kernel to kernel.
///
/// The plan: can-gw alone, with one and with 512 rules that have masks, and with a modification; the engines read-write and
/// mmap-adaptive; and can_send() through prio with canid filters. Guests count instructions, so a difference of one is a difference,
/// and equal measurements are equal. Kernels are those of candor-lab kernels, from the oldest to the newest, or those named with
/// --kernel in the order given, and your own after them.
///
/// What one build of candor has measured on one version of a kernel is not measured again. After a new kernel, run the same command:
/// only that kernel is measured.
///
/// --fail-above is a gate: it compares the last kernel shown with the one before it, so that what an earlier kernel made slower
/// does not fail forever.
///
/// Exit status: 0 measured, and no measurement is slower than --fail-above allows; 1 one is, or a guest failed;
/// 2 --fail-above cannot compare the two kernels, usage or other error.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab timeline                              all plain kernels: table, and curves in timeline.results
  candor-lab timeline --rt                         the real-time kernels, too, as a second table
  candor-lab timeline --fail-above 2%              a gate for the newest kernel, for a daily run
  candor-lab timeline --kernel debian-6.12 --kernel debian-7.3 --fail-above 2%
  candor-lab timeline --kernel debian-7.3 --kernel ../linux --fail-above 0%    your own kernel")]
pub(crate) struct TimelineArgs {
    /// Kernel, by its name in `candor-lab kernels`, or your own, as in `candor-lab run`: a Debian package, or the directory in which
    /// a kernel was built (repeatable; default: all plain ones of `candor-lab kernels` that count instructions).
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "rt")]
    pub(crate) kernel: Vec<String>,
    /// Measure the real-time kernels, too.
    #[arg(long)]
    pub(crate) rt: bool,
    /// Exit with 1 if a median is larger by more than this on the last kernel than on the one before it; such as 2%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) fail_above: Option<f64>,
    /// Directory for table, curves and records.
    #[arg(long, value_name = "DIR", default_value = "timeline.results")]
    pub(crate) out: PathBuf,
    /// Processor of the guests.
    #[arg(long, default_value = "x86-64", value_parser = named(ARCHS))]
    pub(crate) arch: Arch,
    /// Print the plan with the kernels chosen, for candor-lab measure, and as a comment what is no part of a plan; and exit.
    #[arg(long)]
    pub(crate) show_plan: bool,
    #[command(flatten)]
    pub(crate) limits: GuestLimits,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
