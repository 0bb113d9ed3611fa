//! What differs between protocols.

use std::time::Duration;

use candor_core::frame::Frame;

use super::{Closed, Counts, Options, Outbox, Queue, Received};
use crate::Cannot;

/// Whether frames can be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeted {
    /// Not yet.
    No,
    /// Both sides have greeted.
    Yes,
}

/// The parts of a session that a protocol works with.
#[derive(Debug)]
pub struct Context<'s> {
    pub(crate) now: Duration,
    pub(crate) outbox: &'s mut Outbox,
    pub(crate) queue: &'s mut Queue,
    pub(crate) counts: &'s mut Counts,
}

impl Context<'_> {
    /// The bytes for the peer, to append to them.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        self.outbox.bytes(self.now)
    }

    /// Moves frames from the queue into the bytes for the peer until there are enough bytes.
    pub(crate) fn pack_each(
        &mut self,
        bytes: usize,
        mut write: impl FnMut(&super::Outgoing, &mut Vec<u8>) -> Result<(), Cannot>,
    ) {
        while self.outbox.rest().len() < bytes {
            let Some((_, outgoing)) = self.queue.pop() else { break };
            match write(&outgoing, self.outbox.bytes(self.now)) {
                Ok(()) => self.outbox.add_frame(),
                Err(cannot) => self.counts.cannot(cannot),
            }
        }
    }

    /// Delivers a frame of a protocol that has one bus and no origins.
    pub(crate) fn deliver(&mut self, frame: Frame, stamp: Option<crate::Stamp>, deliver: &mut dyn FnMut(Received)) {
        self.deliver_from(Received { bus: 0, frame, stamp, origin: None, hops: 1 }, deliver);
    }

    pub(crate) fn deliver_from(&mut self, received: Received, deliver: &mut dyn FnMut(Received)) {
        if received.frame.id.is_err() {
            self.counts.error_messages += 1;
        } else if crate::check::well_formed(&received.frame).is_err() {
            self.counts.malformed += 1;
        } else {
            self.counts.received += 1;
            deliver(received);
        }
    }
}

/// A protocol of a [`Session`](super::Session).
pub trait Protocol: Send {
    /// Whether frames can be sent without a greeting.
    const IS_UP_AT_ONCE: bool = false;

    /// The protocol of a link.
    fn new(options: &Options) -> Self;

    /// Whether the protocol can carry this frame.
    ///
    /// # Errors
    /// The reason.
    fn fits(frame: &Frame) -> Result<(), Cannot>;

    /// A connection exists.
    fn connected(&mut self, context: &mut Context<'_>);

    /// The connection is gone.
    fn disconnected(&mut self);

    /// Bytes of the peer.
    ///
    /// # Errors
    /// If the connection must be closed.
    fn received(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed>;

    /// Writes frames of the queue, about this many bytes.
    fn pack(&mut self, bytes: usize, context: &mut Context<'_>);

    /// After which time without another message an empty one is sent.
    fn keep_alive(&self) -> Option<Duration> {
        None
    }

    /// Writes an empty message.
    fn write_keep_alive(&mut self, _context: &mut Context<'_>) {}

    /// Whether the peer must send something all the time.
    fn expects_answers(&self) -> bool {
        false
    }

    /// Writes why the connection is closed.
    fn write_reason(&mut self, _reason: &Closed, _context: &mut Context<'_>) {}
}
