//! Arguments of the commands that boot guests, and of the roles that candor-lab plays in them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_core::units::parse_duration;
use candor_lab::kernel::ModuleParameter;
use clap::{Args, ValueEnum};

use super::measure::{ConditionArgs, StampArgs, TrafficArgs};
use crate::cmd::wire::spec::AdapterSpec;

#[derive(Args, Debug)]
pub(crate) struct LabCellsArgs {
    /// What is to be measured.
    pub(crate) order: PathBuf,
    /// Folder for the records.
    #[arg(long, value_name = "DIR")]
    pub(crate) records: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct LabHoldArgs {
    /// The folder.
    pub(crate) folder: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct PreflightArgs {
    /// This interface is wanted (repeatable).
    #[arg(long, value_name = "IFACE")]
    pub(crate) interface: Vec<String>,
    /// This program is wanted (repeatable).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Packet sockets are to be opened.
    #[arg(long)]
    pub(crate) packets: bool,
    /// can-gw is to be changed.
    #[arg(long)]
    pub(crate) kernel: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LabLoadArgs {
    /// Kind and strength, as in a plan.
    #[arg(required = true)]
    pub(crate) load: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TestbedArg {
    /// User-mode Linux: real CAN stack as a process, boots in seconds; its times mean nothing.
    Uml,
    /// QEMU with an instruction-counted clock: 1 ns is one instruction, runs repeat exactly.
    Icount,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TopologyArg {
    /// vcan0, vcan1, vcan2.
    Vcan,
    /// can0 to can4 on two buses of emulated Kvaser PCI cards, as in Figure 1 of the 2011 paper (icount only). A frame takes no
    /// time.
    Kvaser,
    /// The same on two buses of candor-lab wire at 500 kbit/s, with CAN FD at 2 Mbit/s (icount only): frames take their time, and
    /// queues fill. Leaves wire.log and wire.json in $CANDOR_OUT.
    Wire,
}

#[derive(Args, Debug)]
pub(crate) struct GuestArgs {
    /// Which laboratory.
    #[arg(long, default_value = "uml")]
    pub(crate) testbed: TestbedArg,
    /// Kernel by its name in `candor-lab kernels` (icount; default: Debian stable).
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "vcan")]
    pub(crate) topology: TopologyArg,
    /// An adapter of the topology wire that has these interfaces, whichever bus they are on (repeatable): can1,can2,can4 for a
    /// tester with --stamps hardware.
    #[arg(long, value_name = "IF,IF,…")]
    pub(crate) wire_adapter: Vec<AdapterSpec>,
    /// Put this file into the guest's working directory (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) copy: Vec<PathBuf>,
    /// Put this program and the libraries it needs into the guest's PATH; can-utils and OpenSSH are fetched where they are missing
    /// (repeatable).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Set this variable for the command (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Load a kernel module of the guest with this parameter, as in can_gw.max_hops=6 (repeatable).
    #[arg(long, value_name = "MODULE.NAME=VALUE")]
    pub(crate) module_parameter: Vec<ModuleParameter>,
    /// An instruction lasts 2^SHIFT ns (icount only).
    #[arg(long, value_name = "SHIFT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) shift: u8,
    /// End the guest after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Boot a guest, run a command in it as root, and exit with its status.
///
/// The guest holds candor, the command if it is a program of this machine (with its libraries), and what --copy and
/// --program bring. There is no shell in it unless you bring one.
///
/// Exit status: that of the command, 127 if the guest has no such command, 126 if it cannot be started, 128 and the
/// number of the signal if one ended it; 2 if the laboratory could not run it.
#[derive(Args, Debug)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    /// Bring the files that the command leaves in $CANDOR_OUT into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Command and arguments, after `--`.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// Boot a guest and work in it, with the can-utils and iproute2 of this machine.
#[derive(Args, Debug)]
pub(crate) struct LabShellArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

/// List the kernels that can be had and those that are cached.
#[derive(Args, Debug)]
pub(crate) struct LabKernelsArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure gateway files in the instruction-counted laboratory and report.
///
/// Boots the icount guest once, measures every gateway with the same traffic, prints the table and writes the report.
///
/// Exit status: 0 it was measured, 1 a gateway file is not valid or no frame arrived, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Gateway files; their interfaces must be those of the topology's gateway (kvaser and wire: can2 to can3,
    /// vcan: vcan0 to vcan1 with echo).
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<PathBuf>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "kvaser")]
    pub(crate) topology: TopologyArg,
    /// What to send and how many times.
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// Kernel by its name in `candor-lab kernels` (default: Debian stable).
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// End the guest after this time on the host's clock.
    #[arg(long, value_name = "TIME", default_value = "30min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Folder for the raw records.
    #[arg(long, value_name = "DIR", default_value = "records")]
    pub(crate) records: PathBuf,
    /// Self-contained HTML report.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forward every frame from one interface to another by the system calls of an engine, without any rules.
///
/// It is what candor's engines are held against: `candor-lab bench --baselines` measures it beside them. It runs on the
/// interfaces of this machine until SIGINT or SIGTERM, and drops frames for which there is no room.
///
/// Exit status: 0 it ran until the signal, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct BaselineArgs {
    /// An engine of user space, such as mmap-write; `candor engines` lists them.
    #[arg(value_parser = super::user_engines(), hide_possible_values = true)]
    pub(crate) engine: UserEngine,
    /// Where frames come in.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Where they leave.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Other sockets of this machine see what leaves, which virtual interfaces need to be heard at all.
    #[arg(long)]
    pub(crate) echo: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// Seconds after which the guest is ended.
    #[arg(long)]
    pub(crate) seconds: u64,
    /// Folder to remove if the candor that started this goes first.
    #[arg(long, value_name = "DIR")]
    pub(crate) remove: Option<PathBuf>,
    /// Command line of the guest.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
