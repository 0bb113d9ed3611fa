//! What happened on a link.

use crate::Cannot;

/// Counters of a [`Session`](super::Session), since it began.
///
/// `offered` is always the sum of `sent`, `dropped_full`, `dropped_old`, `cut_off`, `unknown_bus_sent`, all of `cannot`, and
/// the frames that are waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames given to the session.
    pub offered: u64,
    /// Frames whose bytes the socket took.
    pub sent: u64,
    /// Frames dropped because the queue was full.
    pub dropped_full: u64,
    /// Frames dropped because they waited longer than `max-age`.
    pub dropped_old: u64,
    /// Frames in bytes that the socket had not taken when the connection ended, or in a datagram that it refused.
    pub cut_off: u64,
    /// Of those sent, frames in datagrams that no program of the peer received, as its host answered.
    pub bounced: u64,
    /// Frames for a bus that the link or its peer does not have.
    pub unknown_bus_sent: u64,
    /// Frames that the protocol cannot carry, by [`Cannot::ALL`].
    pub cannot: [u64; Cannot::ALL.len()],
    /// Frames delivered.
    pub received: u64,
    /// Error messages of the peer's drivers, not delivered.
    pub error_messages: u64,
    /// Frames with this gateway as their origin, not delivered: there is a loop.
    pub looped: u64,
    /// Frames that crossed too many links, not delivered.
    pub too_many_hops: u64,
    /// Frames of a bus that the link does not have, not delivered.
    pub unknown_bus: u64,
    /// Malformed identifiers, not delivered.
    pub malformed: u64,
    /// Frames that the peer had for this link and that did not arrive; only candor's protocol knows them.
    pub lost: u64,
    /// Datagrams that did not arrive.
    pub lost_datagrams: u64,
    /// Datagrams that came after later ones; not lost.
    pub late_datagrams: u64,
    /// Datagrams that came twice; delivered once.
    pub repeated_datagrams: u64,
    /// Datagrams that are not of the protocol; no frame of them was delivered.
    pub wrong_datagrams: u64,
    /// Commands that were answered with an error.
    pub refused_commands: u64,
    /// Connections.
    pub connections: u64,
    /// Restarts of the peer, after which its sequence numbers start over.
    pub restarts: u64,
}

impl Counts {
    pub(crate) fn cannot(&mut self, cannot: Cannot) {
        for (count, reason) in self.cannot.iter_mut().zip(Cannot::ALL) {
            *count += u64::from(reason == cannot);
        }
    }

    /// All frames that are accounted for.
    #[must_use]
    pub fn accounted(&self) -> u64 {
        let Self { sent, dropped_full, dropped_old, cut_off, unknown_bus_sent, cannot, .. } = self;
        sent + dropped_full + dropped_old + cut_off + unknown_bus_sent + cannot.iter().sum::<u64>()
    }
}
