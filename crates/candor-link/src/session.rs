//! Connections to a peer, over time.
//!
//! ```text
//!            Connect                connected()              first message
//!  down ───────────────▶ connecting ───────────▶ greeting ─────────────────▶ up
//!   ▲  back-off            │ time-out              │ time-out, mistake        │ silence, stall, mistake, close
//!   └──────────────────────┴───────────────────────┴──────────────────────────┘ Close
//! ```
//!
//! A session lives as long as its link and survives connections: its queue, its counters, and with candor's protocol the
//! sequence numbers of both sides.

mod back_off;
mod candor;
mod cannelloni;
mod counts;
mod options;
mod outbox;
mod protocol;
mod queue;
mod socketcand;

pub use back_off::BackOff;
pub use candor::Candor;
pub use cannelloni::{Tcp, Udp};
pub use counts::Counts;
pub use options::{Flush, Options, QueueOptions, Role, WhenFull};
pub use outbox::Outbox;
pub use protocol::{Context, Greeted, Protocol};
pub use queue::Queue;
pub use socketcand::{SocketcandClient, SocketcandServer};

use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::random::SplitMix64;

use crate::{Cannot, DecodeError, Origin, Stamp};

/// Most bytes that wait for a peer besides those of a batch: answers to its commands.
const MAX_OUTBOX_BYTES: usize = 64 * 1024;

/// How long the last message of a connection may take.
const LINGER: Duration = Duration::from_secs(1);

/// A frame for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The bus, an index of [`Options::buses`].
    pub bus: usize,
    /// The frame.
    pub frame: Frame,
    /// When it was received from its bus.
    pub stamp: Option<Stamp>,
    /// The gateway that received it; `None` is this one.
    pub origin: Option<Origin>,
    /// Number of links that it crossed.
    pub hops: u8,
    /// Its band in the queue, 0 the first, up to one less than [`QueueOptions::bands`].
    pub band: u8,
}

impl Outgoing {
    /// A frame that this gateway received from a bus.
    #[must_use]
    pub const fn local(bus: usize, frame: Frame, stamp: Option<Stamp>) -> Self {
        Self { bus, frame, stamp, origin: None, hops: 0, band: 0 }
    }
}

/// A frame of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The bus, an index of [`Options::buses`].
    pub bus: usize,
    /// The frame, never an error message.
    pub frame: Frame,
    /// When a gateway received it from its bus, by that gateway's clock. `None` if the peer did not say.
    pub stamp: Option<Stamp>,
    /// The gateway that received it from a bus. `None` if the protocol does not say.
    pub origin: Option<Origin>,
    /// Number of links that it crossed, with this one.
    pub hops: u8,
}

/// What the caller of a session has to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Close the connection, or give up connecting. The session has forgotten it.
    Close(Closed),
    /// Connect, and call [`connected`](Session::connected) or [`disconnected`](Session::disconnected).
    Connect,
    /// Wait for the peer, for a frame, or until this time.
    Wait(Option<Duration>),
    /// Write [`outgoing`](Session::outgoing) as far as possible, and call [`written`](Session::written). If nothing could
    /// be written, wait for the socket, or until [`deadline`](Session::deadline).
    Write,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The peer has none of the buses.
    #[error("the peer has none of this link's buses; its buses are: {0}")]
    Buses(String),
    /// The peer closed the connection, with this reason.
    #[error("the peer closed the connection: {0}")]
    ByPeer(String),
    /// The connection was not accepted in time.
    #[error("no connection within {0:?}")]
    Connecting(Duration),
    /// Bytes that are not of the protocol.
    #[error("the peer sent something wrong: {0}")]
    Decode(#[from] DecodeError),
    /// A peer that sends commands and does not read the answers.
    #[error("the peer did not read {0} bytes of answers to its commands")]
    Flood(usize),
    /// The peer did not greet in time.
    #[error("no greeting within {0:?}")]
    Greeting(Duration),
    /// The peer is this gateway.
    #[error("the link leads back to this gateway, origin {:#x}", .0.0)]
    OwnOrigin(Origin),
    /// A server does not give the bus.
    #[error("the server refused: {0}")]
    Refused(String),
    /// Nothing came in time.
    #[error("nothing received for {0:?}")]
    Silence(Duration),
    /// The socket took nothing in time.
    #[error("the peer read nothing for {0:?}")]
    Stall(Duration),
    /// A message that is possible only at another time.
    #[error("the peer sent `{0}`, which is not expected now")]
    Unexpected(String),
}

#[derive(Clone, Debug)]
enum State {
    Down { next_attempt: Option<Duration> },
    Connecting { since: Duration },
    Connected { since: Duration, received_at: Duration, sent_at: Duration, is_up: bool },
    Closing { since: Duration, reason: Closed },
}

/// A link to one peer.
#[derive(Debug)]
pub struct Session<P> {
    options: Options,
    protocol: P,
    state: State,
    queue: Queue,
    outbox: Outbox,
    /// Frames in the last datagram that was sent, until it is answered.
    last_datagram: u64,
    counts: Counts,
    back_off: BackOff,
    random: SplitMix64,
}

impl<P: Protocol> Session<P> {
    /// A session that connects at once, or waits for a peer. `now` is a time of any monotonic clock, as in all other
    /// functions. The pauses between attempts depend on the seed.
    #[must_use]
    pub fn new(options: &Options, now: Duration, seed: u64) -> Self {
        Self {
            protocol: P::new(options),
            state: State::Down { next_attempt: (options.role == Role::Connects).then_some(now) },
            queue: Queue::new(&options.queue),
            outbox: Outbox::default(),
            last_datagram: 0,
            counts: Counts::default(),
            back_off: options.back_off,
            random: SplitMix64::new(seed),
            options: options.clone(),
        }
    }

    /// The counters. Each frame of [`send`](Self::send) is in `sent`, in one of the others, or [waiting](Self::waiting).
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Number of frames in the queue, and in bytes that the socket has not taken.
    pub fn waiting(&self) -> u64 {
        self.queue.len() as u64 + self.outbox.frames()
    }

    /// Whether frames can be exchanged now.
    pub const fn is_up(&self) -> bool {
        matches!(self.state, State::Connected { is_up: true, .. })
    }

    /// A connection exists: a server accepted it, or [`Action::Connect`] succeeded.
    pub fn connected(&mut self, now: Duration) {
        self.forget();
        self.state = State::Connected { since: now, received_at: now, sent_at: now, is_up: false };
        self.counts.connections += 1;
        let mut context = Context { now, outbox: &mut self.outbox, queue: &mut self.queue, counts: &mut self.counts };
        self.protocol.connected(&mut context);
        if P::IS_UP_AT_ONCE {
            self.state = State::Connected { since: now, received_at: now, sent_at: now, is_up: true };
        }
    }

    /// The connection is gone: the peer closed it, the socket failed, or [`Action::Connect`] did. Returns the reason if this
    /// side was about to close it.
    pub fn disconnected(&mut self, now: Duration) -> Option<Closed> {
        if let State::Connected { since, is_up, .. } = self.state {
            self.back_off.was_up(if is_up { now.saturating_sub(since) } else { Duration::ZERO });
        }
        self.forget();
        let pause = self.back_off.next(&mut self.random);
        let down =
            State::Down { next_attempt: (self.options.role == Role::Connects).then(|| now.saturating_add(pause)) };
        match std::mem::replace(&mut self.state, down) {
            State::Closing { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Bytes of the peer: of a stream in any pieces, or one whole datagram. Calls `deliver` for each frame.
    pub fn received(&mut self, now: Duration, bytes: &[u8], mut deliver: impl FnMut(Received)) {
        let State::Connected { received_at, is_up, .. } = &mut self.state else { return };
        *received_at = now;
        let mut context = Context { now, outbox: &mut self.outbox, queue: &mut self.queue, counts: &mut self.counts };
        match self.protocol.received(bytes, &mut context, &mut deliver) {
            Ok(Greeted::Yes) => *is_up = true,
            Ok(Greeted::No) => *is_up = P::IS_UP_AT_ONCE,
            Err(reason) => return self.close(now, reason),
        }
        let len = self.outbox.rest().len();
        if len > MAX_OUTBOX_BYTES + self.options.flush.bytes {
            self.close(now, Closed::Flood(len));
        }
    }

    /// Takes a frame for the peer. Never waits: the queue drops frames if it is full.
    pub fn send(&mut self, now: Duration, outgoing: Outgoing) {
        self.counts.offered += 1;
        if outgoing.frame.id.is_err() {
            self.counts.cannot(Cannot::ErrorMessage);
        } else if let Err(cannot) = P::fits(&outgoing.frame) {
            self.counts.cannot(cannot);
        } else if outgoing.bus >= self.options.buses.len() {
            self.counts.unknown_bus_sent += 1;
        } else {
            self.queue.expire(now, &mut self.counts);
            self.queue.push(now, outgoing, &mut self.counts);
        }
    }

    /// Bytes for the peer: the rest of a stream, or one whole datagram.
    pub fn outgoing(&self) -> &[u8] {
        self.outbox.rest()
    }

    /// The socket took this many bytes of [`outgoing`](Self::outgoing); of a datagram, all or none.
    pub fn written(&mut self, now: Duration, bytes: usize) {
        if let State::Connected { sent_at, .. } = &mut self.state
            && bytes > 0
        {
            *sent_at = now;
        }
        self.last_datagram = self.outbox.written(now, bytes);
        self.counts.sent += self.last_datagram;
    }

    /// The host of the peer answered that no program receives the last datagram. Its frames are counted.
    pub const fn bounced(&mut self) {
        self.counts.bounced += self.last_datagram;
        self.last_datagram = 0;
    }

    /// The socket refused the datagram of [`outgoing`](Self::outgoing), for example because there is no way to the peer. Its
    /// frames are counted as cut off.
    pub fn refused(&mut self) {
        self.counts.cut_off += self.outbox.clear();
    }

    /// Advances the session to this time.
    pub fn poll(&mut self, now: Duration) -> Action {
        self.queue.expire(now, &mut self.counts);
        match self.state.clone() {
            State::Down { next_attempt: Some(at) } if at <= now => {
                self.state = State::Connecting { since: now };
                return Action::Connect;
            }
            State::Connecting { since } if since.saturating_add(self.options.connect_time_out) <= now => {
                self.disconnected(now);
                return Action::Close(Closed::Connecting(self.options.connect_time_out));
            }
            State::Closing { since, reason } if self.outbox.is_empty() || since.saturating_add(LINGER) <= now => {
                self.disconnected(now);
                return Action::Close(reason);
            }
            State::Connected { since, received_at, sent_at, is_up } => {
                if let Some(reason) = self.overdue(now, since, received_at, is_up) {
                    self.close(now, reason);
                    return self.poll(now);
                }
                if is_up && self.outbox.is_empty() {
                    self.pack(now, sent_at);
                }
            }
            _ => {}
        }
        if self.outbox.is_empty() { Action::Wait(self.deadline()) } else { Action::Write }
    }

    /// The next time at which [`poll`](Self::poll) has something to do, if nothing happens before.
    pub fn deadline(&self) -> Option<Duration> {
        let first = |times: &[Option<Duration>]| times.iter().flatten().min().copied();
        let expires = self.queue.expires();
        let state = match self.state {
            State::Down { next_attempt } => next_attempt,
            State::Connecting { since } => Some(since.saturating_add(self.options.connect_time_out)),
            State::Closing { since, .. } => Some(since.saturating_add(LINGER)),
            State::Connected { since, received_at, sent_at, is_up } => {
                let time_out = self.options.time_out;
                let stall = (!self.outbox.is_empty()).then(|| self.outbox.since().saturating_add(time_out));
                let flush =
                    if is_up && self.outbox.is_empty() { self.queue.flush_at(&self.options.flush) } else { None };
                let greeting = (!is_up).then(|| since.saturating_add(self.options.connect_time_out));
                let silence = (is_up && self.protocol.expects_answers()).then(|| received_at.saturating_add(time_out));
                let keep_alive = self.protocol.keep_alive().filter(|_| is_up && self.outbox.is_empty());
                first(&[stall, flush, greeting, silence, keep_alive.map(|pause| sent_at.saturating_add(pause))])
            }
        };
        first(&[expires, state])
    }

    fn overdue(&self, now: Duration, since: Duration, received_at: Duration, is_up: bool) -> Option<Closed> {
        let Options { time_out, connect_time_out, .. } = self.options;
        if !is_up && since.saturating_add(connect_time_out) <= now {
            return Some(Closed::Greeting(connect_time_out));
        }
        if is_up && self.protocol.expects_answers() && received_at.saturating_add(time_out) <= now {
            return Some(Closed::Silence(time_out));
        }
        (!self.outbox.is_empty() && self.outbox.since().saturating_add(time_out) <= now)
            .then_some(Closed::Stall(time_out))
    }

    fn pack(&mut self, now: Duration, sent_at: Duration) {
        let is_due = self.queue.flush_at(&self.options.flush).is_some_and(|at| at <= now);
        let is_quiet = self.protocol.keep_alive().is_some_and(|pause| sent_at.saturating_add(pause) <= now);
        let mut context = Context { now, outbox: &mut self.outbox, queue: &mut self.queue, counts: &mut self.counts };
        if is_due {
            self.protocol.pack(self.options.flush.bytes, &mut context);
        }
        if is_quiet && context.outbox.is_empty() {
            self.protocol.write_keep_alive(&mut context);
        }
    }

    fn close(&mut self, now: Duration, reason: Closed) {
        if !matches!(reason, Closed::Stall(_) | Closed::Flood(_)) {
            let mut context =
                Context { now, outbox: &mut self.outbox, queue: &mut self.queue, counts: &mut self.counts };
            self.protocol.write_reason(&reason, &mut context);
        } else {
            // The peer would not read the reason.
            self.counts.cut_off += self.outbox.clear();
        }
        if let State::Connected { since, is_up, .. } = self.state {
            self.back_off.was_up(if is_up { now.saturating_sub(since) } else { Duration::ZERO });
        }
        self.state = State::Closing { since: now, reason };
    }

    /// The connection took its unwritten bytes along.
    fn forget(&mut self) {
        self.counts.cut_off += self.outbox.clear();
        self.protocol.disconnected();
    }
}

#[cfg(test)]
mod tests;
