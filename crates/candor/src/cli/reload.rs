//! Arguments of `candor reload`.

use std::path::PathBuf;

use clap::Args;

use super::NetnsArgs;

/// Make a running gateway read its file again, and report the result.
///
/// The gateway switches to the new routes between two frames. In user space no frame is lost or duplicated, or processed by a
/// mix of both files, and routes that keep their names keep their counters. In the kernel, unchanged jobs are not touched;
/// changed ones are deleted and added again, so a frame that arrives in between is not forwarded. A file that is not valid, or
/// that changes a fixed setting such as the engine, changes nothing.
///
/// Exit status: 0 the gateway runs the new file, 1 the file was rejected and the old one keeps running, 2 no gateway was
/// reached.
#[derive(Args, Debug)]
pub(crate) struct ReloadArgs {
    /// File of the gateway; required only if several are running.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
