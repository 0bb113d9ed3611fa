//! Payload patterns, which only the user-space engines support.

use crate::frame::{CANFD_MAX_DLEN, Frame};

/// Bits of the payload and what they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PayloadPattern {
    /// Bits that are compared.
    pub mask: [u8; CANFD_MAX_DLEN],
    /// Required values; 0 where nothing is compared.
    pub value: [u8; CANFD_MAX_DLEN],
}

impl PayloadPattern {
    /// Compares nothing.
    pub const ANY: Self = Self { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };

    /// Bytes that a frame must have: up to the last one that is compared.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.mask.iter().rposition(|&mask| mask != 0).map_or(0, |last| last + 1)
    }

    /// Returns true if the frame has all compared bytes, with the required values. Remote frames have no bytes.
    #[must_use]
    pub fn matches(&self, frame: &Frame) -> bool {
        let carried = if frame.id.is_rtr() { &[] } else { frame.payload() };
        self.bytes() <= carried.len()
            && carried.iter().zip(self.mask.iter().zip(&self.value)).all(|(byte, (mask, value))| byte & mask == *value)
    }
}
