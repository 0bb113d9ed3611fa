//! Arguments of `candor bounds`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use candor_config::bounds::Question;
use candor_core::units::parse_duration_or_zero;
use clap::Args;

/// Compute how late each message can be, on its bus and through the gateway.
///
/// The traffic is that of the traffic tables of a gateway file, and messages with a cycle time of its databases. Frames that
/// routes forward are sent by the queue of [egress.BUS]. Each bus needs its bitrate. Computes only, and needs no privilege and no
/// CAN. docs/bounds.md says what the bounds assume.
///
/// Exit status: 0 all deadlines hold, 1 a deadline can be missed or the gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor bounds car.toml --latency 200us
  candor bounds car.toml --latency 180us --quantile 0.999 --controller 3
  candor bounds car.toml --latency 200us --errors 1 --json")]
pub(crate) struct BoundsArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) assumed: AssumedArgs,
    /// Also compute the growth of traffic, the bit rates and the latency that still hold.
    #[arg(long)]
    pub(crate) limits: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What bounds assume of the machine and the buses.
#[derive(Args, Debug)]
pub(crate) struct AssumedArgs {
    /// Longest time from the end of a frame on one bus to its copy in the queue of the next: a budget, unless there is a
    /// --quantile. Required for bounds of forwarded messages.
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero)]
    pub(crate) latency: Option<Duration>,
    /// --latency is this quantile of a measurement, 0 to 1: bounds do not hold for slower frames.
    #[arg(long, value_name = "Q", requires = "latency", value_parser = quantile)]
    pub(crate) quantile: Option<f64>,
    /// Frames that the controllers of this machine hold, the one on the wire included (default: 1).
    #[arg(long, value_name = "FRAMES")]
    pub(crate) controller: Option<NonZeroU32>,
    /// Number of error frames on each bus that a frame can meet (default: 0).
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=1000))]
    pub(crate) errors: Option<u32>,
}

impl AssumedArgs {
    pub(crate) const fn is_given(&self) -> bool {
        self.latency.is_some() || self.controller.is_some() || self.errors.is_some()
    }

    pub(crate) fn question(&self) -> Question {
        let controller = self.controller.unwrap_or(NonZeroU32::MIN);
        Question { latency: self.latency, quantile: self.quantile, controller }
    }
}

fn quantile(text: &str) -> Result<f64, String> {
    let quantile: f64 = text.parse().map_err(|_not| "write a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&quantile) { Ok(quantile) } else { Err("write a number from 0 to 1".to_owned()) }
}
