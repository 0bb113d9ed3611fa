//! Whose frame goes first.

use candor_core::frame::{Frame, FrameFormat};

/// The bits of a frame's arbitration field as a number: whoever has the lower one wins, dominant being 0.
///
/// A standard frame has its RTR (FD: RRS) and IDE bits where an extended one has SRR and IDE, so one layout serves both:
/// 11 identifier bits, RTR or SRR, IDE, then 18 identifier bits and RTR (FD: RRS) of an extended frame, or zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Priority(u32);

impl Priority {
    pub(crate) fn of(frame: &Frame) -> Self {
        let bits = frame.id.bits();
        let remote = u32::from(frame.format == FrameFormat::Classic && frame.id.is_rtr());
        Self(if frame.id.is_eff() {
            bits >> 18 << 21 | 0b11 << 19 | (bits & 0x3_FFFF) << 1 | remote
        } else {
            bits << 21 | remote << 20
        })
    }
}
