//! Identifiers of messages.

use std::fmt;

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, RawId};

/// An identifier of 11 or 29 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(RawId);

impl MessageId {
    /// An identifier of 11 bits. `None` if it is wider.
    #[must_use]
    pub const fn standard(id: u32) -> Option<Self> {
        if id <= CAN_SFF_MASK { Some(Self(RawId(id))) } else { None }
    }

    /// An identifier of 29 bits. `None` if it is wider.
    #[must_use]
    pub const fn extended(id: u32) -> Option<Self> {
        if id <= CAN_EFF_MASK { Some(Self(RawId(id | CAN_EFF_FLAG))) } else { None }
    }

    /// As frames have it: with the EFF flag if it has 29 bits.
    #[must_use]
    pub const fn raw(self) -> RawId {
        self.0
    }
}

/// Writes 3 or 8 hexadecimal digits, as can-utils do.
impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.0.is_eff() { 8 } else { 3 };
        write!(f, "{:0width$X}", self.0.bits())
    }
}
