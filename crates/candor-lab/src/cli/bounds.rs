//! Arguments of `candor-lab bounds`.

use std::path::PathBuf;
use std::time::Duration;

use candor_cli::assumed::AssumedArgs;
use candor_config::engine::Engine;
use candor_core::units::parse_duration;
use clap::{Args, ValueEnum};

use super::engine;

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
  candor-lab bounds car.toml --latency 500us --queues fifo,bands,arbitration
  candor-lab bounds car.toml --latency 1ms --controller 10 --guest --engines kernel,bpf,mmap-adaptive
  candor-lab bounds car.toml --latency 500us --replay worst.json")]
pub(crate) struct BoundsArgs {
    /// Gateway file with traffic tables, or databases with cycle times.
    #[arg(value_name = "FILE")]
    pub(crate) gateway: PathBuf,
    #[command(flatten)]
    pub(crate) assumed: AssumedArgs,
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
    /// Compare queues of the gateway: file (that of the file), fifo (one queue in the order in which frames come), bands (those that
    /// candor bounds --propose finds), arbitration (the most urgent frame first).
    #[arg(long, value_name = "QUEUES", value_delimiter = ',', value_enum, default_value = "file")]
    pub(crate) queues: Vec<GatewayQueue>,
    /// Compare engines of the gateway in the guest, which candor engines lists (default: that of the file). With --queues, each
    /// engine with each queue.
    #[arg(long, value_name = "ENGINES", value_delimiter = ',', value_parser = engine(), requires = "guest", hide_possible_values = true)]
    pub(crate) engines: Vec<Engine>,
    /// Play the worst schedules with the gateway itself, in a guest.
    #[arg(long)]
    pub(crate) guest: bool,
    /// Kernel of the guest, by its name in `candor-lab kernels` or its path (default: debian-6.1, or debian-7.3 if a queue is in
    /// the order of arbitration or an engine is bpf).
    #[arg(long, value_name = "NAME|PATH", requires = "guest")]
    pub(crate) kernel: Option<String>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration, requires = "guest")]
    pub(crate) timeout: Duration,
    /// Play on this machine: in the guest, where each of --queues has a file and schedules.
    #[arg(long, hide = true, requires = "guest")]
    pub(crate) here: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the gateway queues its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GatewayQueue {
    File,
    Fifo,
    Bands,
    Arbitration,
}

impl GatewayQueue {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Fifo => "fifo",
            Self::Bands => "bands",
            Self::Arbitration => "arbitration",
        }
    }
}
