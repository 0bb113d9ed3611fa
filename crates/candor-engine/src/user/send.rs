//! How frames leave: one file for each sender.

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

/// How many frames were handed over, and why not the next one.
#[derive(Debug)]
pub(super) struct Handed {
    /// So many of the first ones.
    pub(super) taken: usize,
    /// What the kernel said of the one behind them; `None` if there is none, or if it has not said anything.
    pub(super) refused: Option<io::Error>,
}

/// A way to send to one bus, owned by one thread. Chosen once for all threads, so that a frame costs no dynamic call.
pub(super) trait Transmit: Debug + Sized + Send + 'static {
    /// Opens what it needs on the interface of the port.
    fn open(port: &Arc<Port>) -> io::Result<Self>;

    /// Whether frames are collected before they are handed over; `more` says that another one is waiting.
    fn collects(more: bool) -> bool;

    /// Hands frames to the kernel, in their order and without waiting for room: `ENOBUFS` or `EAGAIN` if there is none.
    /// Nothing of a frame that was not taken is left behind.
    fn hand_over(&mut self, frames: &[Queued]) -> Handed;

    /// The port may be on another interface now. Called by the thread that sends.
    ///
    /// By itself nothing: the socket of the port is exchanged by the supervisor.
    fn follow(&mut self) -> io::Result<()> {
        Ok(())
    }
}
