//! Arguments of the commands that show and change the can-gw jobs of the kernel.

use std::path::PathBuf;

use clap::Args;

use super::VerifyArgs;

/// Show what `candor apply` would change, as a diff. Changes nothing.
///
/// `+` add, `-` remove, `~` change in place, `-/+` remove and add again to restore the order, `>` adopt, `?` job of another
/// program, `!` job of another program that duplicates one in the file.
///
/// Exit status: 0 the difference was shown, 1 the file is not valid or, with --exit-code, differs from the kernel, 2 the
/// kernel could not be queried.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor plan car.toml
  sudo candor plan --exit-code car.toml     exit with 1 on a difference, for scripts
  sudo candor plan --prune car.toml         what candor apply --prune would remove")]
pub(crate) struct PlanArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Exit with 1 if the kernel differs from the file, like `git diff --exit-code`.
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Install the routes of a file as can-gw jobs.
///
/// The jobs stay when candor exits. Every route must be one that can-gw supports. Jobs that already match are left untouched,
/// so applying the same file again changes nothing. If the kernel refuses a job, all changes are rolled back. Jobs of other
/// programs are reported and left untouched.
///
/// Exit status: 0 the kernel matches the file, 1 the file is not valid, 2 it could not be applied.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor plan car.toml             show the changes first
  sudo candor apply car.toml
  sudo candor apply car.toml --adopt    take over equal jobs of a cangw script
  sudo candor status
  sudo candor down car.toml             remove the jobs")]
pub(crate) struct ApplyArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    #[command(flatten)]
    pub(crate) verbose: VerboseArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Show can-gw jobs and running gateways, with owners and counters.
///
/// Counters have 32 bits in the kernel and wrap to 0 after 4 294 967 295. Needs no privileges, but only root can read the
/// ownership records that identify candor's jobs.
///
/// Exit status: 0 the jobs were shown, 2 the kernel could not be queried.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor status
  sudo candor status --json | jq '.owners[].jobs'")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Remove the can-gw jobs and eBPF programs that `candor apply` installed.
///
/// Without a file, removes the jobs of all applied files and of `candor run` processes that died. Jobs of running gateways
/// and of other programs are left untouched. The file itself need not exist any more.
///
/// Exit status: 0 no jobs of the file are left, 1 the file is not applied and does not exist, 2 jobs could not be removed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor down car.toml     the jobs of this file
  sudo candor down              the jobs of all files, and of gateways that died")]
pub(crate) struct DownArgs {
    /// Gateway file that was applied.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// The treatment of jobs that other programs added.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ForeignArgs {
    /// Take over jobs of other programs that equal a job of the file; their counters are kept.
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Remove ALL can-gw jobs of other programs in the network namespace, except equal ones, which are adopted.
    #[arg(long)]
    pub(crate) prune: bool,
}

/// Arguments of commands that query the kernel.
#[derive(Args, Clone, Debug)]
pub(crate) struct KernelArgs {
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much is said about refusals of the kernel.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct VerboseArgs {
    /// If the kernel refuses an eBPF program, print all that its verifier says.
    #[arg(long = "verbose")]
    pub(crate) is_on: bool,
}

/// The network namespace.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetnsArgs {
    /// Use this network namespace: a name (ip netns), the PID of a process in it, or a path.
    #[arg(long = "netns", value_name = "NAME|PID|PATH")]
    pub(crate) which: Option<String>,
}
