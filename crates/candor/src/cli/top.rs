//! Arguments of `candor top`.

use std::time::Duration;

use candor_core::units::parse_duration;
use clap::Args;

use super::NetnsArgs;
use crate::cmd::run::metrics::Address;

/// Watch a running gateway: bus load, rates, drops and latencies.
///
/// Finds the running gateway, in the kernel or in user space; a name is required only if several are running. Sampling does
/// not slow down forwarding. When the gateway ends, waits for it to restart. Latencies require candor run --latency. The last
/// line of the screen lists the keys.
///
/// Exit status: 0 the user quit or the table was printed, 2 no gateway (with --once) or no terminal.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// Gateway: its file, the name of the file without .toml, or its PID.
    #[arg(conflicts_with = "metrics")]
    pub(crate) name: Option<String>,
    /// Read the metrics served at this address: unix:/PATH, or a loopback address such as 127.0.0.1:9316.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// Sampling interval, at least 100ms.
    #[arg(long, value_name = "INTERVAL", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Print one table, from two samples an interval apart.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print the same as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  sudo candor top                          the running gateway
  sudo candor top car                      the one of car.toml
  candor top --metrics 127.0.0.1:9316      a gateway started with --metrics
  sudo candor top --once --interval 5s     one table, with rates over 5 s
  sudo candor top --json | jq '.buses[] | {bus, load_most}'";

/// A shorter interval makes rates of slow routes jump between 0 and large values.
const SHORTEST: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).map_err(|error| error.to_string())?;
    if interval < SHORTEST { Err("at least 100ms".into()) } else { Ok(interval) }
}
