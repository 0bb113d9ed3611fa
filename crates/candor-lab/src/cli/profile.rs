//! Arguments of `candor-lab profile`.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::units::parse_duration;
use candor_lab::arch::Arch;
use candor_lab::device::OWN_PROGRAMS;
use candor_lab::job::Topology;
use clap::Args;

use super::guests::TOPOLOGIES;
use super::named;

/// Count the instructions of one frame by function, from the receive stamp to the transmit stamp.
///
/// Boots a guest that counts instructions, sends frames one at a time through the gateway, and lets QEMU write down the address of
/// each instruction. The profile is that of the frame with the median latency: every instruction between its two stamps, of the
/// kernel, of its modules and of the gateway. Their sum is the measured latency, because an instruction takes one nanosecond.
///
/// Exit status: 0 profiled, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab profile kernel                                             can-gw on Linux 6.1
  candor-lab profile kernel --kernel debian-7.3 --against debian-6.1    the functions that became slower
  candor-lab profile read-write --against mmap-adaptive --svg read-write.svg
  candor-lab profile gateway.toml --json > before.json                  for --against before.json after a change")]
pub(crate) struct ProfileArgs {
    /// `kernel` (can-gw), an engine such as mmap-adaptive, `baseline:ENGINE` for its system calls without rules, or a
    /// gateway file as for candor-lab bench.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<String>,
    /// Kernel, by its name in `candor-lab kernels` (default: debian-6.1).
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
    /// Interfaces of the guest: kvaser or vcan.
    #[arg(long, default_value = "kvaser", value_parser = named(TOPOLOGIES))]
    pub(crate) topology: Topology,
    /// Frame to send, in the notation of cansend.
    #[arg(long, default_value = "123#1122334455667788")]
    pub(crate) frame: Frame,
    /// Show the difference by function: to another kernel, to another gateway, to the programs of another build (a directory
    /// with candor and candor-lab), or to an earlier profile (a file written with --json).
    #[arg(long, value_name = "OTHER")]
    pub(crate) against: Option<Against>,
    /// Write a flame graph; with --against, a differential one. Needs a single gateway.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write folded stacks, the input of other flame graph tools. Needs a single gateway.
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Functions to show (default: 25).
    #[arg(long, value_name = "NUMBER", default_value_t = 25)]
    pub(crate) top: usize,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a profile is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    Kernel(String),
    Gateway(String),
    /// Directory with candor and candor-lab.
    Build(PathBuf),
    Profile(PathBuf),
}

impl std::str::FromStr for Against {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        if path.extension().is_some_and(|extension| extension == "json") {
            Ok(Self::Profile(path))
        } else if path.is_dir() {
            let missing = OWN_PROGRAMS.iter().map(|name| path.join(name)).find(|program| !program.is_file());
            missing.map_or_else(|| Ok(Self::Build(path)), |program| Err(format!("{} is missing", program.display())))
        } else if candor_lab::kernel::names(Arch::X86_64).iter().any(|name| name == text) {
            Ok(Self::Kernel(text.to_owned()))
        } else {
            Ok(Self::Gateway(text.to_owned()))
        }
    }
}
