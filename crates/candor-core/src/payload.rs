//! Payload patterns. Only the user-space engines support them.

use crate::frame::{CANFD_MAX_DLEN, Frame};

/// Required values of bits of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayloadPattern {
    /// Bits that are compared, by byte of the payload.
    pub mask: [u8; CANFD_MAX_DLEN],
    /// Required values; 0 for other bits.
    pub value: [u8; CANFD_MAX_DLEN],
}

impl PayloadPattern {
    /// Compares no bit, so every frame passes.
    pub const ANY: Self = Self { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };

    /// Bytes that a frame must have: up to the last one that is compared.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.mask.iter().rposition(|&mask| mask != 0).map_or(0, |last| last + 1)
    }

    /// What both patterns require. `None` if they require different values of a bit.
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        let mut both = *self;
        for at in 0..CANFD_MAX_DLEN {
            if (self.value[at] ^ other.value[at]) & self.mask[at] & other.mask[at] != 0 {
                return None;
            }
            both.mask[at] |= other.mask[at];
            both.value[at] |= other.value[at];
        }
        Some(both)
    }

    /// Returns true if the frame contains all compared bytes with the required values. Remote frames have no payload.
    #[must_use]
    pub fn matches(&self, frame: &Frame) -> bool {
        let carried = if frame.id.is_rtr() { &[] } else { frame.payload() };
        self.bytes() <= carried.len()
            && carried.iter().zip(self.mask.iter().zip(&self.value)).all(|(byte, (mask, value))| byte & mask == *value)
    }
}
