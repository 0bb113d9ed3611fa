//! Writes the levels of a frame, one after another.

use crate::bits::stuffing::{Stuffing, bits_of};
use crate::bits::{FD_CRC17_MAX_LEN, TAIL_BITS};

/// Words for the longest frame: 96 + 10 · 64 bits of CAN FD.
const WORDS: usize = 12;

/// Generator polynomials of CAN FD without their highest term, and how many bits they give.
const CRC17: (u32, u32) = (0x1_685B, 17);
const CRC21: (u32, u32) = (0x10_2899, 21);
/// Bits between two fixed stuff bits.
const BETWEEN_FIXED_STUFF_BITS: usize = 4;

/// The level of each bit; recessive is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels([u64; WORDS]);

impl Levels {
    pub(super) const fn is_recessive(&self, bit: u32) -> bool {
        self.0[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    fn set(&mut self, bit: u32, recessive: bool) {
        let word = &mut self.0[bit as usize / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(recessive) << (bit % 64);
    }
}

pub(super) struct Writer {
    pub(super) levels: Levels,
    pub(super) len: u32,
    stuffing: Stuffing,
}

impl Writer {
    pub(super) const fn new() -> Self {
        Self { levels: Levels([0; WORDS]), len: 0, stuffing: Stuffing::new() }
    }

    /// Appends the lowest `count` bits of a value, highest first, with stuff bits where they are due.
    pub(super) fn stuffed(&mut self, value: u32, count: u32) {
        for bit in bits_of(value, count) {
            let stuff_bit = self.stuffing.push_bit(bit);
            self.plain(bit);
            stuff_bit.into_iter().for_each(|bit| self.plain(bit));
        }
    }

    /// Returns the number of bits up to the last one of a stuffed field: the stuff bit that it may cause comes after the field.
    pub(super) fn end_of_field(&self) -> u32 {
        self.stuffing.bits_before_last_stuff_bit()
    }

    /// The CRC field of CAN FD without its delimiter: the number of stuff bits and the check sum, with a stuff bit before
    /// the first of every four bits. Gives the number of its first bit.
    pub(super) fn fd_crc_field(&mut self, data_len: usize) -> u32 {
        // A stuff bit that is due now gives way to the first fixed one, which has the same level.
        self.stuffing.cancel_last();
        self.len = self.stuffing.bits();
        let start = self.len;

        let count = self.stuffing.stuff() % 8;
        let gray = count ^ (count >> 1);
        let counted = (gray << 1) | (gray.count_ones() % 2); // and even parity
        let polynomial = if data_len <= FD_CRC17_MAX_LEN { CRC17 } else { CRC21 };
        let crc = self.crc(counted, polynomial);
        for (position, bit) in bits_of(counted, 4).chain(bits_of(crc, polynomial.1)).enumerate() {
            if position.is_multiple_of(BETWEEN_FIXED_STUFF_BITS) {
                self.plain(!self.levels.is_recessive(self.len - 1));
            }
            self.plain(bit);
        }
        start
    }

    /// From the CRC delimiter to the last bit.
    pub(super) fn tail(&mut self) {
        (0..TAIL_BITS).for_each(|_| self.plain(true));
    }

    fn plain(&mut self, recessive: bool) {
        self.levels.set(self.len, recessive);
        self.len += 1;
    }

    /// CRC over all bits as they stand, stuff bits included, and the four of the stuff count.
    fn crc(&self, stuff_count: u32, (polynomial, width): (u32, u32)) -> u32 {
        let initial = 1 << (width - 1);
        let bits = (0..self.len).map(|bit| self.levels.is_recessive(bit));
        bits.chain(bits_of(stuff_count, 4)).fold(initial, |crc, bit| {
            let carry = (crc >> (width - 1) & 1 == 1) != bit;
            (crc << 1 & ((1 << width) - 1)) ^ if carry { polynomial } else { 0 }
        })
    }
}
