//! Arguments of `candor init` and `candor generate`.

use std::path::PathBuf;
use std::time::Duration;

use candor_cli::generate::GenerateCommand;
use candor_core::units::parse_duration;
use clap::{Args, Subcommand};

use super::{NetnsArgs, OutputArgs};

/// Propose a first gateway file for the CAN interfaces of this machine.
///
/// Listens to the interfaces that are up. As root, also tries the common bit rates on controllers that are down, in
/// listen-only mode, in which a controller sends nothing, and leaves them down with the bit rate at which frames arrived.
/// Prints a file with a bus for each interface and a route between the first two, or between the only one and a virtual
/// interface, and what this machine lacks to run it.
///
/// Exit status: 0 a file was written, 1 this machine has no CAN interface, 2 it could not be examined.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor init -o car.toml
  sudo candor init can0 can1 --listen 10s     two interfaces, for rare frames
  sudo candor init > car.toml")]
pub(crate) struct InitArgs {
    /// Interfaces (default: all CAN interfaces).
    pub(crate) interface: Vec<String>,
    /// Time to listen; a quarter of it for each bit rate that is tried.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub(crate) listen: Duration,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
}

/// Generate man pages, shell completions and network configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateGateway {
    #[command(flatten)]
    Common(GenerateCommand),
    Networkd(NetworkdArgs),
}

/// Write systemd-networkd files for the interfaces of a gateway file.
///
/// They set bit rates, CAN FD, restart after bus-off and the queue length, create vcan and vxcan interfaces, and keep CAN
/// interfaces from delaying boot: systemd-networkd-wait-online would wait for an address that they never get. Without
/// --output, prints them.
///
/// Exit status: 0 the files were written, 1 the gateway file is not valid, 2 they could not be written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor generate networkd car.toml
  sudo candor generate networkd car.toml -o /etc/systemd/network && sudo networkctl reload")]
pub(crate) struct NetworkdArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Directory for the files, created if it does not exist.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite existing files.
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
