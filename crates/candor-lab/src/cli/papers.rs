//! Arguments of `candor-lab papers`.

use std::path::PathBuf;

use clap::Args;

use super::GuestLimits;

/// Repeat what the four papers measured, on today's kernels, and say which of their claims still hold.
///
/// Each figure is measured in laboratory guests with Debian's kernels 6.1 and 6.12, plain and real-time, and becomes a page: what was
/// claimed, what we see, and whether it holds, differs, or is no longer true. What was measured stays in the folder; the same command
/// goes on after an interruption, and makes the pages anew.
///
/// Exit status: 0 the pages were made (whatever they say), 1 something could not be measured, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct PapersArgs {
    /// Only these figures, as --list names them.
    #[arg(value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// Folder for pages and records.
    #[arg(long, value_name = "DIR", default_value = "papers.results")]
    pub(crate) out: PathBuf,
    /// Two of the four kernels and 500 frames of each cell: some minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Frames of each cell (default: as many as the papers had, which streams always have).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=65_000))]
    pub(crate) frames: Option<u32>,
    /// Say which figures there are, and do nothing else.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the plan that a figure is measured by, for candor-lab measure, and do nothing else.
    #[arg(long, value_name = "FIGURE", conflicts_with = "list")]
    pub(crate) show_plan: Option<String>,
    /// Measure nothing: make the pages from what is there.
    #[arg(long)]
    pub(crate) pages_only: bool,
    #[command(flatten)]
    pub(crate) limits: GuestLimits,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
