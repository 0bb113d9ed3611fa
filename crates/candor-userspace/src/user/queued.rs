//! Frames that wait to be sent.

use candor_core::frame::{CAN_MTU, CAN_RTR_FLAG, CANFD_MTU};
use candor_io::clock::RealtimeNs;

/// A frame to send, in the kernel's layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) job: usize,
    /// Receive timestamp. Undefined unless a job of the destination needs it.
    pub(super) at: Option<RealtimeNs>,
    len: usize,
    bytes: [u8; CANFD_MTU],
}

impl Queued {
    pub(super) const EMPTY: Self = Self { job: 0, at: None, len: 0, bytes: [0; CANFD_MTU] };

    /// Overwrites this with a frame in place: building the frame elsewhere and moving it here costs a hundred
    /// instructions more, most of them for bytes that a classic frame does not have.
    #[inline]
    pub(super) fn write(&mut self, job: usize, frame: &[u8]) {
        self.job = job;
        self.len = self.copy(frame);
    }

    /// Copies arrays, because copies of constant size need no call.
    #[inline]
    fn copy(&mut self, bytes: &[u8]) -> usize {
        if let Ok(classic) = <&[u8; CAN_MTU]>::try_from(bytes) {
            self.bytes[..CAN_MTU].copy_from_slice(classic);
            CAN_MTU
        } else if let Ok(fd) = <&[u8; CANFD_MTU]>::try_from(bytes) {
            self.bytes = *fd;
            CANFD_MTU
        } else {
            0
        }
    }

    /// `struct can_frame` or `struct canfd_frame`.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Payload length; 0 for a remote frame, whatever its length field.
    pub(super) fn payload_bytes(&self) -> u64 {
        let [a, b, c, d, len, ..] = self.bytes;
        if u32::from_ne_bytes([a, b, c, d]) & CAN_RTR_FLAG == 0 { len.into() } else { nothing() }
    }
}

/// Cold, so that the path of other frames is straight.
#[cold]
const fn nothing() -> u64 {
    0
}
