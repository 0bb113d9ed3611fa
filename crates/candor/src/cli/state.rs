//! Arguments of the commands that look at the kernel's jobs and change them.

use std::path::PathBuf;

use clap::Args;

/// Show what `candor apply` would change, like a diff. Changes nothing.
///
/// `+` added, `-` removed, `~` changed where it is, `-/+` removed and added again because of the order, `>` adopted;
/// `?` somebody else's, `!` somebody else's that doubles one of the file.
///
/// Exit status: 0 it was shown, 1 the file is not valid, or with --exit-code there is something to change, 2 it could
/// not be compared.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Exit with 1 if the kernel is not what the file says, as `git diff --exit-code` does.
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make the kernel what a gateway file says, and leave it so.
///
/// Only routes that can-gw can do by itself can be applied. Jobs that are as they should be are not touched, and doing it
/// again changes nothing. If anything is refused, the jobs are what they were before. Jobs that candor did not make are
/// reported and left alone.
///
/// Exit status: 0 the kernel is what the file says, 1 the file is not valid, 2 it could not be applied.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// The gateway file (candor.toml); - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the can-gw jobs of this machine by route, with counters and owners, and the gateways in user space.
///
/// Counters are the kernel's 32-bit numbers, which begin anew after 4 294 967 295. Needs no privilege; which jobs are
/// candor's is known to those who may read its lists (root).
///
/// Exit status: 0 it was shown, 2 it could not be.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take out what `candor apply` has put into the kernel.
///
/// Without a file: all of it, and what a `candor run` that died has left. Jobs of running ones and of others are left
/// alone. The file need not exist any more.
///
/// Exit status: 0 nothing of it is in the kernel any more, 2 it could not be taken out.
#[derive(Args, Debug)]
pub(crate) struct DownArgs {
    /// The gateway file that was applied.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What becomes of jobs that candor did not make.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ForeignArgs {
    /// Take over jobs that candor did not make and that are equal to wanted ones; their counters go on.
    #[arg(long)]
    pub(crate) adopt: bool,
    /// Remove ALL can-gw jobs of the network namespace that candor did not make, except equal ones, which are adopted.
    #[arg(long)]
    pub(crate) prune: bool,
}

/// Where to work.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetnsArgs {
    /// Work in this network namespace: a name (ip netns), the number of a process in it, or a path.
    #[arg(long = "netns", value_name = "NAME|PID|PATH")]
    pub(crate) which: Option<String>,
}
