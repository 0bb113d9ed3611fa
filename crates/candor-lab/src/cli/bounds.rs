//! Arguments of `candor-lab bounds`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::{parse_duration, parse_duration_or_zero};
use clap::Args;

/// Search for late frames on simulated buses, and compare them with the bounds of `candor bounds`.
///
/// Plays the traffic of the gateway file on bit-exact buses: the critical instant of each message, random schedules, and changes of
/// the worst ones. With --guest, the worst schedule of each message is played again with the gateway itself between the buses, in a
/// guest that counts instructions: its drivers, queues and engine are real, the other nodes are simulated.
///
/// No frame may be later than its bound. If one is, either the bound or the simulation is wrong; --schedules keeps the schedule, and
/// --replay plays it again.
///
/// Exit status: 0 no bound is exceeded, 1 one is, or the file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab bounds car.toml --latency 500us
  candor-lab bounds car.toml --latency 500us --controller 3 --guest --html bounds.html
  candor-lab bounds car.toml --latency 500us --schedules worst.json
  candor-lab bounds car.toml --latency 500us --replay worst.json")]
pub(crate) struct BoundsArgs {
    /// Gateway file with traffic tables, or databases with cycle times.
    #[arg(value_name = "FILE")]
    pub(crate) gateway: PathBuf,
    /// Longest time from the end of a frame on one bus to its copy in the queue of the next. Required if a message is forwarded.
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero)]
    pub(crate) latency: Option<Duration>,
    /// Frames that the controllers of the gateway hold, the one on the wire included.
    #[arg(long, value_name = "FRAMES", default_value = "1")]
    pub(crate) controller: NonZeroU32,
    /// Schedules to try for each message, in addition to its critical instant.
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) plays: u32,
    /// Chooses the schedules. The same seed tries the same ones.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write the worst schedule of each message to this file, for --replay.
    #[arg(long, value_name = "FILE")]
    pub(crate) schedules: Option<PathBuf>,
    /// Play the schedules of this file in place of a search.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plays", "seed", "schedules"])]
    pub(crate) replay: Option<PathBuf>,
    /// Write a page with loads, bounds, deadlines, observations and worst cases to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Play the worst schedules with the gateway itself, in a guest.
    #[arg(long)]
    pub(crate) guest: bool,
    /// Kernel of the guest, by its name in `candor-lab kernels` or its path.
    #[arg(long, value_name = "NAME|PATH", requires = "guest")]
    pub(crate) kernel: Option<String>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration, requires = "guest")]
    pub(crate) timeout: Duration,
    /// Play on this machine: in the guest.
    #[arg(long, hide = true, requires = "replay")]
    pub(crate) here: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
