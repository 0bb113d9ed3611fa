//! Arguments of `candor reload`.

use std::path::PathBuf;

use clap::Args;

use super::NetnsArgs;

/// Have a running gateway read its file again, and say whether it was taken.
///
/// The candor that runs goes over to the new routes between two frames: in user space no frame is lost, doubled or treated by
/// half of each file, and routes that keep their names go on with their counters. In the kernel jobs that stay are not
/// touched; those that change are deleted and added again, so that a frame that comes just then is not forwarded. A broken
/// file, or one that asks for something that cannot be exchanged (another engine), changes nothing.
///
/// Exit status: 0 the file was taken, 1 it was not, and what ran goes on, 2 nobody could be asked.
#[derive(Args, Debug)]
pub(crate) struct ReloadArgs {
    /// The gateway file that is run; needed only if more than one candor runs.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
