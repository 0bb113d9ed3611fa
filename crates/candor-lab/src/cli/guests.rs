//! Arguments of the commands that boot guests or run inside of them.

use std::ffi::OsString;
use std::num::NonZeroU8;
use std::path::PathBuf;
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_core::units::parse_duration;
use candor_lab::arch::Arch;
use candor_lab::job::Topology;
use candor_lab::kernel::{ModuleParameter, Move, Testbed};
use clap::{Args, Subcommand};

use super::{AdapterSpec, Values, named};

#[derive(Args, Debug)]
pub(crate) struct LabCellsArgs {
    /// Cells to measure.
    pub(crate) order: PathBuf,
    /// Directory for the records.
    #[arg(long, value_name = "DIR")]
    pub(crate) records: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct LabHoldArgs {
    pub(crate) folder: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct PreflightArgs {
    /// Require this interface (repeatable).
    #[arg(long, value_name = "IFACE")]
    pub(crate) interface: Vec<String>,
    /// Require this program (repeatable).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Require packet sockets.
    #[arg(long)]
    pub(crate) packets: bool,
    /// Require permission to configure can-gw.
    #[arg(long)]
    pub(crate) kernel: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LabLoadArgs {
    /// Kind and level of the load, as in a plan.
    #[arg(required = true)]
    pub(crate) load: Vec<String>,
}

const TESTBEDS: Values<Testbed> = &[
    (
        "uml",
        "User-mode Linux: a real CAN stack in a process, boots in seconds; not for time measurements",
        Testbed::Uml,
    ),
    (
        "icount",
        "QEMU with an instruction-counted clock: 1 ns per instruction, bit-for-bit reproducible",
        Testbed::Icount,
    ),
];

pub(super) const ARCHS: Values<Arch> = &[
    ("x86-64", "That of this machine", Arch::X86_64),
    (
        "arm64",
        "An emulated Cortex-A72 (icount only); needs the programs of `cargo xtask static --arch arm64`",
        Arch::Arm64,
    ),
];

/// The topologies whose frames take no time on a bus.
pub(super) const TIMELESS_TOPOLOGIES: Values<Topology> = TOPOLOGIES.split_at(2).0;

pub(super) const TOPOLOGIES: Values<Topology> = &[
    ("vcan", "vcan0, vcan1, vcan2", Topology::Vcan),
    (
        "kvaser",
        "can0 to can4 on two buses of emulated Kvaser PCI cards, as in Figure 1 of the 2011 paper (icount only). Frames take no time",
        Topology::Kvaser,
    ),
    (
        "wire",
        "The same on two buses of candor-lab wire at 500 kbit/s, with CAN FD at 2 Mbit/s (icount only): frames take time, and queues \
         fill. Leaves wire.log and wire.json in $CANDOR_OUT",
        Topology::Wire,
    ),
];

#[derive(Args, Debug)]
pub(crate) struct GuestArgs {
    /// Kind of guest.
    #[arg(long, default_value = "uml", value_parser = named(TESTBEDS))]
    pub(crate) testbed: Testbed,
    /// Processor of the guest.
    #[arg(long, default_value = "x86-64", value_parser = named(ARCHS))]
    pub(crate) arch: Arch,
    /// Kernel, by its name in `candor-lab kernels` (default: debian-6.1 for icount, uml-6.1 for uml), or your own: a Debian package,
    /// or the directory in which a kernel was built (icount only).
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) kernel: Option<String>,
    /// Load this module at boot, instead of the kernel's module of the same name: a .ko file, or a directory of them (repeatable).
    #[arg(long, value_name = "PATH")]
    pub(crate) module: Vec<PathBuf>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "vcan", value_parser = named(TOPOLOGIES))]
    pub(crate) topology: Topology,
    /// Adapter of the topology wire with these interfaces, which may be on both buses (repeatable): can1,can2,can4 for a tester with
    /// --stamps hardware.
    #[arg(long, value_name = "IF,IF,…")]
    pub(crate) wire_adapter: Vec<AdapterSpec>,
    /// Keep a second processor for `candor-lab bare-metal` (icount and kvaser only).
    #[arg(long)]
    pub(crate) bare_metal: bool,
    /// Copy this file to the guest's working directory (repeatable).
    #[arg(long, value_name = "FILE")]
    pub(crate) copy: Vec<PathBuf>,
    /// Copy this program and its libraries to the guest's PATH; OpenSSH is downloaded if necessary (repeatable).
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
    /// Set this environment variable for the command (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Load a kernel module of the guest with this parameter, such as can_gw.max_hops=6 (repeatable).
    #[arg(long, value_name = "MODULE.NAME=VALUE")]
    pub(crate) module_parameter: Vec<ModuleParameter>,
    /// Time per instruction: 2^SHIFT ns (icount only).
    #[arg(long, value_name = "SHIFT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) shift: u8,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
}

/// Boot a guest, run a command in it as root, and exit with its status.
///
/// The guest contains candor, a shell with the usual small programs (busybox), can-utils, iproute2, and the files of --copy and
/// --program. A program or script of this machine that is the command, by name or path, is copied as well.
///
/// Exit status: that of the command, 127 if the guest has no such command, 126 if it cannot be started, 128 plus the number of
/// the signal if it was killed; 2 if the guest could not run it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab run --copy gateway.toml -- candor check gateway.toml
  candor-lab run --testbed icount --topology kvaser -- candor doctor      a guest with emulated cards
  candor-lab run --testbed icount --arch arm64 -- candor doctor           the processor that many gateways have
  candor-lab run -- ./rules.sh                                            a script of this machine
  candor-lab run -- sh -c 'candump -n 1 vcan0 & cangw -L; sleep 1; cansend vcan0 123#11; wait'")]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    /// Copy the files that the command leaves in $CANDOR_OUT to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Command and arguments, after `--`.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// Boot a guest and connect this terminal with its shell. It contains what the guest of `candor-lab run` contains.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab shell                                       user-mode Linux with vcan0 to vcan2
  candor-lab shell --testbed icount --topology wire      two simulated buses; frames take time")]
pub(crate) struct LabShellArgs {
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
}

/// List the kernels of guests: the pinned version of each, and whether it is cached.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab kernels
  candor-lab run --testbed icount --kernel debian-7.3 -- uname -r

Your own kernels, which are not listed:
  candor-lab run --testbed icount --kernel ./linux-image-6.1.0-own_amd64.deb -- uname -r
      a Debian package; the package of its modules (linux-modules-…) is next to it, if there is one
  candor-lab run --testbed icount --kernel ../linux -- uname -r
      a directory with a built kernel (make bzImage modules), which is read where it is
  candor-lab run --testbed icount --topology kvaser --module ./sja1000.ko -- candor doctor
      a module instead of the kernel's own; also a directory of modules")]
pub(crate) struct LabKernelsArgs {
    /// Processor of the guests.
    #[arg(long, default_value = "x86-64", value_parser = named(ARCHS))]
    pub(crate) arch: Arch,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Move the pins of this file to the newest versions in the archive (cargo xtask pins).
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) move_pins: Option<PathBuf>,
    /// Fetch what building modules for this kernel needs, and print its directory (cargo xtask modules).
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "move_pins")]
    pub(crate) build_files: Option<String>,
    /// Move only these pins.
    #[arg(value_name = "NAME[=VERSION]", requires = "move_pins", hide = true)]
    pub(crate) moves: Vec<Move>,
}

/// Forward every frame from one interface to another by the system calls of an engine, without rules.
///
/// This is the baseline of candor's engines; `candor-lab bench --baselines` measures both. It runs on the interfaces of this
/// machine until SIGINT or SIGTERM, and drops frames when the transmit queue is full.
///
/// Exit status: 0 it ran until the signal, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct BaselineArgs {
    /// User-space engine, such as mmap-write; `candor engines` lists them.
    #[arg(value_parser = super::user_engines(), hide_possible_values = true)]
    pub(crate) engine: UserEngine,
    /// Interface to receive on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) from: String,
    /// Interface to send on.
    #[arg(long, value_name = "IFACE")]
    pub(crate) to: String,
    /// Loop sent frames back to other sockets of this machine; required on virtual interfaces.
    #[arg(long)]
    pub(crate) echo: bool,
}

/// Forward by the rules of a gateway file without an operating system.
///
/// It takes the two Kvaser cards of the file from Linux and gives them to a program on the second processor of a guest, until SIGINT or
/// SIGTERM; then it gives them back and prints the counters. Between them is no kernel: an interrupt, the compiled rules, and the
/// registers of the cards. The guest needs --bare-metal, as in `candor-lab run --testbed icount --topology kvaser --bare-metal`.
///
/// Exit status: 0 it ran until the signal, 1 the gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
pub(crate) struct BareMetalArgs {
    /// Gateway file with two buses and routes for classic frames.
    #[arg(value_name = "GATEWAY")]
    pub(crate) gateway: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// Kill the guest after this many seconds.
    #[arg(long)]
    pub(crate) seconds: u64,
    /// Directory to remove if the candor-lab that started this ends first.
    #[arg(long, value_name = "DIR")]
    pub(crate) remove: Option<PathBuf>,
    /// Keep the guest on one processor.
    #[arg(long)]
    pub(crate) one_processor: bool,
    /// Command line of the guest.
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Demonstrate candor on a machine without CAN.
#[derive(Debug, Subcommand)]
pub(crate) enum DemoCommand {
    Inversion(DemoInversionArgs),
}

/// Demonstrate priority inversion: waiting times of urgent CAN frames, without and with `[egress]`.
///
/// Boots an unmodified kernel in a guest that counts instructions, simulates buses whose controllers hold a few frames, and runs three
/// acts: two programs that share the queue of an interface; a node whose low-priority frames lose arbitration to another node
/// while an urgent one waits behind them; and a gateway that forwards urgent and bulk frames to the same bus.
///
/// Each act runs without and with the `[egress]` of a gateway file. The time of each urgent frame is measured from the call of its
/// program to its last bit on the bus, in bus time. With `[egress]` it is compared with a bound computed from bit times: a frame on
/// the bus, the frames that the controller holds, frames of other nodes that win arbitration against these, and the frame itself.
///
/// The gateway files are printed; --out writes them and the latency profiles to a directory.
///
/// Exit status: 0 every bound holds, 1 an urgent frame took longer or was lost with `[egress]`, 2 it could not run.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  candor-lab demo inversion
  candor-lab demo inversion --depth 1 --out demo")]
pub(crate) struct DemoInversionArgs {
    /// Period of urgent frames, 10 ms to 1 s.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = period)]
    pub(crate) every: Duration,
    /// Urgent frames of each run.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(10..=10_000))]
    pub(crate) frames: u16,
    /// Frames that a controller holds, 1 to 32.
    #[arg(long, value_name = "FRAMES", default_value = "2", value_parser = depth)]
    pub(crate) depth: NonZeroU8,
    /// Kernel, by its name in `candor-lab kernels` or its path (default: debian-6.1).
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "here")]
    pub(crate) kernel: Option<String>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration, conflicts_with = "here")]
    pub(crate) timeout: Duration,
    /// Run on this machine instead of in a guest: as root, with the requirements of candor-lab wire and a spare CPU.
    #[arg(long)]
    pub(crate) here: bool,
    /// Write the gateway files, a latency profile of each act (SVG) and the figures (JSON) to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure what crosses a border, for `candor-lab evidence`: prints one JSON object.
#[derive(Debug, Args)]
pub(crate) struct EvidenceRunsArgs {
    /// Gateway file.
    #[arg(value_name = "FILE")]
    pub(crate) gateway: PathBuf,
    /// Bus whose nodes are not trusted; may be repeated. All others are trusted.
    #[arg(long, value_name = "BUS", required = true)]
    pub(crate) untrusted: Vec<String>,
    /// Run on this machine instead of in a guest: as root, without interfaces of the names in the file.
    #[arg(long)]
    pub(crate) here: bool,
    /// Kernel, by its name in `candor-lab kernels` or its path (default: debian-6.1).
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "here")]
    pub(crate) kernel: Option<String>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration, conflicts_with = "here")]
    pub(crate) timeout: Duration,
}

/// Shorter periods than the longest wait would make urgent frames queue behind each other.
fn period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text).map_err(|error| error.to_string())?;
    let range = Duration::from_millis(10)..=Duration::from_secs(1);
    if range.contains(&period) { Ok(period) } else { Err("the period is 10ms to 1s".to_owned()) }
}

fn depth(text: &str) -> Result<NonZeroU8, String> {
    let depth = text.parse().ok().filter(|depth: &NonZeroU8| depth.get() <= 32);
    depth.ok_or_else(|| "a controller holds 1 to 32 frames".to_owned())
}
