//! Dynamic stuffing and the classic CRC.

/// The lowest `count` bits of a value, most significant first.
pub(super) fn bits_of(value: u32, count: u32) -> impl Iterator<Item = bool> {
    (0..count).rev().map(move |shift| value >> shift & 1 == 1)
}

/// Counts bits and stuff bits: five equal bits are followed by a bit of the other level.
#[derive(Debug)]
pub(super) struct Stuffing {
    bits: u32,
    stuff: u32,
    last: bool,
    run: u8,
    stuffed_last: bool,
}

impl Stuffing {
    pub(super) const fn new() -> Self {
        Self { bits: 0, stuff: 0, last: true, run: 0, stuffed_last: false }
    }

    /// Adds the lowest `count` bits of a value, most significant first.
    pub(super) fn push(&mut self, value: u32, count: u32) {
        for bit in bits_of(value, count) {
            self.push_bit(bit);
        }
    }

    /// Adds a bit. Returns the stuff bit after it, if any.
    pub(super) const fn push_bit(&mut self, bit: bool) -> Option<bool> {
        self.bits += 1;
        self.run = if bit == self.last { self.run + 1 } else { 1 };
        self.last = bit;
        self.stuffed_last = self.run == 5;
        if !self.stuffed_last {
            return None;
        }
        self.stuff += 1;
        self.last = !bit;
        self.run = 1;
        Some(self.last)
    }

    /// The level of the last bit, and how many bits of this level end here: 1 to 4, because a stuff bit follows the fifth.
    pub(super) const fn run(&self) -> (bool, u8) {
        (self.last, self.run)
    }

    /// Bits so far, including stuff bits.
    pub(super) const fn bits(&self) -> u32 {
        self.bits + self.stuff
    }

    /// The same, without a stuff bit after the last bit.
    pub(super) fn bits_before_last_stuff_bit(&self) -> u32 {
        self.bits() - u32::from(self.stuffed_last)
    }

    pub(super) const fn stuff(&self) -> u32 {
        self.stuff
    }

    /// Removes a stuff bit after the last bit.
    pub(super) fn cancel_last(&mut self) {
        if core::mem::take(&mut self.stuffed_last) {
            self.stuff -= 1;
        }
    }
}

/// The CRC of classic frames, over the bits without stuff bits.
#[derive(Debug)]
pub(super) struct Crc15(u16);

impl Crc15 {
    pub(super) const POLYNOMIAL: u16 = 0x4599;

    pub(super) const fn new() -> Self {
        Self(0)
    }

    /// Adds the lowest `count` bits of a value, most significant first.
    pub(super) fn push(&mut self, value: u32, count: u32) {
        for bit in bits_of(value, count) {
            let carry = (self.0 >> 14 & 1 == 1) != bit;
            self.0 = (self.0 << 1 & 0x7FFF) ^ if carry { Self::POLYNOMIAL } else { 0 };
        }
    }

    pub(super) const fn value(&self) -> u16 {
        self.0
    }
}
