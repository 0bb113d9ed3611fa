//! What is chosen for a link.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::{Origin, candor};

use super::BackOff;

/// Which side makes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// This side, again after each failure.
    Connects,
    /// The peer.
    Listens,
}

/// Which frame of the last band with frames is dropped if the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The one that was added last, or would be.
    DropNewest,
    /// The one that has waited longest.
    DropOldest,
}

/// The queue of frames for the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// Most frames in it. 0 drops all.
    pub frames: usize,
    /// Number of bands, at least 1. A slow connection delays the last ones.
    pub bands: u8,
    /// What happens then.
    pub when_full: WhenFull,
    /// Longest time in the queue. `None` keeps frames while there is no connection.
    pub max_age: Option<Duration>,
}

/// When waiting frames leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// When the first of them has waited this long, at the latest.
    pub delay: Duration,
    /// As soon as this many wait.
    pub frames: usize,
    /// Most bytes in a datagram, and about as many at once in a stream.
    pub bytes: usize,
}

/// What is chosen for a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which side connects.
    pub role: Role,
    /// The names of the buses. Protocols other than candor's have only the first.
    pub buses: Vec<String>,
    /// The queue.
    pub queue: QueueOptions,
    /// Batches.
    pub flush: Flush,
    /// After this time without another message, an empty one is sent, if the protocol has one.
    pub keep_alive: Option<Duration>,
    /// Longest time in which the peer reads nothing that waits for it, or in which nothing comes from a peer that must
    /// send something.
    pub time_out: Duration,
    /// Longest time for connecting, and again for greeting.
    pub connect_time_out: Duration,
    /// Pauses between attempts to connect.
    pub back_off: BackOff,
    /// This gateway.
    pub origin: Origin,
    /// A number that is new whenever the session is: the sequence numbers of its frames start at 0.
    pub epoch: u64,
    /// Most links that a frame may cross, with this one.
    pub hop_limit: u8,
}

impl Options {
    /// Common values: 1000 frames, of which the oldest is dropped first, batches of up to 2 ms, keep-alive every second,
    /// a time-out of 5 s, attempts to connect every 0.1 s to 10 s, 4 hops. Origin and epoch must be chosen.
    #[must_use]
    pub fn new(role: Role, buses: &[&str]) -> Self {
        Self {
            role,
            buses: buses.iter().take(candor::MAX_BUSES).map(|name| (*name).to_owned()).collect(),
            queue: QueueOptions { frames: 1000, bands: 1, when_full: WhenFull::DropOldest, max_age: None },
            flush: Flush { delay: Duration::from_millis(2), frames: 64, bytes: 1400 },
            keep_alive: Some(Duration::from_secs(1)),
            time_out: Duration::from_secs(5),
            connect_time_out: Duration::from_secs(5),
            back_off: BackOff::new(Duration::from_millis(100), Duration::from_secs(10)),
            origin: Origin(NonZeroU64::MAX),
            epoch: 0,
            hop_limit: 4,
        }
    }
}
