//! Arguments of `candor egress`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::NetnsArgs;

/// What waits before a bus, and in which order: the trees of [egress.BUS] in the kernel.
///
/// Most people want these: `candor egress plan FILE` to see what would change, `apply` to change it, `show FILE` to see
/// which band has sent, dropped and holds how many frames.
#[derive(Debug, Subcommand)]
pub(crate) enum EgressCommand {
    Plan(EgressPlanArgs),
    Apply(EgressApplyArgs),
    Show(EgressShowArgs),
    Verify(EgressVerifyArgs),
    Watch(EgressWatchArgs),
    Clear(EgressClearArgs),
}

/// Show what `candor egress apply` would change, like a diff. Changes nothing.
///
/// `+` made, `-` taken away, `~` changed where it is. Whether frames that wait are lost on the way is said.
///
/// Exit status: 0 it was shown, 1 the file is not valid, or with --exit-code there is something to change, 2 it could
/// not be compared.
#[derive(Args, Debug)]
pub(crate) struct EgressPlanArgs {
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Exit with 1 if the kernel is not what the file says, as `git diff --exit-code` does.
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Give every interface the disciplines, classes and filters that its bus has in the file, and leave them so.
///
/// Interfaces that are as they should be are not touched. If the kernel refuses anything, all interfaces are as they were
/// before. The tree of the file is all that hangs on an interface: what others have made there is replaced, and told.
///
/// Exit status: 0 the kernel is what the file says, 1 the file is not valid, 2 it could not be applied.
#[derive(Args, Debug)]
pub(crate) struct EgressApplyArgs {
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Draw what interfaces have, with what it has counted: frames sent, dropped and waiting, hits of filters.
///
/// Needs no privilege. With a file its bands are named and only its interfaces are shown; without one, all CAN interfaces.
///
/// Exit status: 0 it was shown, 1 the file is not valid, or tc cannot say it, 2 it could not be shown.
#[derive(Args, Debug)]
pub(crate) struct EgressShowArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: Option<PathBuf>,
    /// Show this interface (repeatable).
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// Show what the file wants; no kernel is asked.
    #[arg(long, requires = "file")]
    pub(crate) wanted: bool,
    /// Print it in this form (default: tree).
    #[arg(long = "as", value_name = "FORM", conflicts_with = "json")]
    pub(crate) form: Option<EgressForm>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A form of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EgressForm {
    /// A picture: scalable vector graphics, of one interface.
    Svg,
    /// A shell script with commands of tc that make the same, of one interface.
    Tc,
    /// A text tree.
    Tree,
}

/// Say whether the kernel has what the file wants, and which traps are left on this machine.
///
/// As `candor egress plan --exit-code`, and with what only the machine knows: length of queues, kernel, bit rate.
///
/// Exit status: 0 it has, 1 it has not, or the file is not valid, 2 the kernel could not be asked.
#[derive(Args, Debug)]
pub(crate) struct EgressVerifyArgs {
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Look on until SIGINT or SIGTERM, and tell when somebody changes what the file wants.
///
/// Exit status: 0 nothing was otherwise when it ended, 1 something was, or the file is not valid, 2 it could not look on.
#[derive(Args, Debug)]
pub(crate) struct EgressWatchArgs {
    #[command(flatten)]
    pub(crate) wanted: WantedArgs,
    /// Put back what is not as the file wants it, also on interfaces that come back. It stays after the end.
    #[arg(long)]
    pub(crate) mend: bool,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take away what `candor egress apply` has made; the interfaces have the kernel's default again.
///
/// Interfaces that have something else than the file says are left alone, and told.
///
/// Exit status: 0 nothing of it is left, 1 something else is there and was left alone, or the file is not valid, 2 it
/// could not be taken away.
#[derive(Args, Debug)]
pub(crate) struct EgressClearArgs {
    /// The gateway file (candor.toml); - is standard input.
    #[arg(required_unless_present = "interface")]
    pub(crate) file: Option<PathBuf>,
    /// Take away whatever is at this interface, whoever made it (repeatable).
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub(crate) interface: Vec<String>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose trees.
#[derive(Args, Clone, Debug)]
pub(crate) struct WantedArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
}
