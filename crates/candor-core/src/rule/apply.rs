//! Applies a rule to a frame, step by step as can-gw does.

use super::{Checksums, Modifications, Operand, Operation};
use crate::frame::{CAN_MAX_DLEN, CAN_MAX_RAW_DLC, Frame, FrameFormat, RawId};

/// Result of a rule for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame is sent.
    Send,
    /// The length became invalid; can-gw counts the frame as deleted.
    Delete,
}

/// Applies the modifications to a frame, checks its length and computes the checksums.
///
/// Without modifications, length and checksums are ignored.
pub fn change(frame: &mut Frame, modifications: &Modifications, checksums: &Checksums) -> Verdict {
    if modifications.is_empty() {
        return Verdict::Send;
    }
    modifications.apply(frame);
    if usize::from(frame.len) > frame.format.max_len() {
        return Verdict::Delete;
    }
    checksums.apply(frame);
    Verdict::Send
}

impl Modifications {
    /// Runs the modifications in their fixed order AND, OR, XOR, SET.
    ///
    /// Afterwards `len` may exceed the format; [`change`] checks it.
    pub fn apply(&self, frame: &mut Frame) {
        for (operation, operand) in self.operands() {
            operand.apply(frame, operation);
        }
    }
}

impl Operand {
    /// Applies one operation to the fields of this operand: identifier, length, flags, data.
    pub fn apply(&self, frame: &mut Frame, operation: Operation) {
        if let Some(id) = self.id {
            frame.id = RawId(operation.on(frame.id.0, id));
        }
        if let Some(len) = self.len {
            match frame.format {
                FrameFormat::Classic => store_raw_dlc(frame, operation.on(frame.raw_dlc(), len)),
                FrameFormat::Fd => frame.len = operation.on(frame.len, len),
            }
        }
        if let (Some(flags), FrameFormat::Fd) = (self.flags, frame.format) {
            frame.flags = operation.on(frame.flags, flags);
        }
        if let Some(data) = &self.data {
            // All bytes of the buffer: those beyond the length become visible if the frame becomes longer.
            let used = frame.format.max_len();
            for (byte, operand) in frame.data[..used].iter_mut().zip(data) {
                *byte = operation.on(*byte, *operand);
            }
        }
    }
}

/// Splits a raw DLC into `len` and `len8_dlc`. Above 15 it stays in `len`, where a later operation may correct it.
fn store_raw_dlc(frame: &mut Frame, dlc: u8) {
    let beyond_len = usize::from(dlc) > CAN_MAX_DLEN && dlc <= CAN_MAX_RAW_DLC;
    (frame.len, frame.len8_dlc) = if beyond_len { (8, dlc) } else { (dlc, 0) };
}

#[cfg(test)]
mod tests;
