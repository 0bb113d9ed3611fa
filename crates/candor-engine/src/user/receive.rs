//! How frames come in: one file for each receiver.

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

/// Frames that a receiver gives at most before queues behind it are emptied.
pub(super) const MAX_AT_ONCE: usize = 64;

/// A frame that has come in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived<'a> {
    /// What the kernel gave: `struct can_frame`, `struct canfd_frame`, or what is none of them.
    pub(super) bytes: &'a [u8],
    /// When the kernel got it, if somebody wants to know ([`Port::stamps`]).
    pub(super) at: Option<RealtimeNs>,
    /// Whether another one is known to wait behind it.
    pub(super) more: bool,
}

/// A way to receive. Chosen once for all threads, so that a frame costs no dynamic call.
pub(super) trait Receive: Sized + Send + 'static {
    /// Opens what it needs on the interface of the port.
    fn open(port: &Arc<Port>) -> io::Result<Self>;

    /// Waits for frames, as long as it takes or at most this long, and gives all that are there, the oldest first and at
    /// most [`MAX_AT_ONCE`], to `take`.
    ///
    /// `all` says that senders collect, so that it is worth to look for a second frame where that costs a system call.
    ///
    /// Errors: `Interrupted` if a signal came; whatever else [`is_passing`](super::port::is_passing) knows is followed by
    /// a further call.
    fn receive(&mut self, patience: Option<Duration>, all: bool, take: impl FnMut(Arrived<'_>)) -> io::Result<()>;

    /// Among the frames of the last call was one that no job takes. Called by the thread that receives.
    ///
    /// By itself nothing: sockets of CAN_RAW get only what some job may take.
    fn keep_unwanted_away(&mut self) {}

    /// The port may be on another interface now, or want other frames. Called by the thread that receives.
    ///
    /// By itself nothing: the socket of the port is exchanged by the supervisor.
    fn follow(&mut self) -> io::Result<()> {
        Ok(())
    }
}
