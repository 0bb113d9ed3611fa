//! The three cyclic redundancy checks of CAN, one bit at a time.

use super::level::Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc {
    /// Length of the check sequence, in bits.
    pub width: u32,
    /// Generator polynomial without its highest term.
    pub polynomial: u32,
    /// Content of the register before the start of frame.
    pub initial: u32,
}

/// Classic frames.
pub const CRC15: Crc = Crc { width: 15, polynomial: 0x4599, initial: 0 };
/// CAN FD frames with at most 16 bytes: 0x1685B with its highest term.
pub const CRC17: Crc = Crc { width: 17, polynomial: 0x1_685B, initial: 1 << 16 };
/// CAN FD frames with more than 16 bytes.
pub const CRC21: Crc = Crc { width: 21, polynomial: 0x10_2899, initial: 1 << 20 };

impl Crc {
    /// The check sequence over these bits.
    pub fn over(self, bits: impl IntoIterator<Item = Level>) -> u32 {
        let mask = (1 << self.width) - 1;
        bits.into_iter().fold(self.initial, |register, bit| {
            let top = register >> (self.width - 1) & 1;
            let shifted = register << 1 & mask;
            if top == bit.bit() { shifted } else { shifted ^ (self.polynomial & mask) }
        })
    }
}
