//! Filters: `can_id` and mask with the semantics of the kernel, in can-utils notation.

#[cfg(feature = "std")]
mod text;

#[cfg(feature = "std")]
pub use text::{FilterTextError, FilterTextErrorKind, IdRange};

use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, RawId};

/// `CAN_INV_FILTER`: inverts the match if set in the `id` of a filter (`123~7FF`).
pub const CAN_INV_FILTER: u32 = 0x2000_0000;

/// A filter as passed to the kernel (`struct can_filter`), before the kernel normalises it.
///
/// can-gw compares these raw values when it deletes a job, so they are kept as written.
///
/// ```
/// use candor_core::filter::{Filter, ReceiveList};
/// use candor_core::frame::RawId;
///
/// let filter = Filter::parse("123:7FF").unwrap().normalise();
/// assert_eq!(filter.list, ReceiveList::Masked);
/// assert!(filter.matches(RawId(0x123)) && !filter.matches(RawId(0x124)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Identifier with flags; `CAN_INV_FILTER` inverts.
    pub id: u32,
    /// Bits to compare; `CAN_ERR_FLAG` here selects error frames.
    pub mask: u32,
}

impl Filter {
    /// All data and remote frames, standard and extended.
    pub const ALL: Self = Self { id: 0, mask: 0 };

    /// Data frames with this identifier, in its own format.
    #[must_use]
    pub const fn exact(id: RawId) -> Self {
        let wire_mask = if id.is_eff() { CAN_EFF_MASK } else { CAN_SFF_MASK };
        Self { id: id.0, mask: wire_mask | CAN_EFF_FLAG | CAN_RTR_FLAG }
    }

    /// Returns true if the mask compares identifier bits, but not the format, so frames of both formats match
    /// (inverted: do not match): `123:7FF` also matches the 29-bit identifiers 00000123 and 1FFFF923, and remote
    /// frames.
    ///
    /// Usually [`Filter::tightened`] is intended.
    #[must_use]
    pub fn is_loose(self) -> bool {
        let Normalised { list, id, mask } = self.normalise();
        matches!(list, ReceiveList::Masked | ReceiveList::Inverted)
            && mask & CAN_EFF_FLAG == 0
            && mask & CAN_EFF_MASK != 0
            && id & CAN_EFF_MASK <= CAN_SFF_MASK
    }

    /// The same filter for data frames in the format of its identifier only.
    #[must_use]
    pub const fn tightened(self) -> Self {
        Self { id: self.id, mask: self.mask | CAN_EFF_FLAG | CAN_RTR_FLAG }
    }

    /// Normalises the filter as the kernel does, and finds its receive list.
    ///
    /// # Source
    /// [`can_rcv_list_find()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L364) in Linux 6.1.
    #[must_use]
    pub fn normalise(self) -> Normalised {
        let Self { mut id, mut mask } = self;
        if mask & CAN_ERR_FLAG != 0 {
            return Normalised { list: ReceiveList::Error, id, mask: mask & (CAN_ERR_FLAG - 1) };
        }
        let inverted = id & CAN_INV_FILTER != 0;
        if mask & CAN_EFF_FLAG != 0 && id & CAN_EFF_FLAG == 0 {
            mask &= CAN_SFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG;
        }
        id &= mask;
        let list = if inverted {
            ReceiveList::Inverted
        } else if mask == 0 {
            ReceiveList::All
        } else if Self::exact(RawId(id)) == (Self { id, mask }) && id & CAN_RTR_FLAG == 0 {
            ReceiveList::Exact
        } else {
            ReceiveList::Masked
        };
        Normalised { list, id, mask }
    }
}

/// The kernel's receive lists ([`struct can_dev_rcv_lists`]) in the order in which the kernel walks them.
///
/// [`struct can_dev_rcv_lists`]: https://github.com/gregkh/linux/blob/v6.1.192/include/linux/can/can-ml.h#L55
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReceiveList {
    /// `RX_ERR`: error message frames, which no other list receives.
    Error,
    /// `RX_ALL`: mask 0.
    All,
    /// `RX_FIL`: `(frame & mask) == id`.
    Masked,
    /// `RX_INV`: `(frame & mask) != id`.
    Inverted,
    /// `rx_sff` and `rx_eff`: one identifier, found by index or by hash.
    Exact,
}

/// A filter after `can_rcv_list_find()` has normalised it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Normalised {
    /// The list in which the kernel keeps this filter.
    pub list: ReceiveList,
    /// Identifier to compare with.
    pub id: u32,
    /// Bits that are compared, including flags.
    pub mask: u32,
}

impl Normalised {
    /// Returns true if a frame with this identifier matches.
    ///
    /// # Source
    /// [`can_rcv_filter()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/af_can.c#L578) in Linux 6.1.
    #[must_use]
    pub const fn matches(self, frame: RawId) -> bool {
        if frame.is_err() {
            return matches!(self.list, ReceiveList::Error) && frame.0 & self.mask != 0;
        }
        match self.list {
            ReceiveList::Error => false,
            ReceiveList::All => true,
            ReceiveList::Masked | ReceiveList::Exact => frame.0 & self.mask == self.id,
            ReceiveList::Inverted => frame.0 & self.mask != self.id,
        }
    }
}

#[cfg(test)]
mod tests;
