//! A received frame of any format.

use std::fmt;

use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK, CANXL_VCID, CANXL_VCID_OFFSET, Frame, RawId};

/// `CANXL_XLF`, in the byte where other frames have their length.
const CANXL_XLF: u8 = 0x80;
/// `CANXL_SEC`: security of the data link layer.
const CANXL_SEC: u8 = 0x01;
const CANXL_HEADER_BYTES: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Any<'a> {
    Can(Frame),
    Xl(Xl<'a>),
}

/// A CAN XL frame.
///
/// # Source
/// `struct canxl_frame` in [`include/uapi/linux/can.h`](https://github.com/gregkh/linux/blob/v6.12/include/uapi/linux/can.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) struct Xl<'a> {
    /// Priority, and above it the virtual network.
    pub(in crate::cmd) word: u32,
    pub(in crate::cmd) flags: u8,
    /// Type of the payload (SDT).
    pub(in crate::cmd) sdu_type: u8,
    /// Acceptance field (AF).
    pub(in crate::cmd) acceptance: u32,
    pub(in crate::cmd) data: &'a [u8],
}

impl<'a> Any<'a> {
    /// `None` for bytes that are no frame.
    #[inline(always)]
    pub(in crate::cmd) fn read(bytes: &'a [u8]) -> Option<Self> {
        if bytes.get(4).is_none_or(|flags| flags & CANXL_XLF == 0) {
            return Frame::from_kernel(bytes).ok().map(Self::Can);
        }
        let ([a, b, c, d, flags, sdu_type, e, f, g, h, i, j], data) =
            bytes.split_first_chunk::<CANXL_HEADER_BYTES>()?;
        let len = usize::from(u16::from_ne_bytes([*e, *f]));
        Some(Self::Xl(Xl {
            word: u32::from_ne_bytes([*a, *b, *c, *d]),
            flags: *flags,
            sdu_type: *sdu_type,
            acceptance: u32::from_ne_bytes([*g, *h, *i, *j]),
            data: &data[..len.min(data.len())],
        }))
    }

    /// The digits of the identifier, with the class of an error frame.
    pub(in crate::cmd) fn identifier(&self) -> String {
        let id = self.id();
        match id.is_err() || id.is_eff() {
            true => format!("{:08X}", id.0 & (CAN_ERR_FLAG | CAN_EFF_MASK)),
            false => format!("{:03X}", id.bits()),
        }
    }

    /// The identifier; the priority of a CAN XL frame.
    pub(in crate::cmd) const fn id(&self) -> RawId {
        match self {
            Self::Can(frame) => frame.id,
            Self::Xl(xl) => RawId(xl.word & CAN_SFF_MASK),
        }
    }
}

impl Xl<'_> {
    pub(in crate::cmd) const fn network(&self) -> u32 {
        (self.word & CANXL_VCID) >> CANXL_VCID_OFFSET
    }

    pub(in crate::cmd) const fn is_secured(&self) -> bool {
        self.flags & CANXL_SEC != 0
    }
}

/// The notation of can-utils.
impl fmt::Display for Any<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let xl = match self {
            Self::Can(frame) => return frame.fmt(f),
            Self::Xl(xl) => xl,
        };
        let (network, priority) = (xl.network(), self.id().0);
        write!(f, "{network:02X}{priority:03X}#{:02X}:{:02X}:{:08X}#", xl.flags, xl.sdu_type, xl.acceptance)?;
        xl.data.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}
