//! CRC, XOR and sum as one step: register, bytes, register.

use crate::crc::{Algorithm, Crc, Parts};
use crate::error::SchemeError;

/// What XOR and sums take one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes.
    Byte,
    /// Both halves of each byte.
    Nibble,
}

/// How a checksum is computed. What does not fit into its field is cut off: a sum in 4 bits is one modulo 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Checksum {
    /// A CRC.
    Crc(Algorithm),
    /// XOR of all units and of `init`.
    Xor {
        /// What is combined.
        unit: Unit,
        /// The value of no bytes.
        init: u64,
    },
    /// `init` plus all units; then XOR with `xorout`, all ones for the complement.
    Sum {
        /// What is added.
        unit: Unit,
        /// The value of no bytes.
        init: u64,
        /// `init` minus all units.
        negated: bool,
        /// What the result is combined with by XOR.
        xorout: u64,
    },
}

/// A compiled checksum.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    Crc(Crc),
    Xor { unit: Unit, init: u64 },
    Sum { unit: Unit, init: u64, negated: bool, xorout: u64 },
}

impl Engine {
    pub(crate) fn new(checksum: &Checksum) -> Result<Self, SchemeError> {
        Ok(match *checksum {
            Checksum::Crc(algorithm) => Self::Crc(Crc::new(&algorithm)?),
            Checksum::Xor { unit, init } => Self::Xor { unit, init },
            Checksum::Sum { unit, init, negated, xorout } => Self::Sum { unit, init, negated, xorout },
        })
    }

    pub(crate) fn start(&self) -> u64 {
        match self {
            Self::Crc(crc) => crc.start(),
            Self::Xor { init, .. } | Self::Sum { init, .. } => *init,
        }
    }

    /// The register after these bytes.
    pub(crate) fn feed(&self, register: u64, parts: Parts<'_>) -> u64 {
        match self {
            Self::Crc(crc) => crc.feed(register, parts),
            Self::Xor { unit, .. } => register ^ folded(*unit, parts, |one, other| one ^ other),
            Self::Sum { unit, negated, .. } => {
                let sum = folded(*unit, parts, u64::wrapping_add);
                if *negated { register.wrapping_sub(sum) } else { register.wrapping_add(sum) }
            }
        }
    }

    /// The checksum that a register means.
    pub(crate) fn finish(&self, register: u64) -> u64 {
        match self {
            Self::Crc(crc) => crc.finish(register),
            Self::Xor { .. } => register,
            Self::Sum { xorout, .. } => register ^ xorout,
        }
    }
}

fn folded(unit: Unit, parts: Parts<'_>, join: impl Fn(u64, u64) -> u64) -> u64 {
    let bytes = |folded, bytes: &[u8]| bytes.iter().fold(folded, |folded, byte| join(folded, (*byte).into()));
    let halves = |folded, byte: &u8| join(join(folded, (byte >> 4).into()), (byte & 0xF).into());
    match unit {
        Unit::Byte => parts.into_iter().fold(0, bytes),
        Unit::Nibble => parts.into_iter().fold(0, |folded, bytes| bytes.iter().fold(folded, halves)),
    }
}
