//! Arguments of `candor-lab profile`.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::units::parse_duration;
use candor_lab::arch::Arch;
use candor_lab::device::OWN_PROGRAMS;
use candor_lab::job::Topology;
use candor_lab::kernel::is_own;
use clap::Args;

use super::guests::TIMELESS_TOPOLOGIES;
use super::named;

/// Count the instructions of one frame by function, from the receive stamp to the transmit stamp.
///
/// Boots a guest that counts instructions, sends frames one at a time through the gateway, and lets QEMU write down the address of
/// each instruction. The profile is that of the frame with the median latency: every instruction between its two stamps, of the
/// kernel, of its modules and of the gateway. Their sum is the measured latency, because an instruction takes one nanosecond.
///
/// A profile takes about 20 s, and one with --against twice that; the first with a kernel also fetches it.
///
/// Exit status: 0 profiled, 1 a gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab profile kernel                                             can-gw on Linux 6.1
  candor-lab profile kernel --kernel debian-7.3 --against debian-6.1    the functions that became slower
  candor-lab profile kernel --against ./linux-image-7.4-own_amd64.deb   your own kernel: a package, or a built tree
  candor-lab profile kernel --module ./can-gw.ko --against debian-6.1   what your own module changes
  candor-lab profile read-write --against mmap-adaptive --svg read-write.svg
  candor-lab profile gateway.toml --json > before.json                  for --against before.json after a change")]
pub(crate) struct ProfileArgs {
    /// `kernel` (can-gw), an engine such as mmap-adaptive, `baseline:ENGINE` for its system calls without rules, or a
    /// gateway file as for candor-lab bench.
    #[arg(required = true, value_name = "GATEWAY")]
    pub(crate) gateways: Vec<String>,
    /// Kernel, by its name in `candor-lab kernels` (default: debian-6.1), or your own, as in `candor-lab run`: a Debian package,
    /// or the directory in which a kernel was built.
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) kernel: Option<String>,
    /// Load this module instead of the kernel's, as in `candor-lab run` (repeatable); not in the kernel of --against.
    #[arg(long, value_name = "PATH")]
    pub(crate) module: Vec<PathBuf>,
    /// Interfaces of the guest.
    #[arg(long, default_value = "kvaser", value_parser = named(TIMELESS_TOPOLOGIES))]
    pub(crate) topology: Topology,
    /// Frame to send, in the notation of cansend, with at least two data bytes: a number replaces the first two.
    #[arg(long, default_value = "123#1122334455667788")]
    pub(crate) frame: Frame,
    /// Show the difference by function: to another kernel (a name or a path, as for --kernel), to another gateway, to the
    /// programs of another build (a directory with candor and candor-lab), or to an earlier profile (a file written with --json).
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
        } else if is_own(Arch::X86_64, &path) {
            if path.exists() { Ok(Self::Kernel(text.to_owned())) } else { Err(format!("there is no file {text}")) }
        } else if path.is_dir() {
            let missing = OWN_PROGRAMS.iter().filter(|name| !path.join(name).is_file()).copied().collect::<Vec<_>>();
            let why = || {
                format!(
                    "a directory is that of a built kernel, with arch/x86/boot/bzImage or vmlinux, or one with the programs of \
                     another build, and {text} has no {}",
                    missing.join(" and no ")
                )
            };
            if missing.is_empty() { Ok(Self::Build(path)) } else { Err(why()) }
        } else if candor_lab::kernel::names(Arch::X86_64).iter().any(|name| name == text) {
            Ok(Self::Kernel(text.to_owned()))
        } else {
            Ok(Self::Gateway(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn kernels_programs_profiles_and_gateways_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["linux/vmlinux", "build/candor", "build/candor-lab", "half/candor", "k.deb"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let at = |name: &str| folder.path().join(name).display().to_string();
        let parse = |text: &str| text.parse::<Against>();
        assert_eq!(parse("debian-7.3"), Ok(Against::Kernel("debian-7.3".to_owned())));
        for own in [at("linux"), at("k.deb")] {
            assert_eq!(parse(&own), Ok(Against::Kernel(own)));
        }
        assert_eq!(parse(&at("build")), Ok(Against::Build(folder.path().join("build"))));
        assert_eq!(parse("before.json"), Ok(Against::Profile("before.json".into())));
        assert_eq!(parse("read-write"), Ok(Against::Gateway("read-write".to_owned())));
        assert!(parse(&at("half")).unwrap_err().ends_with("half has no candor-lab"));
        assert!(parse("none.deb").unwrap_err().contains("there is no file none.deb"));
    }
}
