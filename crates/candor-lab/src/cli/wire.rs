//! Arguments of `candor-lab wire`.

use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use candor_config::wire::{WireModel, WireOrder};
use candor_core::units::parse_duration;
use clap::{Args, Subcommand};

use super::{AdapterSpec, BusSpec, TimedFault, Values, named};

const DEFAULT_LATE: Duration = Duration::from_millis(1);

const MODELS: Values<WireModel> = &[
    ("gs_usb", "CAN FD, hardware timestamps (SO_TIMESTAMPING); recovers from bus-off by itself", WireModel::GsUsb),
    ("ucan", "Configurable depth, restart after bus-off (restart-ms); no CAN FD, no timestamps", WireModel::Ucan),
];

const ORDERS: Values<WireOrder> = &[
    ("fifo", "In the order of arrival: an urgent frame waits for all before it", WireOrder::Fifo),
    ("lowest-id", "The lowest identifier first", WireOrder::LowestId),
];

/// Simulate CAN buses with network interfaces on them, until SIGINT or SIGTERM.
///
/// Frames take as long as on a physical bus: the simulation covers every bit, with stuff bits, arbitration, acknowledgement, error
/// frames and bus-off. The nodes are interfaces of the kernel's own gs_usb or ucan driver, which see emulated USB adapters
/// (vhci-hcd, USB/IP). Queues fill when a bus is slow, urgent frames overtake or wait, and candump, cangw, tc and python-can
/// work as with hardware. All interfaces are removed at the end.
///
/// The maximum lateness of the simulation is reported at the end. If it exceeds --late, sockets received frames later than on a
/// real bus, and the run is invalid.
///
/// `candor-lab wire inject` injects faults into a running simulation.
///
/// Exit status: 0 it ran until the signal and was in time, 1 it was late or lost frames, or the file is not valid, 2 it could not
/// run.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  sudo candor-lab wire --bus b0:500k:can0,can1      two nodes at 500 kbit/s
  sudo candor-lab wire --bus b0:500k/2M:can0,can1 --bus b1:125k:can2,can3
  sudo candor-lab wire gateway.toml                 buses of [wire] in a gateway file")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WireArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WireCommand>,
    /// File with `[wire]`, see docs/config.md. Options override it; faults are added.
    #[arg(value_name = "FILE", conflicts_with = "bus")]
    pub(crate) file: Option<PathBuf>,
    /// Bus: name, bit rate, data bit rate for CAN FD, and an interface for each node. Rates are written 500k, 1M, 83.333k
    /// (repeatable).
    #[arg(long, required_unless_present = "file", value_name = "NAME:RATE[/DATARATE]:IF,IF,…")]
    pub(crate) bus: Vec<BusSpec>,
    /// Adapter with these interfaces, which may be on different buses: up to 3 for gs_usb (repeatable). Its timestamps are from
    /// one clock, as --stamps hardware requires. The other interfaces have adapters on a single bus.
    #[arg(long, value_name = "IF,IF,…")]
    pub(crate) adapter: Vec<AdapterSpec>,
    /// Emulate this adapter (default: ucan with --depth, otherwise gs_usb).
    #[arg(long, value_parser = named(MODELS))]
    pub(crate) model: Option<WireModel>,
    /// Frames that a controller holds before its interface stops: 1 to 255 for ucan (default: 3). gs_usb always holds 10.
    #[arg(long, value_name = "FRAMES", value_parser = depth)]
    pub(crate) depth: Option<NonZeroU8>,
    /// Run every node at the bit rates of its bus instead of those of `ip link`; data bit rates only where CAN FD is enabled.
    /// Without it, nodes with different rates see errors, as on a real bus.
    #[arg(long)]
    pub(crate) force_rates: bool,
    /// Transmit order of a controller (default: fifo).
    #[arg(long, value_parser = named(ORDERS))]
    pub(crate) order: Option<WireOrder>,
    /// Seed of everything random on the buses (default: 1).
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Maximum lateness; a run that exceeds it is invalid (default: 1ms).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) late: Option<Duration>,
    /// Log events on the buses to this file, one per line, in bus time; docs/wire.md describes the format.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Write a capture for Wireshark: pcapng with an interface for each bus, in bus time. Live in bash:
    /// --pcapng >(wireshark -k -i -)
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Inject a fault, in the syntax of candor-lab wire inject: --fault 'bus-off can1 --at 5s' (repeatable).
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<TimedFault>,
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

impl WireArgs {
    pub(crate) fn late(&self) -> Duration {
        self.late.unwrap_or(DEFAULT_LATE)
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum WireCommand {
    Inject(InjectArgs),
}

/// Inject a fault into a running candor-lab wire.
///
/// It takes effect at once, or with --at at a bus time, which starts with candor-lab wire and is the time of its log. The same
/// faults at the same times with the same seed have the same effect on the same frames.
///
/// If several candor-lab wire are running, the one with the bus or the interface is selected.
///
/// Exit status: 0 it was injected or is scheduled, 1 it was refused, 2 no running candor-lab wire was found.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  sudo candor-lab wire inject bus-off can1 --at 12s      after 12 seconds of bus time")]
#[command(subcommand_value_name = "FAULT", subcommand_help_heading = "Faults")]
pub(crate) struct InjectArgs {
    #[command(flatten)]
    pub(crate) fault: TimedFault,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

fn depth(text: &str) -> Result<NonZeroU8, String> {
    text.parse().map_err(|_error| "a controller holds 1 to 255 frames".to_owned())
}
