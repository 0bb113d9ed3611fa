//! Arguments of `candor import`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::NetnsArgs;

/// Make a gateway file of what other tools have.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    Cangw(ImportCangwArgs),
    Tc(ImportTcArgs),
}

/// Read can-gw jobs from cangw commands, from a script with them, or from what `cangw -L` prints.
///
/// Prints the gateway file, and on standard error what may not be meant as written and what was left out. Nothing runs,
/// and nothing is sent to the kernel: what only a running script could know is an error.
///
/// Exit status: 0 every job was imported, 1 something cannot be imported and nothing was written, 2 it could not be
/// read or written.
#[derive(Args, Debug)]
pub(crate) struct ImportCangwArgs {
    /// The script or listing; - is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Read it as this (default: a listing if every line ends with counters and the first is not #!).
    #[arg(long = "as", value_name = "FORM")]
    pub(crate) form: Option<ImportForm>,
}

/// How the order of the lines is to be understood.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ImportForm {
    /// What `cangw -L` prints: the first line is delivered to first.
    Listing,
    /// Commands: the last one is delivered to first.
    Script,
}

/// Read queueing disciplines, classes and filters from a script with commands of tc, or from the kernel.
///
/// Prints a gateway file with [egress.BUS] and its tree for each interface, and on standard error what may not be meant as
/// written, what was left out, and which traps are in it. Nothing runs, and nothing is changed. The filter `can` of the
/// report of 2011 is understood.
///
/// Exit status: 0 everything was imported, 1 something cannot be imported and nothing was written, 2 it could not be read
/// or written.
#[derive(Args, Debug)]
pub(crate) struct ImportTcArgs {
    /// The script; - is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Read what the kernel has now.
    #[arg(long, conflicts_with = "file")]
    pub(crate) running: bool,
    /// Only this interface (repeatable); of a script for one interface that it does not name, which one.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
}

/// Where a gateway file goes.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Write the gateway file here and not to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it is there already.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
