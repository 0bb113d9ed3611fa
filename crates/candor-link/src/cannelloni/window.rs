//! Lost, late and repeated datagrams, from sequence numbers of 8 bits.

use std::time::Duration;

/// How far a datagram can be behind the newest one.
const REORDERED: u8 = 16;

/// A silence after which numbers that go back are a restart of the peer.
const RESTART: Duration = Duration::from_secs(1);

/// The meaning of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next one, after this many missing ones; or one from before the first that arrived.
    New {
        /// Datagrams counted as lost, modulo 256.
        missing: u8,
    },
    /// One that was counted as lost, after newer ones.
    Late,
    /// One that was there before.
    Repeated,
    /// The peer starts over.
    Restarted,
}

/// The newest sequence number, and which of the 16 before it are missing.
///
/// A number of 8 bits cannot distinguish a loss of 256 datagrams from none. Numbers up to 16 behind the newest are late or
/// repeated, all others are ahead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    newest: Option<(u8, Duration)>,
    /// Bit `n`: the datagram `n + 1` before the newest was counted as lost.
    missing: u16,
    /// Bit `n`: it arrived. Neither, if it is older than the first one.
    arrived: u16,
}

impl Window {
    /// A datagram arrived.
    pub fn arrived(&mut self, now: Duration, sequence: u8) -> Arrival {
        let start = Self { newest: Some((sequence, now)), ..Self::default() };
        let Some((newest, at)) = self.newest else {
            *self = start;
            return Arrival::New { missing: 0 };
        };
        let behind = newest.wrapping_sub(sequence);
        if behind > REORDERED {
            let ahead = sequence.wrapping_sub(newest);
            let moved = |mask: u16, between: u64| {
                let mask = (u64::from(mask) << ahead.min(31)) | between;
                u16::try_from(mask & 0xFFFF).unwrap_or_default()
            };
            let last = 1 << (ahead - 1).min(31);
            *self = Self {
                missing: moved(self.missing, last - 1),
                arrived: moved(self.arrived, last),
                newest: start.newest,
            };
            return Arrival::New { missing: ahead - 1 };
        }
        if now.saturating_sub(at) > RESTART {
            *self = start;
            return Arrival::Restarted;
        }
        self.newest = Some((newest, now));
        if behind == 0 {
            return Arrival::Repeated;
        }
        let bit = 1 << (behind - 1);
        let was_missing = self.missing & bit != 0;
        let was_there = self.arrived & bit != 0;
        self.missing &= !bit;
        self.arrived |= bit;
        match (was_missing, was_there) {
            (true, _) => Arrival::Late,
            (false, true) => Arrival::Repeated,
            (false, false) => Arrival::New { missing: 0 },
        }
    }
}
