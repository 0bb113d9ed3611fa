//! Arguments of `candor-lab wire`.

use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use clap::{Args, Subcommand, ValueEnum};

use super::TimedFault;
use crate::cmd::wire::spec::{AdapterSpec, BusSpec};

const DEFAULT_LATE: Duration = Duration::from_millis(1);

/// Make CAN buses in software, with interfaces of the kernel on them, until SIGINT or SIGTERM.
///
/// Frames take as long as on copper: each bus is played bit by bit, with stuff bits, arbitration, acknowledgement, error
/// frames and bus-off. Its nodes are interfaces of the kernel's own gs_usb or ucan driver, which takes candor for USB adapters
/// (vhci-hcd, USB/IP). So a queue fills when the bus is slow, an urgent frame overtakes or has to wait, and candump, cangw, tc
/// and python-can work as with hardware. Leaves nothing behind.
///
/// Two nodes at 500 kbit/s: sudo candor-lab wire --bus b0:500k:can0,can1
///
/// Two buses, one of them with CAN FD: sudo candor-lab wire --bus b0:500k/2M:can0,can1 --bus b1:125k:can2,can3
///
/// Or all of it from a file, which may be that of the gateway between them: sudo candor-lab wire gateway.toml
///
/// At the end it says how late it was at worst. If that is more than --late, sockets heard of frames later than of those of a
/// real bus, and the run is invalid.
///
/// While it runs, candor-lab wire inject lets things go wrong on its buses.
///
/// Exit status: 0 it ran until the signal and was in time, 1 it ran and was late or lost frames, or the file is not valid, 2 it
/// could not run.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WireArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WireCommand>,
    /// A file with `[wire]`, see docs/config.md. What an option says counts instead; faults are added.
    #[arg(value_name = "FILE", conflicts_with = "bus")]
    pub(crate) file: Option<PathBuf>,
    /// A bus: its name, its bit rate, with CAN FD also that of the data phase, and an interface for each node; 500k, 1M,
    /// 83.333k (repeatable).
    #[arg(long, required_unless_present = "file", value_name = "NAME:RATE[/DATARATE]:IF,IF,…")]
    pub(crate) bus: Vec<BusSpec>,
    /// An adapter that has these interfaces, whichever of the buses they are on: up to 3 of gs_usb (repeatable). Its stamps of
    /// the wire are of one clock, as --stamps hardware needs it. The other interfaces have adapters of their bus.
    #[arg(long, value_name = "IF,IF,…")]
    pub(crate) adapter: Vec<AdapterSpec>,
    /// Play this adapter. Without it: ucan if --depth is given, else gs_usb.
    #[arg(long)]
    pub(crate) model: Option<WireModel>,
    /// How many frames a controller holds before its interface stops: ucan, 1 to 255 (default: 3). gs_usb always holds 10.
    #[arg(long, value_name = "FRAMES", value_parser = depth)]
    pub(crate) depth: Option<NonZeroU8>,
    /// Have every node at the bit rates of its bus, whatever `ip link` sets; data bit rates only where CAN FD is on. Without it
    /// nodes of different rates see errors, as on a real bus.
    #[arg(long)]
    pub(crate) force_rates: bool,
    /// In which order a controller sends what it holds (default: fifo).
    #[arg(long)]
    pub(crate) order: Option<WireOrder>,
    /// Seed of everything random on the buses (default: 1).
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Lateness from which on the run is invalid (default: 1ms).
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) late: Option<Duration>,
    /// Write what happens on the wires into this file, a line each, in simulated time; docs/wire.md describes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// The same for Wireshark: pcapng, an interface for each bus, in simulated time since the start. Live in bash:
    /// --pcapng >(wireshark -k -i -)
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Let this go wrong, in the words of candor-lab wire inject: --fault 'bus-off can1 --at 5s' (repeatable).
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<TimedFault>,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

impl WireArgs {
    /// Lateness from which on the run is invalid.
    pub(crate) fn late(&self) -> Duration {
        self.late.unwrap_or(DEFAULT_LATE)
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum WireCommand {
    Inject(InjectArgs),
}

/// Let something go wrong on a bus of a candor-lab wire that runs.
///
/// It happens at once, or with --at at a moment on the time line of the bus, which begins with candor-lab wire and is that of its
/// log. The same faults at the same moments with the same seed do the same to the same frames.
///
/// A bus-off at the twelfth second of the bus: sudo candor-lab wire inject bus-off can1 --at 12s
///
/// Of several candor wires, the one is asked that has the bus or the interface.
///
/// Exit status: 0 it happened or is planned, 1 it was refused, 2 nobody could be asked.
#[derive(Args, Clone, Debug)]
#[command(subcommand_value_name = "FAULT", subcommand_help_heading = "Faults")]
pub(crate) struct InjectArgs {
    #[command(flatten)]
    pub(crate) fault: TimedFault,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Which adapter is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WireModel {
    /// CAN FD, timestamps of the wire (SO_TIMESTAMPING); recovers from bus-off by itself.
    #[value(name = "gs_usb")]
    GsUsb,
    /// Chosen depth, bus-off as the kernel means it (restart-ms); no CAN FD, no timestamps.
    Ucan,
}

impl WireModel {
    /// The kernel's name of its driver.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::GsUsb => "gs_usb",
            Self::Ucan => "ucan",
        }
    }
}

/// Which frame of a controller is sent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WireOrder {
    #[default]
    /// The one that came first: an urgent frame waits for all before it.
    Fifo,
    /// The one with the lowest identifier.
    LowestId,
}

fn depth(text: &str) -> Result<NonZeroU8, String> {
    text.parse().map_err(|_error| "a controller holds 1 to 255 frames".to_owned())
}
