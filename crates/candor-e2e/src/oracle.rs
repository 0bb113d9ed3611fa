//! The same as the compiled schemes, in simple code: bit by bit, without tables.

use alloc::vec::Vec;

use crate::checksum::{Checksum, Unit};
use crate::crc::Algorithm;
use crate::place::{ByteOrder, Place};
use crate::scheme::Scheme;

/// The CRC of these bytes.
#[must_use]
pub fn crc(algorithm: &Algorithm, bytes: &[u8]) -> u64 {
    let Algorithm { width, polynomial, init, reflect_in, reflect_out, xorout } = *algorithm;
    let mask = u64::MAX >> (64 - u32::from(width));
    let mut register = init;
    for byte in bytes {
        for at in 0..8 {
            let bit = byte >> (if reflect_in { at } else { 7 - at }) & 1;
            let highest = register >> (width - 1) & 1;
            register = register << 1 & mask;
            if highest != u64::from(bit) {
                register ^= polynomial;
            }
        }
    }
    let reversed = (0..width).fold(0, |reversed, at| reversed << 1 | register >> at & 1);
    (if reflect_out { reversed } else { register }) ^ xorout
}

/// The bits of a place, the least significant one first.
fn bits(place: Place) -> impl Iterator<Item = usize> {
    let count = usize::from(place.bits);
    let start = usize::from(place.start);
    (0..count).map(move |at| match place.order {
        ByteOrder::Little => start + at,
        // Counted from bit 7 of byte 0, the most significant bit is bit `start ^ 7`.
        ByteOrder::Big => ((start ^ 7) + count - 1 - at) ^ 7,
    })
}

/// Writes a field.
pub fn set(place: Place, payload: &mut [u8], value: u64) {
    for (at, bit) in bits(place).enumerate() {
        let byte = &mut payload[bit / 8];
        *byte = *byte & !(1 << (bit % 8)) | u8::from(value >> at & 1 == 1) << (bit % 8);
    }
}

/// Reads a field.
#[must_use]
pub fn get(place: Place, payload: &[u8]) -> u64 {
    bits(place).enumerate().map(|(at, bit)| u64::from(payload[bit / 8] >> (bit % 8) & 1) << at).sum()
}

/// What the checksum covers, in its order.
#[must_use]
pub fn covered(scheme: &Scheme, counter: u32, payload: &[u8]) -> Vec<u8> {
    let mut zeroed = payload.to_vec();
    set(scheme.place, &mut zeroed, 0);
    let chosen =
        |list: &[Vec<u8>]| if list.is_empty() { Vec::new() } else { list[counter as usize % list.len()].clone() };
    let mut covered = chosen(&scheme.data_id.before);
    let last = scheme.over.1.map_or(payload.len() - 1, usize::from);
    for (at, byte) in zeroed.iter().enumerate().take(last + 1).skip(scheme.over.0.into()) {
        let is_own = bits(scheme.place).any(|bit| bit / 8 == at);
        if scheme.zeroed || !is_own {
            covered.push(*byte);
        }
    }
    covered.extend(chosen(&scheme.data_id.after));
    covered
}

/// Writes counter, constants, length and checksum.
pub fn protect(scheme: &Scheme, counter: u32, payload: &mut [u8]) {
    if let Some(one) = scheme.counter {
        set(one.place, payload, counter.into());
    }
    for (place, value) in &scheme.constants {
        set(*place, payload, *value);
    }
    if let Some(place) = scheme.length {
        set(place, payload, payload.len() as u64);
    }
    let covered = covered(scheme, counter, payload);
    let units = |unit| {
        let split = |byte: &u8| match unit {
            Unit::Byte => [u64::from(*byte), 0],
            Unit::Nibble => [u64::from(byte >> 4), u64::from(byte & 15)],
        };
        covered.iter().flat_map(split).collect::<Vec<u64>>()
    };
    let checksum = match scheme.checksum {
        Checksum::Crc(algorithm) => crc(&algorithm, &covered),
        Checksum::Xor { unit, init } => units(unit).iter().fold(init, |checksum, one| checksum ^ one),
        Checksum::Sum { unit, init, negated: false, xorout } => {
            units(unit).iter().fold(init, |checksum, one| checksum.wrapping_add(*one)) ^ xorout
        }
        Checksum::Sum { unit, init, negated: true, xorout } => {
            units(unit).iter().fold(init, |checksum, one| checksum.wrapping_sub(*one)) ^ xorout
        }
    };
    set(scheme.place, payload, checksum);
}
