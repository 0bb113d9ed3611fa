//! Arguments of `candor-lab figure`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print the tables of the documentation and draw its figures, from results that candor-lab has measured.
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
    /// Median latency over the number of rules, from `candor-lab bench --json`; one file for each source of frames.
    Rules,
    /// Engines compared with their baselines, from `candor-lab bench --baselines --json`; one file for each source of frames.
    Baselines,
    /// Engines in bursts, from `candor-lab bursts --single --baselines --json`.
    Bursts,
    /// One bus compared with many, from pairs of `candor-lab bursts --json`.
    Buses,
    /// Error counter of a node until bus-off and back, from a wire log.
    BusOff,
    /// Order of frames on a bus, from a wire log for FIFO and one for lowest-id controllers.
    Inversion,
}
