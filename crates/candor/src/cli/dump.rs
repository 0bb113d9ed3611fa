//! Arguments of `candor dump`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use clap::Args;

use super::NetnsArgs;

/// Print the frames of CAN buses.
///
/// Each line has the receive time of the kernel, the bus, TX if a program of this machine sent the frame or RX, the identifier,
/// the length and the bytes. Sends nothing. Ends at SIGINT or SIGTERM, and then prints the number of frames and of those that
/// were lost.
///
/// Exit status: 0 frames were printed, 1 none was in the time of --duration or the gateway file is not valid, 2 it could not
/// run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor dump can0 can1
  candor dump --config car.toml --decode                      the buses of a gateway, with their databases
  candor dump can0 --database car.dbc --match \"ABS1.VehSpd > 50\" --decode
  candor dump any --log > drive.log                           for candor-lab replay, canplayer, python-can
  candor dump can0 --match 7E8 --count 1 --duration 2s        wait for a frame, in scripts")]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) buses: BusesArgs,
    /// Show signals. Without --config and --database, uses the file of the running gateway.
    #[arg(long, conflicts_with = "log")]
    pub(crate) decode: bool,
    /// End after this number of frames.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<NonZeroU32>,
    /// End after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Print the time since the first line.
    #[arg(long, conflicts_with = "log")]
    pub(crate) zero: bool,
    /// Print the log format of candump.
    #[arg(long, conflicts_with = "json")]
    pub(crate) log: bool,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which frames are received.
#[derive(Args, Debug)]
pub(crate) struct BusesArgs {
    /// Interfaces, or buses of --config; any means all CAN interfaces (default: the buses of --config, otherwise any).
    pub(crate) bus: Vec<String>,
    /// Gateway file, for the names of its buses and their databases.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Database (DBC or KCD file) of all buses, in addition to those of --config (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) database: Vec<PathBuf>,
    /// Only these frames: a filter such as 123 or 100..1FF, a message, a condition such as "ABS1.VehSpd > 50", or errors
    /// (repeatable: frames that match one of them).
    #[arg(long = "match", value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
}
