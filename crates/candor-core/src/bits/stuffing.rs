//! Bits one after another: dynamic stuffing and the classic CRC.

/// Counts bits and the stuff bits between them: after five equal bits comes one of the other kind.
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

    /// Sends the lowest `count` bits of the value, the highest of them first.
    pub(super) fn push(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            self.push_bit(value >> shift & 1 == 1);
        }
    }

    /// Bits so far, stuff bits included.
    pub(super) const fn bits(&self) -> u32 {
        self.bits + self.stuff
    }

    /// Stuff bits so far.
    pub(super) const fn stuff(&self) -> u32 {
        self.stuff
    }

    /// Takes back the stuff bit that the very last bit has caused, if it has.
    pub(super) fn cancel_last(&mut self) {
        if std::mem::take(&mut self.stuffed_last) {
            self.stuff -= 1;
        }
    }

    fn push_bit(&mut self, bit: bool) {
        self.bits += 1;
        self.run = if bit == self.last { self.run + 1 } else { 1 };
        self.last = bit;
        self.stuffed_last = self.run == 5;
        if self.stuffed_last {
            self.stuff += 1;
            self.last = !bit;
            self.run = 1;
        }
    }
}

/// The CRC of classic frames over the bits without stuff bits.
#[derive(Debug)]
pub(super) struct Crc15(u16);

impl Crc15 {
    const POLYNOMIAL: u16 = 0x4599;

    pub(super) const fn new() -> Self {
        Self(0)
    }

    /// Takes in the lowest `count` bits of the value, the highest of them first.
    pub(super) fn push(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            let carry = (self.0 >> 14 & 1 == 1) != (value >> shift & 1 == 1);
            self.0 = (self.0 << 1 & 0x7FFF) ^ if carry { Self::POLYNOMIAL } else { 0 };
        }
    }

    pub(super) const fn value(&self) -> u16 {
        self.0
    }
}
