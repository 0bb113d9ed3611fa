//! Modifications of a frame: AND, OR, XOR, SET and checksums, with the semantics of can-gw.
//!
//! # Source
//! [`cgw_parse_attr()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L815)
//! in Linux 6.1; `docs/can-gw.md` describes the order of operations and the arithmetic of raw DLCs.

mod apply;
mod bits;
mod checksum;
mod convert;

pub use apply::{Verdict, change};
pub use bits::{Bits, Field};
pub(crate) use checksum::crc8;
pub use convert::{SendAs, convert};

use core::ops::{BitAnd, BitOr, BitXor};

use crate::frame::CANFD_MAX_DLEN;

/// A bitwise operation of can-gw. Operations run in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `CGW_MOD_AND`: keeps the bits of the operand and clears the others.
    And,
    /// `CGW_MOD_OR`: sets the bits of the operand.
    Or,
    /// `CGW_MOD_XOR`: flips the bits of the operand.
    Xor,
    /// `CGW_MOD_SET`: replaces the field with the operand.
    Set,
}

impl Operation {
    /// The name in `candor.toml`; cangw uses upper case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Set => "set",
        }
    }

    /// The operand byte that changes nothing; `None` for SET.
    #[must_use]
    pub const fn identity(self) -> Option<u8> {
        match self {
            Self::And => Some(0xFF),
            Self::Or | Self::Xor => Some(0),
            Self::Set => None,
        }
    }

    fn on<T>(self, value: T, operand: T) -> T
    where
        T: BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>,
    {
        match self {
            Self::And => value & operand,
            Self::Or => value | operand,
            Self::Xor => value ^ operand,
            Self::Set => operand,
        }
    }
}

/// The operand of a modification: values of the modified fields.
///
/// In classic rules, `len` is for the raw DLC, `flags` is unused and only the first 8 data bytes count.
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
    /// Modifies no field.
    pub const NONE: Self = Self { id: None, len: None, flags: None, data: None };

    /// Returns true if this operand modifies no field.
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
    /// Bits to set.
    pub or: Operand,
    /// Bits to flip.
    pub xor: Operand,
    /// Fields to replace.
    pub set: Operand,
}

impl Modifications {
    /// Changes nothing.
    pub const NONE: Self = Self { and: Operand::NONE, or: Operand::NONE, xor: Operand::NONE, set: Operand::NONE };

    /// The operations with their operands, in order.
    #[must_use]
    pub const fn operands(&self) -> [(Operation, &Operand); 4] {
        [
            (Operation::And, &self.and),
            (Operation::Or, &self.or),
            (Operation::Xor, &self.xor),
            (Operation::Set, &self.set),
        ]
    }

    /// Returns true if no field is modified. The kernel then does not copy the frame, and ignores checksums and uid.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.and.is_empty() && self.or.is_empty() && self.xor.is_empty() && self.set.is_empty()
    }
}

/// A position in the payload: from the start (0 …) or, when negative, from the end (-1 is the last byte).
///
/// Negative positions count from the length of the frame. A frame that is too short for them gets no checksum.
pub type BytePosition = i8;

/// The byte range and the result position of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChecksumSpan {
    /// First byte covered by the checksum.
    pub from: BytePosition,
    /// Last covered byte. If it is before `from`, bytes are processed downwards.
    pub to: BytePosition,
    /// Position of the result.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct XorChecksum {
    /// Bytes covered, and the byte of the result.
    pub span: ChecksumSpan,
    /// Value before the first byte.
    pub init: u8,
}

/// `CGW_CS_CRC8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Crc8Checksum {
    /// Bytes covered, and the byte of the result.
    pub span: ChecksumSpan,
    /// Value before the first byte.
    pub init: u8,
    /// XORed with the result.
    pub final_xor: u8,
    /// CRC of every byte value.
    pub table: [u8; 256],
    /// Additional input after the data bytes.
    pub profile: Crc8Profile,
}

/// `enum cgw_crc8_profile`: additional input of the CRC after the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Crc8Profile {
    /// Only the covered bytes enter the CRC.
    None,
    /// `CGW_CRC8PRF_1U8`: this byte.
    Byte(u8),
    /// `CGW_CRC8PRF_16U8`: the byte that the low nibble of data byte 1 selects.
    ByteByCounter([u8; 16]),
    /// `CGW_CRC8PRF_SFFID_XOR`: both bytes of the frame's identifier, XORed.
    IdXor,
}

/// The checksums of a rule. CRC8 is computed first, so XOR may cover its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checksums {
    /// `CGW_CS_CRC8`.
    pub crc8: Option<Crc8Checksum>,
    /// `CGW_CS_XOR`.
    pub xor: Option<XorChecksum>,
}

impl Checksums {
    /// No checksums.
    pub const NONE: Self = Self { crc8: None, xor: None };
}
