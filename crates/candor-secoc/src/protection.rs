//! A compiled scheme: what is tried, computed and written for a frame.

use core::ops::RangeInclusive;

use alloc::vec::Vec;
use candor_core::frame::{CANFD_MAX_DLEN, FD_LENGTHS};
use subtle::ConstantTimeEq as _;

use crate::bits::Field;
use crate::cmac::{BLOCK, Cmac};
use crate::error::{Part, SchemeError};
use crate::key::Key;
use crate::scheme::{Freshness, Scheme};
use crate::verdict::Verdict;

/// The longest Data-ID in bytes.
const DATA_ID: usize = 16;
/// Bytes of what a MAC covers at most: Data-ID, payload, and a freshness value of 72 bits.
const MESSAGE: usize = DATA_ID + CANFD_MAX_DLEN + 9;
const BLOCKS: usize = (MESSAGE + 1).div_ceil(BLOCK);

/// A scheme with its key.
#[derive(Debug)]
pub struct Protection {
    cmac: Cmac,
    data_id: Vec<u8>,
    /// First byte of the payload, and its length.
    pub(crate) payload: (usize, usize),
    pub(crate) fresh: Option<Fresh>,
    mac: Field,
    mac_bits: u32,
    pub(crate) len: usize,
}

/// A compiled freshness value: prefix, counter, flag.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// Bits of the reset counter, if the prefix is that of a sync frame.
    reset: Option<u32>,
    pub(crate) counter: u32,
    sent: u32,
    flag: u32,
    field: Field,
    attempts: u8,
    pub(crate) start: u64,
    /// The largest value of prefix and counter.
    largest: u64,
    /// Bytes of the whole value, and zero bits at its end.
    bytes: usize,
    filling: u32,
}

impl Protection {
    /// Compiles a scheme, and computes the key schedule.
    ///
    /// # Errors
    /// [`SchemeError`] if a part does not fit into the frame, or a width is not possible.
    pub fn new(scheme: &Scheme, key: &Key) -> Result<Self, SchemeError> {
        let len = scheme.len;
        if len == 0 || !is_length(len) {
            return Err(SchemeError::Len { len });
        }
        if scheme.data_id.len() > DATA_ID {
            return Err(SchemeError::DataId { len: scheme.data_id.len() });
        }
        let (mac_at, mac_bits) = scheme.mac;
        if !(8..=128).contains(&mac_bits) {
            return Err(SchemeError::MacBits { bits: mac_bits });
        }
        let fresh = scheme.freshness.as_ref().map(Fresh::new).transpose()?;
        let mac = Field::new(mac_at, mac_bits);
        let payload = (scheme.payload.start, scheme.payload.len());
        let ends = [
            (Part::Payload, scheme.payload.end),
            (Part::Freshness, fresh.as_ref().map_or(0, |fresh| fresh.field.end())),
            (Part::Mac, mac.end()),
        ];
        if let Some((part, end)) = ends.into_iter().find(|(_, end)| *end > len) {
            return Err(SchemeError::Outside { part, byte: end - 1, len });
        }
        for byte in 0..len {
            let bits = [
                (Part::Payload, if scheme.payload.contains(&byte) { 0xFF } else { 0 }),
                (Part::Freshness, fresh.as_ref().map_or(0, |fresh| fresh.field.bits_in(byte))),
                (Part::Mac, mac.bits_in(byte)),
            ];
            for (first, second) in [(0, 1), (0, 2), (1, 2)] {
                if bits[first].1 & bits[second].1 != 0 {
                    return Err(SchemeError::Overlap { first: bits[first].0, second: bits[second].0, byte });
                }
            }
        }
        let data_id = scheme.data_id.clone();
        Ok(Self { cmac: Cmac::new(key), data_id, payload, fresh, mac, mac_bits: mac_bits.into(), len })
    }

    /// Writes freshness value and MAC into a secured frame whose payload is in place. `value` is the whole freshness value without
    /// its flag: trip, reset and message counter in one number. False, without a change, if the length does not fit.
    #[must_use]
    pub fn secure(&self, frame: &mut [u8], value: u64) -> bool {
        if frame.len() != self.len {
            return false;
        }
        if let Some(fresh) = &self.fresh {
            fresh.field.set(frame, fresh.sent(value));
        }
        let mac = self.mac_of(frame, value);
        self.mac.set(frame, mac);
        true
    }

    /// Judges a frame. `last` is the value of the last accepted frame, `period` the trip and reset counter of the sync frame. Also
    /// returns the value of the frame if its MAC is right.
    #[must_use]
    pub fn judge(&self, frame: &[u8], last: Option<u64>, period: Option<u64>) -> (Verdict, Option<u64>) {
        if frame.len() != self.len {
            return (Verdict::WrongLength, None);
        }
        let received = self.mac.get(frame);
        let is_right = |value| bool::from(self.mac_of(frame, value).ct_eq(&received));
        let Some(fresh) = &self.fresh else {
            return (if is_right(0) { Verdict::NoFreshness } else { Verdict::WrongMac }, None);
        };
        let (low, flag) = fresh.received(frame);
        let values = match (fresh.reset, period) {
            (None, _) => 0..=fresh.largest,
            (Some(_), None) => return (Verdict::NoSync, None),
            (Some(_), Some(period)) => match fresh.values_near(period, flag) {
                Some(values) => values,
                None => return (Verdict::WrongMac, None),
            },
        };
        let next = last.map_or(fresh.start, |last| last.saturating_add(1));
        if let Some(value) = fresh.newer(low, next, &values).find(|value| is_right(*value)) {
            return (Verdict::Ok, Some(value));
        }
        match fresh.older(low, next, &values).filter(|value| is_right(*value)) {
            Some(value) if Some(value) == last => (Verdict::Repeated, Some(value)),
            Some(value) => (Verdict::Replayed, Some(value)),
            None => (Verdict::WrongMac, None),
        }
    }

    /// The sent bits of the MAC of a frame. The frame has the length of the scheme.
    fn mac_of(&self, frame: &[u8], value: u64) -> u128 {
        let mut blocks = [[0; BLOCK]; BLOCKS];
        let message = blocks.as_flattened_mut();
        let (first, len) = self.payload;
        let mut end = self.data_id.len();
        if let Some(to) = message.get_mut(..end) {
            to.copy_from_slice(&self.data_id);
        }
        if let (Some(to), Some(from)) = (message.get_mut(end..end + len), frame.get(first..first + len)) {
            to.copy_from_slice(from);
        }
        end += len;
        if let Some(fresh) = &self.fresh {
            let whole = (fresh.whole(value) << fresh.filling).to_be_bytes();
            let from = whole.get(whole.len() - fresh.bytes..).unwrap_or_default();
            if let Some(to) = message.get_mut(end..end + fresh.bytes) {
                to.copy_from_slice(from);
            }
            end += fresh.bytes;
        }
        self.cmac.of_blocks(&mut blocks, end) >> (128 - self.mac_bits)
    }
}

/// True for the length of a CAN frame.
pub(crate) fn is_length(len: usize) -> bool {
    FD_LENGTHS.iter().any(|length| usize::from(*length) == len)
}

/// `bits` ones, up to 64.
const fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

impl Fresh {
    fn new(freshness: &Freshness) -> Result<Self, SchemeError> {
        let Freshness { synchronised, counter, sent, at, attempts, start } = *freshness;
        let (trip, reset, flag) = synchronised.map_or((0, 0, 0), |one| (one.trip, one.reset, one.flag));
        let bits = [trip, reset, counter].into_iter().map(u32::from).sum();
        if !(1..=64).contains(&bits) {
            return Err(SchemeError::CounterBits { bits });
        }
        if sent > counter {
            return Err(SchemeError::SentBits { sent, bits: counter });
        }
        if flag > reset.min(8) {
            return Err(SchemeError::FlagBits { flag, reset });
        }
        if !(1..=16).contains(&attempts) {
            return Err(SchemeError::Attempts { attempts });
        }
        let largest = ones(bits);
        if start > largest {
            return Err(SchemeError::Start { start, largest });
        }
        let whole = bits + u32::from(flag);
        let bytes = whole.div_ceil(8);
        Ok(Self {
            reset: synchronised.map(|one| one.reset.into()),
            counter: counter.into(),
            sent: sent.into(),
            flag: flag.into(),
            field: Field::new(at, sent + flag),
            attempts,
            start,
            largest,
            bytes: bytes as usize,
            filling: 8 * bytes - whole,
        })
    }

    /// Bits of trip and reset counter, or of all if not synchronised.
    pub(crate) fn period_bits(&self) -> u32 {
        64 - self.largest.leading_zeros() - if self.reset.is_some() { self.counter } else { 0 }
    }

    pub(crate) const fn is_synchronised(&self) -> bool {
        self.reset.is_some()
    }

    /// The values of a period.
    pub(crate) fn values_of(&self, period: u64) -> RangeInclusive<u64> {
        let first = period.checked_shl(self.counter).unwrap_or(0) & self.largest;
        first..=first | ones(self.counter)
    }

    /// The value that a sender sends next. `None`: there is no further one, at least in this period.
    pub(crate) fn next_to_send(&self, last: Option<u64>, period: u64) -> Option<u64> {
        let values = if self.is_synchronised() { self.values_of(period) } else { 0..=self.largest };
        let next = last.map_or(self.start, |last| last.saturating_add(1)).max(*values.start());
        (next <= *values.end() && next != u64::MAX).then_some(next)
    }

    fn flag_of(&self, value: u64) -> u64 {
        value.checked_shr(self.counter).unwrap_or(0) & ones(self.flag)
    }

    /// With the flag.
    fn whole(&self, value: u64) -> u128 {
        u128::from(value) << self.flag | u128::from(self.flag_of(value))
    }

    /// The bits that are sent.
    fn sent(&self, value: u64) -> u128 {
        u128::from(value & ones(self.sent)) << self.flag | u128::from(self.flag_of(value))
    }

    /// The sent bits of the counter, and the flag.
    fn received(&self, frame: &[u8]) -> (u64, u64) {
        let sent = self.field.get(frame);
        let [low, flag] = [sent >> self.flag, sent & u128::from(ones(self.flag))];
        let number = |bits| u64::try_from(bits).unwrap_or(0);
        (number(low), number(flag))
    }

    /// The values of this period, the one before or the next: the one whose reset counter ends in the flag. `None` for others.
    fn values_near(&self, period: u64, flag: u64) -> Option<RangeInclusive<u64>> {
        let resets = ones(self.reset?);
        let reset = period & resets;
        let near = [Some(reset), reset.checked_sub(1), reset.checked_add(1).filter(|next| *next <= resets)];
        // Without a flag, or with one bit, the first of several is meant.
        let found = near.into_iter().take(1 + 2 * usize::from(self.flag > 0)).flatten();
        let reset = found.into_iter().find(|reset| reset & ones(self.flag) == flag)?;
        Some(self.values_of(period & !resets | reset))
    }

    /// Values to try that end in the sent bits, from `next` on.
    fn newer(&self, low: u64, next: u64, values: &RangeInclusive<u64>) -> impl Iterator<Item = u64> + use<> {
        let least = next.max(*values.start());
        let step = 1u64.checked_shl(self.sent);
        let base = least & !ones(self.sent) | low;
        let first = if base >= least { Some(base) } else { step.and_then(|step| base.checked_add(step)) };
        let end = *values.end();
        // The largest number has no successor, so it is never accepted.
        let is_possible = move |value: &u64| *value <= end && *value != u64::MAX;
        core::iter::successors(first, move |value| value.checked_add(step?))
            .take(self.attempts.into())
            .take_while(is_possible)
    }

    /// The largest value before `next` that ends in the sent bits.
    fn older(&self, low: u64, next: u64, values: &RangeInclusive<u64>) -> Option<u64> {
        let newest = next.max(*values.start()).checked_sub(1)?.min(*values.end());
        let base = newest & !ones(self.sent) | low;
        let step = || 1u64.checked_shl(self.sent);
        let value = if base <= newest { Some(base) } else { base.checked_sub(step()?) };
        value.filter(|value| values.contains(value))
    }
}
