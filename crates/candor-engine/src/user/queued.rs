//! Frames that wait to be sent.

use candor_core::frame::{CAN_MTU, CAN_RTR_FLAG, CANFD_MTU, Frame};
use candor_io::clock::RealtimeNs;

/// A frame on its way out, as the kernel wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    /// The job that sends it, by its position.
    pub(super) job: usize,
    /// When it came in. Of any value where nobody asks for it: whoever queues a frame writes it down if somebody does.
    pub(super) at: Option<RealtimeNs>,
    len: usize,
    bytes: [u8; CANFD_MTU],
}

impl Queued {
    /// Room for a frame.
    pub(super) const EMPTY: Self = Self { job: 0, at: None, len: 0, bytes: [0; CANFD_MTU] };

    /// Becomes this frame, in its place: a frame that is put together elsewhere and moved here costs a hundred instructions
    /// more, most of them for bytes that a classic frame does not have.
    #[inline]
    pub(super) fn write(&mut self, job: usize, frame: Sent<'_>) {
        self.job = job;
        self.len = match frame {
            Sent::AsItCame(bytes) => self.copy(bytes),
            Sent::Changed(frame) => frame.to_kernel(&mut self.bytes),
        };
    }

    /// Arrays, because copies of a size that is known need no call.
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

    /// How many bytes of payload it has; a remote frame has none, whatever its length says.
    pub(super) fn payload_bytes(&self) -> u64 {
        let [a, b, c, d, len, ..] = self.bytes;
        if u32::from_ne_bytes([a, b, c, d]) & CAN_RTR_FLAG == 0 { len.into() } else { nothing() }
    }
}

/// Remote frames are rare: reported so, the compiler makes the way of the others straight.
#[cold]
const fn nothing() -> u64 {
    0
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent<'a> {
    /// The kernel's struct that was received: byte for byte the same, as can-gw does it.
    AsItCame(&'a [u8]),
    /// What the rules made of it.
    Changed(&'a Frame),
}
