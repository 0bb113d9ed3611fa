//! Frames that a bus can have.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, Frame, FrameFormat};

use crate::Cannot;

/// Refuses frames whose length, identifier or flags no frame of their format has.
///
/// Modifications can make such frames, and what an adapter does with one depends on its driver.
pub(crate) fn well_formed(frame: &Frame) -> Result<(), Cannot> {
    let id = frame.id.0;
    let flags = CAN_EFF_FLAG | CAN_RTR_FLAG | CAN_ERR_FLAG;
    let bits = if frame.id.is_eff() || frame.id.is_err() { CAN_EFF_MASK } else { CAN_SFF_MASK };
    let has_length = usize::from(frame.len) <= frame.format.max_len();
    let has_flags = match frame.format {
        FrameFormat::Classic => !(frame.id.is_rtr() && frame.id.is_err()),
        FrameFormat::Fd => frame.id.carries_data(),
    };
    if id & !(flags | bits) == 0 && has_length && has_flags { Ok(()) } else { Err(Cannot::Malformed) }
}
