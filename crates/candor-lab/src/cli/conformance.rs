//! Arguments of `candor-lab conformance`.

use std::ffi::OsString;
use std::time::Duration;

use candor_core::units::parse_duration;
use clap::Args;

/// Test any gateway between two interfaces: what of all that CAN can carry arrives as it was sent.
///
/// Starts COMMAND, which keeps running or returns when the gateway is set up; sends frames of every kind on one interface
/// and watches both; then ends COMMAND, or runs what --teardown says. The gateway is expected to carry everything and to
/// change nothing. Both interfaces are used as they are: nothing else should send there.
///
/// Exit status: 0 everything is right, 1 something is not, 2 it could not be tested.
#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Interface on which the frames should arrive.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Leave CAN FD out.
    #[arg(long, conflicts_with = "fd")]
    pub(crate) classic_only: bool,
    /// Insist on CAN FD (without this it is left out if an interface takes classic frames only).
    #[arg(long)]
    pub(crate) fd: bool,
    /// Insist on the way back (without this it is tested if anything crosses it).
    #[arg(long, conflicts_with = "one_way")]
    pub(crate) both_ways: bool,
    /// Leave the way back out.
    #[arg(long)]
    pub(crate) one_way: bool,
    /// How long the gateway may take until the first frame crosses.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    pub(crate) wait: Duration,
    /// Without any frame for so long, those that have not arrived are lost.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    pub(crate) lost_after: Duration,
    /// Command that takes the gateway down, for a COMMAND that returns at once: program and arguments, split at blanks.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) teardown: Option<String>,
    /// Seed of the random identifiers and payloads.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Command that starts the gateway, after `--` (or none: something forwards already).
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}
