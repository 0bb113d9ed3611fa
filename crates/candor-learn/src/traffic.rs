//! Recorded frames of all identifiers.

/// Bit of 29-bit identifiers, as in the kernel.
pub const EXTENDED: u32 = 1 << 31;

/// A frame of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Time in ns; it never goes back.
    pub at_ns: u64,
    /// 11 bits, or 29 bits and [`EXTENDED`].
    pub id: u32,
    /// It has no payload.
    pub is_remote: bool,
    /// Up to 64 bytes.
    pub payload: Vec<u8>,
}

/// An identifier with 3 or 8 hexadecimal digits.
#[must_use]
pub fn name(id: u32) -> String {
    if id & EXTENDED == 0 { format!("{id:03X}") } else { format!("{:08X}", id & !EXTENDED) }
}
