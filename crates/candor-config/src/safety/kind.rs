//! One kind of frame, as text.

use std::fmt;

use super::cube::{Cube, FD, XL};
use candor_core::frame::{CAN_EFF_MASK, CAN_SFF_MASK, CANXL_VCID, CANXL_VCID_OFFSET, FrameFormat, RawId};

/// The properties of a frame that routes without `payload` match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The first word, if it is a CAN XL frame.
    pub id: RawId,
    pub format: FrameFormat,
    /// Then the format is of no concern.
    pub is_xl: bool,
}

impl Kind {
    /// The lowest kind of a cube: a classic frame if it contains one.
    pub(super) fn of(cube: Cube) -> Self {
        Self::from_bits(cube.lowest())
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        let [a, b, c, d, ..] = bits.to_le_bytes();
        let format = if bits & FD != 0 { FrameFormat::Fd } else { FrameFormat::Classic };
        Self { id: RawId(u32::from_le_bytes([a, b, c, d])), format, is_xl: bits & XL != 0 }
    }
}

impl fmt::Display for Kind {
    /// `123`, `12345678`, `123 (remote)`, `123 (FD)`, `123 (XL, VCID 05)`; the whole `can_id` if it is malformed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        if self.is_xl {
            let (priority, network) = (id.0 & CAN_SFF_MASK, (id.0 & CANXL_VCID) >> CANXL_VCID_OFFSET);
            return write!(f, "{priority:03X} (XL, VCID {network:02X})");
        }
        if id.is_err() {
            write!(f, "error message {:08X}", id.0)?;
        } else if id.is_eff() {
            write!(f, "{:08X}", id.0 & CAN_EFF_MASK)?;
        } else if id.bits() == id.0 & CAN_EFF_MASK {
            write!(f, "{:03X}", id.bits())?;
        } else {
            write!(f, "can_id {:08X}", id.0)?;
        }
        f.write_str(match (id.is_rtr(), self.format) {
            (true, FrameFormat::Classic) => " (remote)",
            (false, FrameFormat::Fd) => " (FD)",
            (true, FrameFormat::Fd) => " (remote, FD)",
            (false, FrameFormat::Classic) => "",
        })
    }
}
