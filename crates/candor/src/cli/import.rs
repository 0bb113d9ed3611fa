//! Arguments of `candor import`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::NetnsArgs;

/// Convert cangw or tc commands to a gateway file.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  candor import cangw gateway.sh -o car.toml     a script with cangw commands
  cangw -L | candor import cangw                 the jobs that are installed now
  candor import tc qdisc.sh -o car.toml          a script with tc commands
  candor import tc --running --interface can0    the qdiscs of an interface")]
pub(crate) enum ImportCommand {
    Cangw(ImportCangwArgs),
    Tc(ImportTcArgs),
}

/// Convert cangw commands, or the output of `cangw -L`, to a gateway file.
///
/// Prints the gateway file; warnings and skipped commands go to standard error. The script is parsed, not run: a value that
/// is known only at run time is an error.
///
/// Exit status: 0 every job was imported, 1 a job cannot be imported and nothing was written, 2 a file could not be read or
/// written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor import cangw gateway.sh -o car.toml
  cangw -L | candor import cangw")]
pub(crate) struct ImportCangwArgs {
    /// Script or listing; - reads standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Input format (default: a listing if every line ends with counters and the first is not #!).
    #[arg(long = "as", value_name = "FORM")]
    pub(crate) form: Option<ImportForm>,
}

/// The input format, which determines the order of delivery.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportForm {
    /// Output of `cangw -L`: frames are delivered to the job of the first line first.
    Listing,
    /// Commands: frames are delivered to the job of the last command first.
    Script,
}

/// Convert tc commands, or the qdiscs of the running kernel, to a gateway file.
///
/// Prints a gateway file with the tree of each interface as [egress.BUS]; warnings, skipped commands and known traps go to
/// standard error. The script is parsed, not run. The filter `can` of the 2011 report is supported.
///
/// Exit status: 0 everything was imported, 1 a command cannot be imported and nothing was written, 2 a file could not be read
/// or written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor import tc qdisc.sh -o car.toml
  candor import tc --running --interface can0")]
pub(crate) struct ImportTcArgs {
    /// Script; - reads standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Read the qdiscs of the running kernel.
    #[arg(long, conflicts_with = "file")]
    pub(crate) running: bool,
    /// Import only this interface (repeatable); required for a script that takes the interface as a parameter.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
}

/// The destination of a gateway file.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Write the gateway file here instead of to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output file.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
