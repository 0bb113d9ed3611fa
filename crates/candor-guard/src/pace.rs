//! How soon frames may follow each other.

use core::any::Any;
use core::sync::atomic::{AtomicI64, Ordering};
use core::time::Duration;

use candor_core::frame::{FrameFormat, RawId};
use candor_core::job::{Compute, RealtimeNs, Seen};
use candor_core::rule::Verdict;

use crate::rule::{OnViolation, Rule};
use crate::states::{States, Table};
use crate::tally::Tally;

const SECOND_NS: u64 = 1_000_000_000;

/// A token bucket: each frame takes a token, or one for each of its bits; the bucket has room for `burst` of them and gets one
/// after each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    interval_ns: i64,
    room_ns: i64,
}

/// Why there is no such rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateError {
    /// Below 1 per second, or above 10^9.
    Rate,
    /// No frame passes a bucket without room for one; with room for one, the smallest jitter is a violation.
    Burst,
}

impl Rate {
    /// This many frames in a second, at most `burst` of them at once. The interval is rounded down to nanoseconds.
    ///
    /// # Errors
    /// [`RateError`].
    pub fn frames(per_second: u64, burst: u32) -> Result<Self, RateError> {
        if burst < 2 {
            return Err(RateError::Burst);
        }
        Self::new(per_second, burst.into())
    }

    /// This many bits in a second; `burst` frames of the largest size, in bits, at once.
    ///
    /// # Errors
    /// [`RateError`].
    pub fn bits(per_second: u64, burst: u32, largest: u32) -> Result<Self, RateError> {
        if burst < 2 {
            return Err(RateError::Burst);
        }
        Self::new(per_second, u64::from(burst) * u64::from(largest))
    }

    fn new(per_second: u64, tokens: u64) -> Result<Self, RateError> {
        if per_second == 0 || per_second > SECOND_NS {
            return Err(RateError::Rate);
        }
        let interval_ns = SECOND_NS / per_second;
        let number = |ns: u64| i64::try_from(ns).map_err(|_large| RateError::Rate);
        Ok(Self { interval_ns: number(interval_ns)?, room_ns: number(interval_ns.saturating_mul(tokens))? })
    }

    /// Frames or bits in a second, on average.
    #[must_use]
    pub const fn per_second(self) -> u64 {
        SECOND_NS / self.interval_ns.unsigned_abs()
    }

    /// Frames or bits at once.
    #[must_use]
    pub const fn at_once(self) -> u64 {
        (self.room_ns / self.interval_ns).unsigned_abs()
    }
}

/// Limits over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Frames in a second.
    pub rate: Option<Rate>,
    /// Bits in a second, without stuff bits; those of CAN FD as if all had one bit rate.
    pub bit_rate: Option<Rate>,
    /// The shortest time after the last frame that passed.
    pub gap: Option<Duration>,
}

/// Refuses frames that come too soon. Frames without a receive stamp pass.
#[derive(Debug)]
pub struct Pace {
    limits: Limits,
    states: States,
    on_violation: OnViolation,
    gap_ns: i64,
    rate: Rate,
    bit_rate: Rate,
    /// Frames that come this long after the last one keep the gap. At least 1, so that no frame without a stamp and no clock
    /// that was set back is among them.
    simple_gap_ns: i64,
    /// The bucket may be full again this long after a frame, before it takes a token. No frame keeps it if there are several
    /// states or a limit on bits.
    simple_room_ns: i64,
    table: Table,
    tally: Tally,
}

/// Refuses nothing.
const FREE: Rate = Rate { interval_ns: 0, room_ns: i64::MAX };

impl Pace {
    /// Limits before the first frame.
    #[must_use]
    pub fn new(limits: Limits, states: States, on_violation: OnViolation) -> Self {
        let gap_ns = limits.gap.map_or(0, |gap| i64::try_from(gap.as_nanos()).unwrap_or(i64::MAX));
        let rate = limits.rate.unwrap_or(FREE);
        let is_simple = states == States::One && limits.bit_rate.is_none();
        Self {
            limits,
            states,
            on_violation,
            gap_ns,
            rate,
            bit_rate: limits.bit_rate.unwrap_or(FREE),
            simple_gap_ns: gap_ns.max(1),
            simple_room_ns: if is_simple { rate.room_ns - rate.interval_ns } else { i64::MIN },
            table: Table::new(states),
            tally: Tally::default(),
        }
    }

    /// Its violations.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// As given to [`new`](Self::new).
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// True if it drops the frames that violate a limit.
    #[must_use]
    pub fn drops(&self) -> bool {
        self.on_violation == OnViolation::Drop
    }

    /// True if all frames share the limits.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.states == States::One
    }

    /// The stamp of the last frame of each identifier that came; without an identifier if all share a state.
    pub fn last_frames(&self) -> impl Iterator<Item = (Option<RawId>, RealtimeNs)> + '_ {
        let stamped = self.table.each().map(|(id, state)| (id, RealtimeNs(state.last.load(Ordering::Relaxed))));
        stamped.filter(|(_, RealtimeNs(last))| *last != 0)
    }

    /// True, with the state after a frame that passes, if the limits are those of most routes and it comes late enough. False
    /// says nothing, and nothing has changed. Without a call, so that it needs no stack.
    #[inline(always)]
    fn is_simple_and_late(&self, now: i64) -> bool {
        let state = self.table.shared();
        let full = state.frames_full.load(Ordering::Relaxed);
        let is_late = now.wrapping_sub(state.last.load(Ordering::Relaxed)) >= self.simple_gap_ns
            && full.wrapping_sub(now) <= self.simple_room_ns;
        if is_late {
            state.last.store(now, Ordering::Relaxed);
            state.frames_full.store(full.max(now) + self.rate.interval_ns, Ordering::Relaxed);
        }
        is_late
    }

    #[inline(always)]
    fn judge_of(&self, seen: Seen, payload: &[u8], format: FrameFormat) -> Verdict {
        if self.is_simple_and_late(seen.at.0) { Verdict::Send } else { self.judge_all(seen, payload, format) }
    }

    /// The format is the last argument, so that the others stay in their registers.
    #[inline(never)]
    fn judge_all(&self, seen: Seen, payload: &[u8], format: FrameFormat) -> Verdict {
        if seen.at == RealtimeNs::UNKNOWN {
            return Verdict::Send;
        }
        match self.broken(seen, payload) {
            None => Verdict::Send,
            Some(rule) => self.tally.violated(rule, format, seen, payload, self.on_violation),
        }
    }

    fn broken(&self, seen: Seen, payload: &[u8]) -> Option<Rule> {
        let RealtimeNs(now) = seen.at;
        let state = self.table.of(seen.id);
        let since = now.wrapping_sub(state.last.load(Ordering::Relaxed));
        let frames_after = full(&state.frames_full, since, now) + self.rate.interval_ns;
        let mut fault = None;
        if frames_after - now > self.rate.room_ns {
            fault = Some(Rule::Rate);
        } else if self.bit_rate != FREE {
            let bits_after = full(&state.bits_full, since, now) + self.bit_rate.interval_ns * bits(seen.id, payload);
            if bits_after - now > self.bit_rate.room_ns {
                fault = Some(Rule::BitRate);
            } else if !self.is_too_soon(since) {
                state.bits_full.store(bits_after, Ordering::Relaxed);
            }
        }
        if fault.is_none() && self.is_too_soon(since) {
            fault = Some(Rule::Gap);
        }
        if fault.is_none() {
            state.last.store(now, Ordering::Relaxed);
            state.frames_full.store(frames_after, Ordering::Relaxed);
        } else if self.on_violation == OnViolation::Count {
            state.last.store(now, Ordering::Relaxed);
        }
        fault
    }

    #[inline]
    fn is_too_soon(&self, since: i64) -> bool {
        (0..self.gap_ns).contains(&since)
    }
}

/// When a bucket is full again, at the earliest now. A clock that was set back begins again.
#[inline(always)]
fn full(at: &AtomicI64, since: i64, now: i64) -> i64 {
    if since < 0 { now } else { at.load(Ordering::Relaxed).max(now) }
}

/// Bits of a frame without stuff bits, with the three of the interframe space.
fn bits(id: RawId, payload: &[u8]) -> i64 {
    let data = if id.is_rtr() { 0 } else { payload.len() };
    let head = match (payload.len(), id.is_eff()) {
        (..=8, false) => 47,
        (..=8, true) => 67,
        // A longer CRC.
        (..=16, false) => 61,
        (..=16, true) => 80,
        (_, false) => 65,
        (_, true) => 84,
    };
    head + 8 * i64::try_from(data).unwrap_or_default()
}

impl Compute for Pace {
    fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict {
        self.judge(seen, payload)
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(seen, payload, FrameFormat::Classic)
    }

    fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge_of(seen, payload, FrameFormat::Fd)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        let same = |other: &Self| {
            (self.limits, self.states, self.on_violation) == (other.limits, other.states, other.on_violation)
        };
        other.downcast_ref().is_some_and(same)
    }

    fn is_timed(&self) -> bool {
        true
    }
}
