//! Modifications of a frame: AND, OR, XOR, SET and checksums, with the semantics of can-gw.
//!
//! # Source
//! [`cgw_parse_attr()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L815)
//! in Linux 6.1; the order of operations and the raw-DLC arithmetic are written
//! down in `docs/can-gw.md`.

mod apply;
mod checksum;
mod convert;
mod operation;

pub use apply::{Verdict, change};
pub(crate) use checksum::crc8;
pub use convert::{SendAs, convert};
pub use operation::Operation;

use crate::frame::CANFD_MAX_DLEN;

/// One operand of a modification: the fields it touches, each with its value.
///
/// For classic rules `len` is the raw DLC operand, `flags` is unused and only the first 8 data bytes count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operand {
    /// 32-bit operand for the whole `can_id`, flag bits included.
    pub id: Option<u32>,
    /// Operand for the DLC (classic) or length byte (FD).
    pub len: Option<u8>,
    /// Operand for the FD flags byte.
    pub flags: Option<u8>,
    /// Operand for all 8 or 64 data bytes.
    pub data: Option<[u8; CANFD_MAX_DLEN]>,
}

impl Operand {
    /// Touches no field.
    pub const NONE: Self = Self { id: None, len: None, flags: None, data: None };

    /// Returns true if this operand touches no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The modifications of one rule. They run in the order AND, OR, XOR, SET; within each, ID, length, flags, data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifications {
    /// Bits to keep.
    pub and: Operand,
    /// Bits to raise.
    pub or: Operand,
    /// Bits to flip.
    pub xor: Operand,
    /// Fields to replace.
    pub set: Operand,
}

impl Modifications {
    /// Changes nothing.
    pub const NONE: Self = Self { and: Operand::NONE, or: Operand::NONE, xor: Operand::NONE, set: Operand::NONE };

    /// The operands with their operations, in the order in which they run.
    #[must_use]
    pub const fn operands(&self) -> [(Operation, &Operand); 4] {
        [
            (Operation::And, &self.and),
            (Operation::Or, &self.or),
            (Operation::Xor, &self.xor),
            (Operation::Set, &self.set),
        ]
    }

    /// Returns true if no modification is active. The kernel then shares the buffer instead of copying it, and ignores
    /// checksums and uid.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.and.is_empty() && self.or.is_empty() && self.xor.is_empty() && self.set.is_empty()
    }
}

/// A position in the payload: from the start (0 …) or, when negative, from the end (-1 is the last byte).
///
/// If any of a checksum's three positions is negative, the negative ones count from the frame's own length, and a
/// frame too short for them is left as it is.
pub type BytePosition = i8;

/// The byte range of a checksum and where its result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChecksumSpan {
    /// First byte that is covered.
    pub from: BytePosition,
    /// Last byte that is covered. Below `from` the range is walked downwards.
    pub to: BytePosition,
    /// Where the result is stored.
    pub result: BytePosition,
}

impl ChecksumSpan {
    /// Returns true if a position counts from the end of the frame.
    #[must_use]
    pub const fn is_relative(self) -> bool {
        self.from < 0 || self.to < 0 || self.result < 0
    }
}

/// `CGW_CS_XOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct XorChecksum {
    /// Byte positions.
    pub span: ChecksumSpan,
    /// Start value.
    pub init: u8,
}

/// `CGW_CS_CRC8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crc8Checksum {
    /// Byte positions.
    pub span: ChecksumSpan,
    /// Start value.
    pub init: u8,
    /// XORed onto the result.
    pub final_xor: u8,
    /// CRC of every byte value.
    pub table: [u8; 256],
    /// Value that is added after the data bytes.
    pub profile: Crc8Profile,
}

/// `enum cgw_crc8_profile`: one more value that goes through the CRC after the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Crc8Profile {
    /// Nothing.
    None,
    /// `CGW_CRC8PRF_1U8`: this byte.
    Byte(u8),
    /// `CGW_CRC8PRF_16U8`: the byte that the low nibble of data byte 1 selects.
    ByteByCounter([u8; 16]),
    /// `CGW_CRC8PRF_SFFID_XOR`: both bytes of the frame's identifier, XORed.
    IdXor,
}

/// The checksums of one rule. CRC8 runs first, so XOR may cover its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checksums {
    /// CRC8, if asked for.
    pub crc8: Option<Crc8Checksum>,
    /// XOR, if asked for.
    pub xor: Option<XorChecksum>,
}

impl Checksums {
    /// Computes nothing.
    pub const NONE: Self = Self { crc8: None, xor: None };
}
