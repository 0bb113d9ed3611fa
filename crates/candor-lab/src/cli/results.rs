//! Arguments of the commands that evaluate measurements.

use std::path::PathBuf;
use std::str::FromStr;

use candor_lab::report::TABLE_FIGURES;
use clap::{Args, ValueEnum};

/// Compare two sets of measurements, such as two commits, kernels or gateways.
///
/// A and B are directories of candor-lab measure, record files, or directories with records. Cells with the same levels of all
/// factors are compared; with --a and --b, cells that differ only in these factors, also within one directory. Where instructions
/// are counted, the difference is exact. Otherwise it is judged over the runs (repeats of the plan), relative to the noise floor
/// between equal runs. Comparisons for which there are too few frames or runs are refused with the reason.
///
/// Exit status: 0 compared, 1 B is worse than --tolerance allows, 2 they could not be compared, or with --tolerance not all of
/// them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab compare quick.results --a gateway=kernel --b gateway=user      two gateways of one measurement
  candor-lab compare before.results after.results --tolerance '1 %'         two commits, for CI")]
pub(crate) struct CompareArgs {
    /// Reference, for example before a change.
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// Measurements to compare with it (default: A, with --a and --b).
    #[arg(value_name = "B", required_unless_present = "b")]
    pub(crate) second: Option<PathBuf>,
    /// Use only cells of A with this level, such as gateway=kernel (repeatable).
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) a: Vec<Level>,
    /// Use only cells of B with this level (repeatable).
    #[arg(long, value_name = "FACTOR=LEVEL")]
    pub(crate) b: Vec<Level>,
    /// Exit with 1 if B is slower by more than this at p50, p90 or p99, or loses more frames; such as "0.5 %".
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) tolerance: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A factor and one of its levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) factor: String,
    pub(crate) level: String,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((factor, level)) if !factor.is_empty() => {
                Ok(Self { factor: factor.to_owned(), level: level.to_owned() })
            }
            _ => Err("a level is written FACTOR=LEVEL, such as gateway=kernel".to_owned()),
        }
    }
}

/// Parses a percentage as a share.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent.filter(|percent| (0.0..=1000.0).contains(percent)) {
        Some(percent) => Ok(percent / 100.0),
        None => Err("a share is written in percent, such as \"0.5 %\"".to_owned()),
    }
}

/// Report recorded measurements, or the results of a plan.
///
/// A directory of candor-lab measure is reported as a whole: the figures of each cell of the plan, and with --html a map of all
/// cells. Nothing is measured.
///
/// With --table, two factors of the plan are rows and columns: candor-lab report rules.results --table rules gateway
///
/// The frame exports have a row for each frame, with the levels of its cell and its times in ns; docs/plans.md lists the columns.
///
/// Exit status: 0 reported, 2 it could not be reported.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab report quick.results --html report.html
  candor-lab report quick.results --markdown table.md --csv frames.csv")]
pub(crate) struct ReportArgs {
    /// Record files or directories with records; or one directory with the results of a plan.
    #[arg(required = true)]
    pub(crate) records: Vec<PathBuf>,
    /// Write a self-contained HTML report.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the latency profile of the records, or curves of the --table, as an SVG image.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print a Markdown table of two factors of the plan, such as: rules gateway.
    #[arg(long, num_args = 2, value_names = ["ROWS", "COLUMNS"], conflicts_with = "json")]
    pub(crate) table: Vec<String>,
    /// Figures of the --table: latencies, lost frames, p50 as a multiple of gateway kernel or of the engine's baseline.
    #[arg(long, value_name = "FIGURE", value_delimiter = ',', default_value = "p50", value_parser = TABLE_FIGURES)]
    pub(crate) figures: Vec<String>,
    /// Write a table of all cells as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write commands for the test shell of LAVA, `lava-test-case NAME --result pass --measurement 2.9 --units us`: each cell's p50,
    /// p99, max and lost frames.
    #[arg(long, value_name = "FILE")]
    pub(crate) lava: Option<PathBuf>,
    /// Write all frames as comma-separated values.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write all frames as JSON, one per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// Write all frames as Parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a table or a figure of the documentation from measured results.
///
/// Exit status: 0 the figure was made, 2 the results do not fit it.
#[derive(Args, Debug)]
pub(crate) struct FigureArgs {
    /// Table or figure to make.
    #[arg(value_enum)]
    pub(crate) which: Figure,
    /// JSON of the measuring command, or logs of candor-lab wire; one file for each guest.
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Write the drawing to this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Tables and figures of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figure {
    /// Latency and loss over the period of frames, from `candor-lab stream --json`; one file for each CPU speed.
    Saturation,
    /// Engines in bursts, from `candor-lab bursts --single --baselines --json`.
    Bursts,
    /// One bus compared with many, from pairs of `candor-lab bursts --json`.
    Buses,
    /// Error counter of a node until bus-off and back, from a wire log.
    BusOff,
    /// Order of frames on a bus, from a wire log for FIFO and one for lowest-id controllers.
    Inversion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_shares_are_parsed() {
        let level = |text: &str| text.parse::<Level>().map(|level| (level.factor, level.level));
        assert_eq!(level("traffic=50 %"), Ok(("traffic".to_owned(), "50 %".to_owned())));
        assert!(level("kernel").is_err() && level("=kernel").is_err());
        assert_eq!(["0.5 %", "0%", "100 %"].map(share), [Ok(0.005), Ok(0.0), Ok(1.0)]);
        assert!(["", "0.5", "-1 %", "nan %", "2000 %"].iter().all(|wrong| share(wrong).is_err()));
    }
}
