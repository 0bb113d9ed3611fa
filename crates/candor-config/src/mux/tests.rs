use proptest::prelude::*;

use super::*;
use candor_core::frame::{Frame, RawId};

/// The value as a DBC tool reads it, bit by bit.
fn value_of(frame: &Frame, start: usize, bits: usize, is_big_endian: bool) -> Option<u64> {
    let bit = |number: usize| Some(u64::from(*frame.payload().get(number / 8)? >> (number % 8) & 1));
    let mut value = 0;
    let mut number = start;
    for index in 0..bits {
        if is_big_endian {
            value = value << 1 | bit(number)?;
            // Down to bit 0 of the byte, then to the highest bit of the next one.
            number = if number.is_multiple_of(8) { number + 15 } else { number - 1 };
        } else {
            value |= bit(number)? << index;
            number += 1;
        }
    }
    Some(value)
}

proptest! {
    #[test]
    fn mux_values_are_where_a_dbc_file_puts_them(
        payload in prop::collection::vec(any::<u8>(), 0..=64),
        start in 0..512_usize,
        bits in 1..=32_usize,
        is_big_endian: bool,
        other in any::<u32>(),
    ) {
        let places = places(start, bits, is_big_endian, 64);
        prop_assume!(places.is_some());
        let places = places.unwrap();
        let frame = Frame::fd(RawId(1), 0, &payload).unwrap();
        let in_frame = value_of(&frame, start, bits, is_big_endian);
        let other = other & u32::MAX >> (32 - bits);
        for value in [other].into_iter().chain(in_frame.and_then(|value| u32::try_from(value).ok())) {
            let made = pattern(&PayloadPattern::ANY, &places, value);
            prop_assert_eq!(made.matches(&frame), in_frame == Some(u64::from(value)));
        }
    }
}

#[test]
fn places_the_examples_of_the_reference() {
    let pattern_of = |start, is_big_endian| {
        let places = places(start, 12, is_big_endian, 64).unwrap();
        pattern(&PayloadPattern::ANY, &places, 0xABC)
    };
    // `SG_ Mode M : 4|12@1+`: its low half byte is the high one of byte 0.
    let little = pattern_of(4, false);
    assert_eq!((&little.mask[..3], &little.value[..3]), (&[0xF0, 0xFF, 0][..], &[0xC0, 0xAB, 0][..]));
    // `SG_ Mode M : 3|12@0+`: its highest bit is bit 3 of byte 0.
    let big = pattern_of(3, true);
    assert_eq!((&big.mask[..3], &big.value[..3]), (&[0x0F, 0xFF, 0][..], &[0x0A, 0xBC, 0][..]));
}
