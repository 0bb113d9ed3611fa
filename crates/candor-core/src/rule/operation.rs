//! The four operations that a rule can apply to a field.

use std::ops::{BitAnd, BitOr, BitXor};

/// An operation of can-gw on bits. The order of the variants is the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `CGW_MOD_AND`: keeps the bits of the operand and clears the others.
    And,
    /// `CGW_MOD_OR`: raises the bits of the operand.
    Or,
    /// `CGW_MOD_XOR`: flips the bits of the operand.
    Xor,
    /// `CGW_MOD_SET`: replaces the field by the operand.
    Set,
}

impl Operation {
    /// As it is written in `candor.toml`; cangw has it in capitals.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Set => "set",
        }
    }

    /// The data byte that this operation leaves as it is; SET has none.
    #[must_use]
    pub const fn identity(self) -> Option<u8> {
        match self {
            Self::And => Some(0xFF),
            Self::Or | Self::Xor => Some(0),
            Self::Set => None,
        }
    }

    /// The value of a field after the operation.
    pub(super) fn on<T>(self, value: T, operand: T) -> T
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
