//! Arguments of `candor egress`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::KernelArgs;

/// Manage the qdisc trees of [egress.BUS] in the kernel.
///
/// `plan` shows what would change, `apply` changes it, and `show` prints the frames that each band has sent, dropped and
/// queued.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  candor egress plan car.toml                show the changes first
  sudo candor egress apply car.toml
  candor egress show car.toml                the frames that each band has sent, dropped and queued
  candor egress show --wanted car.toml       the trees of the file, without reading the kernel
  candor egress verify car.toml              known traps on this machine
  sudo candor egress clear car.toml          restore the default qdisc")]
pub(crate) enum EgressCommand {
    Plan(EgressPlanArgs),
    /// Install the qdiscs, classes and filters of the file on its interfaces.
    ///
    /// They stay when candor exits. Interfaces that already match are left untouched. If the kernel refuses a change, all
    /// interfaces are rolled back. The tree of the file replaces any previous configuration of an interface, and this is
    /// reported.
    ///
    /// Exit status: 0 the kernel matches the file, 1 the file is not valid, 2 it could not be applied.
    Apply(WantedArgs),
    Show(EgressShowArgs),
    /// Verify that the kernel matches the file, and report known traps on this machine.
    ///
    /// Like `candor egress plan --exit-code`, with checks that need the machine: queue lengths, kernel version, bit rates.
    ///
    /// Exit status: 0 the kernel matches, 1 it does not or the file is not valid, 2 the kernel could not be queried.
    Verify(WantedArgs),
    Watch(EgressWatchArgs),
    Clear(EgressClearArgs),
}

/// Show what `candor egress apply` would change, as a diff. Changes nothing.
///
/// `+` add, `-` remove, `~` change in place. Warns if queued frames would be lost.
///
/// Exit status: 0 the difference was shown, 1 the file is not valid or, with --exit-code, differs from the kernel, 2 the
/// kernel could not be queried.
#[derive(Args, Debug)]
pub(crate) struct EgressPlanArgs {
    /// Exit with 1 if the kernel differs from the file, like `git diff --exit-code`.
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
}

/// Print the qdisc trees of interfaces with their statistics: frames sent, dropped and queued, filter matches.
///
/// Needs no privileges. With a file, shows its interfaces and the names of its bands; without one, all CAN interfaces.
///
/// Exit status: 0 the trees were printed, 1 the file is not valid or tc cannot express a tree, 2 the kernel could not be
/// queried.
#[derive(Args, Debug)]
pub(crate) struct EgressShowArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: Option<PathBuf>,
    /// Show this interface (repeatable).
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// Show the trees of the file without reading the kernel.
    #[arg(long, requires = "file")]
    pub(crate) wanted: bool,
    /// Output format (default: tree).
    #[arg(long = "as", value_name = "FORM", conflicts_with = "json")]
    pub(crate) form: Option<EgressForm>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EgressForm {
    /// An SVG image of one interface.
    Svg,
    /// A shell script with the tc commands for one interface.
    Tc,
    /// A text tree.
    Tree,
}

/// Report changes to the trees of the file until SIGINT or SIGTERM.
///
/// With --json, prints one object per line.
///
/// Exit status: 0 the kernel matched the file at the end, 1 it did not or the file is not valid, 2 the kernel could not be
/// queried.
#[derive(Args, Debug)]
pub(crate) struct EgressWatchArgs {
    /// Restore the trees of the file, also on interfaces that are plugged in again. They stay when candor exits.
    #[arg(long)]
    pub(crate) mend: bool,
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
}

/// Remove the trees that `candor egress apply` installed and restore the kernel's default qdisc.
///
/// Interfaces whose tree is not that of the file are reported and left untouched.
///
/// Exit status: 0 the trees are removed, 1 an interface was left untouched or the file is not valid, 2 a tree could not be
/// removed.
#[derive(Args, Debug)]
pub(crate) struct EgressClearArgs {
    /// Gateway file; - reads standard input.
    #[arg(required_unless_present = "interface")]
    pub(crate) file: Option<PathBuf>,
    /// Remove the tree of this interface, even if another program configured it (repeatable).
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub(crate) interface: Vec<String>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// The file whose trees are compared with the kernel.
#[derive(Args, Clone, Debug)]
pub(crate) struct WantedArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}
