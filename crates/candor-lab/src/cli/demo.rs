//! Arguments of `candor-lab demo`.

use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use clap::{Args, Subcommand};

/// Show what candor is for, on a machine that needs no CAN.
#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    Inversion(DemoInversionArgs),
}

/// Show priority inversion and its cure: how long urgent CAN frames wait, without and with `[egress]`.
///
/// Boots a stock kernel in the instruction-counted laboratory, makes buses with a bit rate and controllers that hold a few
/// frames, and plays three acts on them: two programs that share the one queue of an interface; a node whose patient frames
/// lose to those of another node while an urgent one waits behind them; and a gateway that forwards urgent frames and bulk
/// to the same bus.
///
/// Each act is played without and with what candor makes of `[egress]` of a gateway file. Measured is each urgent frame, from
/// its program's call to its last bit on the wire, by the buses' own time. With `[egress]` it is held against a bound reckoned
/// from bits alone: a frame on the wire, what the controller holds, frames of other nodes that win from that, and itself.
///
/// The files are printed; --out writes them and the latency profiles into a folder.
///
/// Exit status: 0 every bound holds, 1 an urgent frame took longer or was lost with `[egress]`, 2 it could not run.
#[derive(Args, Clone, Debug)]
pub(crate) struct DemoInversionArgs {
    /// Time from one urgent frame to the next, 10 ms to 1 s.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = period)]
    pub(crate) every: Duration,
    /// Urgent frames of each run.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(10..=10_000))]
    pub(crate) frames: u16,
    /// How many frames a controller holds, 1 to 32.
    #[arg(long, value_name = "FRAMES", default_value = "2", value_parser = depth)]
    pub(crate) depth: NonZeroU8,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long, value_name = "NAME", conflicts_with = "here")]
    pub(crate) kernel: Option<String>,
    /// End the guest after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration, conflicts_with = "here")]
    pub(crate) timeout: Duration,
    /// Play on this machine instead of in a guest: as root, with what candor-lab wire needs, and a processor to spare.
    #[arg(long)]
    pub(crate) here: bool,
    /// Write the gateway files, a latency profile of each act (SVG) and the figures (JSON) into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Urgent frames that come faster than they leave would wait for each other.
fn period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_millis(10)..=Duration::from_secs(1);
    if range.contains(&period) { Ok(period) } else { Err("urgent frames come each 10ms to 1s".to_owned()) }
}

fn depth(text: &str) -> Result<NonZeroU8, String> {
    let depth = text.parse().ok().filter(|depth: &NonZeroU8| depth.get() <= 32);
    depth.ok_or_else(|| "a controller holds 1 to 32 frames".to_owned())
}
