//! Arguments of `candor watch`.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use clap::Args;

use super::NetnsArgs;

/// Report frames that a gateway file does not allow, without forwarding (intrusion detection).
///
/// Receives the buses from which routes come, as candor run does, and sends nothing. Reports violations of guards, frames whose
/// checksum, counter or MAC is wrong, and identifiers that no route takes. Needs no root and no running gateway, and only the
/// interfaces on which it listens must exist: candor-lab learn allow writes the file, a tap on the bus is enough. Ends at SIGINT
/// or SIGTERM.
///
/// Exit status: 0 nothing was found, 1 something was found or the gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor watch learned.toml
  candor watch learned.toml --on can0             only this bus
  candor watch border.toml --duration 60s --json  for scripts")]
pub(crate) struct WatchArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Watch only this bus: its name in the file, or its interface (repeatable; default: every bus from which a route comes).
    #[arg(long, value_name = "BUS")]
    pub(crate) on: Vec<String>,
    /// Also with the routes of this mode of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}
