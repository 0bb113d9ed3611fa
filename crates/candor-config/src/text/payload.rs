//! `payload` and `mux`.

use std::collections::BTreeSet;

use super::{Lines, one_or_list, string};
use candor_core::frame::CANFD_MAX_DLEN;
use candor_core::payload::PayloadPattern;

type Bytes = [u8; CANFD_MAX_DLEN];

pub(super) fn lines(patterns: &[PayloadPattern]) -> Lines {
    if patterns.is_empty() {
        return Lines::new();
    }
    match list(patterns) {
        Some(payload) => vec![("payload", payload)],
        None => Mux::of(patterns).map_or_else(Lines::new, |mux| mux.lines()),
    }
}

fn list(patterns: &[PayloadPattern]) -> Option<String> {
    let digits: Option<Vec<_>> = patterns.iter().map(digits).collect();
    Some(one_or_list(&digits?))
}

/// Digits, and `?` where any will do; `None` if only a part of a digit is compared.
fn digits(pattern: &PayloadPattern) -> Option<String> {
    let nibble = |mask: u8, value: u8| match mask {
        0 => Some('?'),
        0xF => char::from_digit(value.into(), 16).map(|digit| digit.to_ascii_uppercase()),
        _ => None,
    };
    let byte = |at: usize| {
        let (mask, value) = (pattern.mask[at], pattern.value[at]);
        Some([nibble(mask >> 4, value >> 4)?, nibble(mask & 0xF, value & 0xF)?].into_iter().collect::<String>())
    };
    let bytes: Option<Vec<_>> = (0..pattern.bytes()).map(byte).collect();
    Some(string(&bytes?.join(" ")))
}

/// A field of bits and its values, and what else is compared.
struct Mux {
    start_bit: usize,
    is_big_endian: bool,
    /// Byte and bit in it, from the lowest bit of a value to the highest.
    places: Vec<(usize, u8)>,
    values: Vec<u32>,
    payload: Vec<PayloadPattern>,
}

impl Mux {
    /// The widest field from which, together with digits, these patterns come.
    fn of(patterns: &[PayloadPattern]) -> Option<Self> {
        const MAX_BITS: usize = 32;
        let mask = patterns.first()?.mask;
        let is_compared = |&(byte, bit): &(usize, u8)| mask[byte] >> bit & 1 == 1;
        let compared: Vec<_> = (0..8 * CANFD_MAX_DLEN).filter(|at| mask[at / 8] >> (at % 8) & 1 == 1).collect();
        let fields = (1..=compared.len().min(MAX_BITS))
            .rev()
            .flat_map(|bits| compared.iter().flat_map(move |&start| [(bits, start, false), (bits, start, true)]));
        fields
            .filter_map(|(bits, start_bit, is_big_endian)| {
                let places = places(start_bit, bits, is_big_endian)?;
                places.iter().all(is_compared).then_some(())?;
                Self::with(patterns, start_bit, is_big_endian, places)
            })
            .find(|mux| mux.patterns() == patterns)
    }

    /// The field with all its values, if digits say the rest.
    fn with(
        patterns: &[PayloadPattern],
        start_bit: usize,
        is_big_endian: bool,
        places: Vec<(usize, u8)>,
    ) -> Option<Self> {
        let mut values = BTreeSet::new();
        let mut payload = Vec::new();
        for pattern in patterns {
            let mut rest = *pattern;
            let mut value = 0;
            for (index, &(byte, bit)) in places.iter().enumerate() {
                value |= u32::from(pattern.value[byte] >> bit & 1) << index;
                rest.mask[byte] &= !(1 << bit);
                rest.value[byte] &= !(1 << bit);
            }
            values.insert(value);
            if rest.bytes() > 0 && !payload.contains(&rest) {
                digits(&rest)?;
                payload.push(rest);
            }
        }
        Some(Self { start_bit, is_big_endian, places, values: values.into_iter().collect(), payload })
    }

    /// What the file makes of this: every value with every payload.
    fn patterns(&self) -> Vec<PayloadPattern> {
        let with_value = |pattern: &PayloadPattern, value: u32| {
            let mut pattern = *pattern;
            for (index, &(byte, bit)) in self.places.iter().enumerate() {
                pattern.mask[byte] |= 1 << bit;
                pattern.value[byte] |= u8::from(value >> index & 1 == 1) << bit;
            }
            pattern
        };
        const ZERO: Bytes = [0; CANFD_MAX_DLEN];
        let any = [PayloadPattern { mask: ZERO, value: ZERO }];
        let payload = if self.payload.is_empty() { &any[..] } else { &self.payload };
        payload.iter().flat_map(|one| self.values.iter().map(|&value| with_value(one, value))).collect()
    }

    fn lines(&self) -> Lines {
        let order = if self.is_big_endian { "big" } else { "little" };
        let values: Vec<_> = self.values.iter().map(u32::to_string).collect();
        let mux = format!(
            "{{ start-bit = {}, bits = {}, byte-order = \"{order}\", values = [{}] }}",
            self.start_bit,
            self.places.len(),
            values.join(", ")
        );
        let payload = if self.payload.is_empty() { None } else { list(&self.payload) };
        payload.map(|payload| ("payload", payload)).into_iter().chain([("mux", mux)]).collect()
    }
}

/// Where the bits of a field are, counted as in a DBC file; `None` if they are not all in a frame.
fn places(start: usize, bits: usize, is_big_endian: bool) -> Option<Vec<(usize, u8)>> {
    let place = |index: usize| {
        let (byte, bit) = if is_big_endian {
            // Down from the highest bit of the value, and on at the top of the next byte.
            let at = start / 8 * 8 + (7 - start % 8) + (bits - 1 - index);
            (at / 8, 7 - at % 8)
        } else {
            ((start + index) / 8, (start + index) % 8)
        };
        (byte < CANFD_MAX_DLEN).then_some((byte, u8::try_from(bit).ok()?))
    };
    (0..bits).map(place).collect()
}
