//! Multiplexers: bits of the payload, counted as in a DBC file.

use candor_core::payload::PayloadPattern;

/// Byte, and bit in it, of each bit of a value, from the lowest; `None` unless all are within `room` bytes.
///
/// Bit 0 is the lowest bit of byte 0, bit 8 the lowest bit of byte 1. A value of little byte order starts with its lowest
/// bit, upwards. One of big byte order starts with its highest bit, downwards to bit 0 of the byte, and continues at the
/// highest bit of the next byte.
pub(crate) fn places(start: usize, bits: usize, is_big_endian: bool, room: usize) -> Option<Vec<(usize, usize)>> {
    let place = |index: usize| {
        let (byte, bit) = if is_big_endian {
            let in_order_of_sending = start / 8 * 8 + (7 - start % 8) + (bits - 1 - index);
            (in_order_of_sending / 8, 7 - in_order_of_sending % 8)
        } else {
            ((start + index) / 8, (start + index) % 8)
        };
        (byte < room).then_some((byte, bit))
    };
    (0..bits).map(place).collect()
}

/// A pattern that also compares the bits at these places with a value.
pub(crate) fn pattern(with: &PayloadPattern, places: &[(usize, usize)], value: u32) -> PayloadPattern {
    let mut pattern = *with;
    for (index, &(byte, bit)) in places.iter().enumerate() {
        pattern.mask[byte] |= 1 << bit;
        pattern.value[byte] |= u8::from(value >> index & 1 == 1) << bit;
    }
    pattern
}

#[cfg(test)]
mod tests;
