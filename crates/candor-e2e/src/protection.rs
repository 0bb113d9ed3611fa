//! What is done with a payload.

use alloc::boxed::Box;
use core::ops::Range;

use crate::checksum::Engine;
use crate::place::Field;
use crate::verdict::Verdict;

/// A compiled [`Scheme`](crate::Scheme): immutable, and shared by senders and receivers.
///
/// # Frame path
/// No function but [`new`](Self::new) allocates, locks, formats or loops longer than the payload.
#[derive(Clone, Debug)]
pub struct Protection {
    /// The Data-ID, if there is no list.
    pub(crate) choice: Choice,
    /// One for each value of the counter.
    pub(crate) list: Box<[Choice]>,
    /// For most schemes of frames.
    pub(crate) eight: Option<Eight>,
    /// For all schemes.
    pub(crate) engine: Engine,
    /// Bytes of the payload, clipped to its length.
    pub(crate) over: Range<usize>,
    /// The bytes with the result among these.
    pub(crate) own: Range<usize>,
    pub(crate) zeroed: bool,
    pub(crate) result: Field,
    pub(crate) counter: Option<Counting>,
    pub(crate) constants: Box<[(Field, u64)]>,
    pub(crate) length: Option<Field>,
    /// There are constants or a length.
    pub(crate) has_header: bool,
    pub(crate) min: usize,
    pub(crate) max: usize,
}

/// The checksum of 8 bytes, the length of most frames, without a loop over bits or bytes that depend on each other. CRC and
/// XOR are affine over bits: the checksum is that of zeros, combined by XOR with a value for each byte.
///
/// The payload is one little-endian number.
#[derive(Clone, Debug)]
pub(crate) struct Eight {
    pub(crate) tables: Box<[[u16; 256]; 8]>,
    /// Bits that a sender does not write.
    pub(crate) keep: u64,
    /// Bits of the constants and of the length, and their values.
    pub(crate) header: (u64, u64),
    /// The lowest bit of the counter, and its bits from there; 0 without one.
    pub(crate) counter: u32,
    pub(crate) counter_max: u64,
    /// The lowest bit of the result.
    pub(crate) result: u32,
}

impl Eight {
    #[inline(always)]
    fn counter(&self, word: u64) -> u32 {
        let [low @ .., _, _, _, _] = (word >> self.counter & self.counter_max).to_le_bytes();
        u32::from_le_bytes(low)
    }

    #[inline]
    fn sum(&self, zeros: u16, word: u64) -> u16 {
        // Without a loop.
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        let [ta, tb, tc, td, te, tf, tg, th] = &*self.tables;
        let at = |table: &[u16; 256], byte: u8| table[usize::from(byte)];
        zeros ^ at(ta, a) ^ at(tb, b) ^ at(tc, c) ^ at(td, d) ^ at(te, e) ^ at(tf, f) ^ at(tg, g) ^ at(th, h)
    }
}

/// A compiled Data-ID.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The register after the part before the payload.
    pub(crate) start: u64,
    /// The part after the payload.
    pub(crate) after: Box<[u8]>,
    /// The checksum of 8 zeros, if there is an [`Eight`].
    pub(crate) zeros: u16,
}

/// A compiled counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counting {
    pub(crate) field: Field,
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// The largest number of steps from one value to another.
    pub(crate) most: u32,
    pub(crate) first: u32,
    pub(crate) max_delta: u32,
    pub(crate) widens: bool,
    pub(crate) resync: u32,
}

impl Counting {
    /// The counter in a payload, also one that is never sent.
    #[inline]
    pub(crate) fn value(&self, payload: &[u8]) -> u32 {
        let [low @ .., _, _, _, _] = self.field.get(payload).to_le_bytes();
        u32::from_le_bytes(low)
    }

    #[inline]
    pub(crate) fn contains(&self, value: u32) -> bool {
        value.wrapping_sub(self.min) <= self.most
    }

    /// The value after this one.
    #[inline]
    pub(crate) const fn after(&self, value: u32) -> u32 {
        if value == self.max { self.min } else { value + 1 }
    }

    /// The number of steps from one value to another.
    #[inline]
    pub(crate) const fn steps(&self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { self.most - (from - to) + 1 }
    }
}

impl Protection {
    /// True if payloads of this length can be protected.
    #[inline]
    #[must_use]
    pub const fn fits(&self, len: usize) -> bool {
        self.min <= len && len <= self.max
    }

    /// The bits that it writes into a byte of the payload.
    #[must_use]
    pub fn written(&self, byte: usize) -> u8 {
        let counter = self.counter.iter().map(|counting| &counting.field);
        let constants = self.constants.iter().map(|(field, _)| field);
        let all = [&self.result].into_iter().chain(counter).chain(constants).chain(&self.length);
        all.fold(0, |bits, field| bits | field.bits_in(byte))
    }

    /// True if the scheme has a counter.
    #[must_use]
    pub const fn has_counter(&self) -> bool {
        self.counter.is_some()
    }

    /// The counter in a payload. `None` if the scheme has none, if the length does not fit, or if it is a value that a sender
    /// never sends, for example 15 in P01.
    #[inline]
    #[must_use]
    pub fn counter(&self, payload: &[u8]) -> Option<u32> {
        let counting = self.counter.as_ref().filter(|_| self.fits(payload.len()))?;
        Some(counting.value(payload)).filter(|value| counting.contains(*value))
    }

    /// Writes this counter, the constants and the checksum. False, without a change, if the length does not fit or if the
    /// counter is a value that is never sent. Without a counter in the scheme, the number is ignored.
    #[inline]
    #[must_use]
    pub fn protect_with(&self, counter: u32, payload: &mut [u8]) -> bool {
        if self.counter.as_ref().is_some_and(|counting| !counting.contains(counter)) {
            return false;
        }
        self.protect_next(counter, payload)
    }

    /// The same with a counter that is known to be one.
    #[inline]
    pub(crate) fn protect_next(&self, counter: u32, payload: &mut [u8]) -> bool {
        if let (Some(eight), Ok(bytes)) = (&self.eight, <&mut [u8; 8]>::try_from(&mut *payload)) {
            let counter_bits = u64::from(counter) & eight.counter_max;
            let word = u64::from_le_bytes(*bytes) & eight.keep | eight.header.1 | counter_bits << eight.counter;
            let sum = eight.sum(self.choice(counter).zeros, word);
            *bytes = (word | u64::from(sum) << eight.result).to_le_bytes();
            return true;
        }
        self.protect_any(counter, payload)
    }

    // Separate, so that the fast form is a part of its callers.
    #[inline(never)]
    fn protect_any(&self, counter: u32, payload: &mut [u8]) -> bool {
        if !self.fits(payload.len()) {
            return false;
        }
        if let Some(counting) = &self.counter {
            counting.field.set(payload, counter.into());
        }
        if self.has_header {
            self.write_header(payload);
        }
        self.result.set(payload, self.checksum(self.choice(counter), payload));
        true
    }

    /// Makes a changed payload valid again and leaves its counter as it is. False, without a change, as
    /// [`protect_with`](Self::protect_with).
    #[inline]
    #[must_use]
    pub fn follow(&self, payload: &mut [u8]) -> bool {
        match self.counter(payload) {
            Some(counter) => self.protect_with(counter, payload),
            None => !self.has_counter() && self.protect_with(0, payload),
        }
    }

    /// The Data-ID of a counter.
    #[inline]
    pub(crate) fn choice(&self, counter: u32) -> &Choice {
        if self.list.is_empty() {
            return &self.choice;
        }
        let first = self.counter.as_ref().map_or(0, |counting| counting.min);
        // A counter that is never sent has no Data-ID.
        self.list.get(counter.wrapping_sub(first) as usize).unwrap_or(&self.choice)
    }

    /// What the checksum of this payload must be. The length fits.
    pub(crate) fn checksum(&self, choice: &Choice, payload: &[u8]) -> u64 {
        let end = self.over.end.min(payload.len());
        let part = |range: Range<usize>| payload.get(range).unwrap_or_default();
        let mut own = [0; 8];
        let mut zeroed: &[u8] = &[];
        if self.zeroed {
            for (own, at) in own.iter_mut().zip(self.own.clone()) {
                *own = payload.get(at).copied().unwrap_or_default() & !self.result.bits_in(at);
            }
            zeroed = own.get(..self.own.len()).unwrap_or_default();
        }
        let (before, after) = (part(self.over.start..self.own.start), part(self.own.end..end));
        let register = self.engine.feed(choice.start, [before, zeroed, after, &choice.after]);
        self.engine.finish(register) & self.result.max()
    }

    #[inline]
    fn write_header(&self, payload: &mut [u8]) {
        for (field, value) in &self.constants {
            field.set(payload, *value);
        }
        if let Some(field) = &self.length {
            field.set(payload, payload.len() as u64);
        }
    }

    #[inline]
    fn has_right_header(&self, payload: &[u8]) -> bool {
        let holds = |(field, value): &(Field, u64)| field.get(payload) == *value;
        let is_long = |field: &Field| field.get(payload) == payload.len() as u64;
        self.constants.iter().all(holds) && self.length.as_ref().is_none_or(is_long)
    }

    /// The counter of a payload, 0 if there is none, and what is wrong with it without its history.
    #[inline]
    pub(crate) fn look(&self, payload: &[u8]) -> (u32, Option<Verdict>) {
        if let (Some(eight), Ok(bytes)) = (&self.eight, <&[u8; 8]>::try_from(payload)) {
            return self.look_at_eight(eight, u64::from_le_bytes(*bytes));
        }
        self.look_at_any(payload)
    }

    #[inline(always)]
    fn look_at_eight(&self, eight: &Eight, word: u64) -> (u32, Option<Verdict>) {
        let counter = eight.counter(word);
        let (header, values) = eight.header;
        if word >> eight.result & self.result.max() != eight.sum(self.choice(counter).zeros, word).into() {
            return (counter, Some(Verdict::WrongChecksum));
        }
        (counter, (word & header != values).then_some(Verdict::WrongHeader))
    }

    /// True if a payload of 8 bytes has this counter and nothing is wrong with it. False says nothing.
    #[inline(always)]
    pub(crate) fn is_right_eight(&self, counter: u32, payload: &[u8]) -> bool {
        let (Some(eight), Ok(bytes)) = (&self.eight, <&[u8; 8]>::try_from(payload)) else { return false };
        let word = u64::from_le_bytes(*bytes);
        eight.counter(word) == counter && self.look_at_eight(eight, word).1.is_none()
    }

    #[inline(never)]
    fn look_at_any(&self, payload: &[u8]) -> (u32, Option<Verdict>) {
        let counter = self.counter.as_ref().map_or(0, |counting| counting.value(payload));
        (counter, self.fault(payload, counter))
    }

    fn fault(&self, payload: &[u8], counter: u32) -> Option<Verdict> {
        if !self.fits(payload.len()) {
            return Some(Verdict::WrongLength);
        }
        if self.result.get(payload) != self.checksum(self.choice(counter), payload) {
            return Some(Verdict::WrongChecksum);
        }
        (self.has_header && !self.has_right_header(payload)).then_some(Verdict::WrongHeader)
    }
}
