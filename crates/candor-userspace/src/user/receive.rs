//! Receivers, one file each.

mod mmsg;
mod read;
mod ring;
mod uring;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_io::clock::RealtimeNs;

use super::port::Port;
pub(super) use mmsg::Mmsg;
pub(super) use read::{BusyPolled, Read, Spinning};
pub(super) use ring::Ring;
pub(super) use uring::Uring;

/// Maximum batch before the queues are flushed.
pub(super) const MAX_AT_ONCE: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived<'a> {
    /// `struct can_frame`, `struct canfd_frame`, or anything else on the interface.
    pub(super) bytes: &'a [u8],
    /// Receive timestamp, if [`Port::stamps`] is on.
    pub(super) at: Option<RealtimeNs>,
    /// Another frame is known to be waiting.
    pub(super) more: bool,
}

/// A receiver, chosen once for all threads as a type parameter, so that a frame costs no dynamic dispatch.
pub(super) trait Receive: Sized + Send + 'static {
    /// Opens the receiver on the interface of the port.
    fn open(port: &Arc<Port>) -> io::Result<Self>;

    /// Waits for frames, without limit or for `patience`, and passes all that are available, oldest first and at most
    /// [`MAX_AT_ONCE`], to `take`.
    ///
    /// `all` is set if the sender batches, so that polling for a second frame is worth a system call.
    ///
    /// Errors: `Interrupted` after a signal; the thread continues after any error for which
    /// [`is_passing`](super::port::is_passing) is true.
    fn receive(&mut self, patience: Option<Duration>, all: bool, take: impl FnMut(Arrived<'_>)) -> io::Result<()>;

    /// Called after a batch with frames that match no job.
    ///
    /// The default does nothing: CAN_RAW filters in the kernel.
    fn keep_unwanted_away(&mut self) {}

    /// Called after the port has moved to another interface or its filters have changed.
    ///
    /// The default does nothing: the supervisor replaces the socket of the port.
    fn follow(&mut self) -> io::Result<()> {
        Ok(())
    }
}
