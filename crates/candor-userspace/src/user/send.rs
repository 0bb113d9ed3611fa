//! Senders, one file each.

mod mmsg;
mod ring;
mod uring;
mod write;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::port::Port;
use super::queued::Queued;
pub(super) use mmsg::Mmsg;
pub(super) use ring::{Adaptive, Ring};
pub(super) use uring::Uring;
pub(super) use write::Write;

#[derive(Debug)]
pub(super) struct Handed {
    /// Number of frames accepted, from the first on.
    pub(super) taken: usize,
    /// Error for the next frame; `None` if all were accepted, or if the kernel reports it only at the next call.
    pub(super) refused: Option<io::Error>,
}

/// A sender to one bus, owned by one thread; a type parameter, so that a frame costs no dynamic dispatch.
pub(super) trait Transmit: Debug + Sized + Send + 'static {
    /// Opens the sender on the interface of the port.
    fn open(port: &Arc<Port>) -> io::Result<Self>;

    /// True to batch instead of sending at once; `more` if another frame is waiting.
    fn collects(more: bool) -> bool;

    /// Sends frames in order without blocking: `ENOBUFS` or `EAGAIN` if there is no room. Refused frames leave no
    /// trace.
    fn hand_over(&mut self, frames: &[Queued]) -> Handed;

    /// Called after the port may have moved to another interface.
    ///
    /// The default does nothing: the supervisor replaces the socket of the port.
    fn follow(&mut self) -> io::Result<()> {
        Ok(())
    }
}
