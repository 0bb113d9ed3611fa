//! `payload` and `mux`.

use std::collections::BTreeSet;

use super::{Lines, one_or_list, string};
use crate::mux;
use candor_core::frame::CANFD_MAX_DLEN;
use candor_core::payload::PayloadPattern;

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

/// Digits, with `?` for any; `None` if only a part of a digit is compared.
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

/// A multiplexer, and the remaining payload patterns.
struct Mux {
    start_bit: usize,
    is_big_endian: bool,
    places: Vec<(usize, usize)>,
    values: Vec<u32>,
    payload: Vec<PayloadPattern>,
}

impl Mux {
    /// The widest multiplexer that, together with digits, defines these patterns.
    fn of(patterns: &[PayloadPattern]) -> Option<Self> {
        const MAX_BITS: usize = 32;
        let mask = patterns.first()?.mask;
        let is_compared = |&(byte, bit): &(usize, usize)| mask[byte] >> bit & 1 == 1;
        let compared: Vec<_> = (0..8 * CANFD_MAX_DLEN).filter(|at| mask[at / 8] >> (at % 8) & 1 == 1).collect();
        let fields = (1..=compared.len().min(MAX_BITS))
            .rev()
            .flat_map(|bits| compared.iter().flat_map(move |&start| [(bits, start, false), (bits, start, true)]));
        fields
            .filter_map(|(bits, start_bit, is_big_endian)| {
                let places = mux::places(start_bit, bits, is_big_endian, CANFD_MAX_DLEN)?;
                places.iter().all(is_compared).then_some(())?;
                Self::with(patterns, start_bit, is_big_endian, places)
            })
            .find(|mux| mux.patterns() == patterns)
    }

    /// The multiplexer with all its values, if digits define the rest.
    fn with(
        patterns: &[PayloadPattern],
        start_bit: usize,
        is_big_endian: bool,
        places: Vec<(usize, usize)>,
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

    /// The patterns that the file defines: every value with every payload.
    fn patterns(&self) -> Vec<PayloadPattern> {
        let payload = if self.payload.is_empty() { &[PayloadPattern::ANY][..] } else { &self.payload };
        let with_value = |one| self.values.iter().map(move |&value| mux::pattern(one, &self.places, value));
        payload.iter().flat_map(with_value).collect()
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
