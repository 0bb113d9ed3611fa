//! Arguments of `candor top`.

use std::time::Duration;

use candor_core::units::parse_duration;
use clap::Args;

use super::NetnsArgs;
use crate::cmd::run::metrics::Address;

/// Watch a running gateway: buses with load and state, routes with rates, drops by cause, latencies.
///
/// Finds the candor that runs, whether its routes are in the kernel or in user space; a name is needed only if several run.
/// It asks the gateway as often as the interval says, and forwarding notices nothing. A gateway that ends is waited for.
/// Latencies are there if the gateway was started with --latency. The keys are on the last line of the screen.
///
/// Exit status: 0 it was shown, 2 there is no gateway (--once), or no terminal.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// The gateway: its file, the file's name without .toml, or the number of its process.
    #[arg(conflicts_with = "metrics")]
    pub(crate) name: Option<String>,
    /// Ask the one that serves its metrics here: unix:/PATH, or a loopback address such as 127.0.0.1:9316.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// How often to ask, for example 500ms.
    #[arg(long, value_name = "INTERVAL", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Look twice, an interval apart, and print a table.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// The same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo candor top                          the gateway that runs
  sudo candor top car                      the one of car.toml, if several run
  candor top --metrics 127.0.0.1:9316      one that was started with --metrics
  sudo candor top --once --interval 5s     a table, with rates over 5 s
  sudo candor top --json | jq '.buses[] | {bus, load_most}'";

/// So short that one sees no difference, and so long that a counter of a whole number makes a rate.
const SHORTEST: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).map_err(|error| error.to_string())?;
    if interval < SHORTEST { Err("at least 100ms".into()) } else { Ok(interval) }
}
