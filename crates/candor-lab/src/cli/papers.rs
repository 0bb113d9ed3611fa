//! Arguments of `candor-lab papers`.

use std::path::PathBuf;

use clap::Args;

use super::GuestLimits;

/// Repeat the measurements of the four papers on current kernels, and report which of their claims still hold.
///
/// Each figure is measured in laboratory guests with Debian's kernels 6.1 and 6.12, plain and real-time. Its page has the published
/// claims, the measured values, and a verdict: holds, differs, no longer true, or not decidable with too few frames. Measurements
/// are kept in the folder; run the same command again to resume an interrupted run.
///
/// Exit status: 0 the pages were written (whatever the verdicts), 1 a measurement failed, 2 usage or other error.
#[derive(Args, Debug)]
pub(crate) struct PapersArgs {
    /// Only these figures (see --list).
    #[arg(value_name = "FIGURE")]
    pub(crate) figures: Vec<String>,
    /// Directory for pages and records.
    #[arg(long, value_name = "DIR", default_value = "papers.results")]
    pub(crate) out: PathBuf,
    /// Measure two of the four kernels and 500 frames per cell, which takes some minutes.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Frames per cell (default: as in the papers; streams always have as many as in the paper).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=65_000))]
    pub(crate) frames: Option<u32>,
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
