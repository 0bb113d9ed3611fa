//! `struct can_frame` and `struct canfd_frame` as bytes.

use super::{CAN_MAX_DLEN, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

/// Size of `struct can_frame`.
pub const CAN_MTU: usize = 16;
/// Size of `struct canfd_frame`.
pub const CANFD_MTU: usize = 72;

/// Bytes that are no frame of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A CAN frame of the kernel has 16 or 72 bytes, not {0}")]
pub struct KernelBytesError(pub usize);

impl Frame {
    /// Reads `struct can_frame` or `struct canfd_frame`; the size tells which.
    ///
    /// # Errors
    /// [`KernelBytesError`] for any other size (CAN XL among them).
    pub fn from_kernel(bytes: &[u8]) -> Result<Self, KernelBytesError> {
        let mut frame = Self::EMPTY;
        frame.become_kernel(bytes)?;
        Ok(frame)
    }

    /// Becomes what these bytes are, as [`from_kernel`](Self::from_kernel) says it. In its place, for whom each instruction
    /// counts: a frame that is put together and then moved costs twice as much.
    ///
    /// # Errors
    /// As [`from_kernel`](Self::from_kernel); then it stays what it was.
    #[inline]
    pub fn become_kernel(&mut self, bytes: &[u8]) -> Result<(), KernelBytesError> {
        // Arrays, because copies of a size that is known need no call.
        if let Ok([a, b, c, d, len, _, _, len8_dlc, payload @ ..]) = <&[u8; CAN_MTU]>::try_from(bytes) {
            if self.format == FrameFormat::Fd {
                // Of a classic frame it is 0 already.
                self.data = [0; CANFD_MAX_DLEN];
            }
            (self.id, self.format) = (RawId(u32::from_ne_bytes([*a, *b, *c, *d])), FrameFormat::Classic);
            (self.len, self.len8_dlc, self.flags) = (*len, *len8_dlc, 0);
            self.data[..CAN_MAX_DLEN].copy_from_slice(payload);
            return Ok(());
        }
        if let Ok([a, b, c, d, len, flags, _, _, payload @ ..]) = <&[u8; CANFD_MTU]>::try_from(bytes) {
            (self.id, self.format) = (RawId(u32::from_ne_bytes([*a, *b, *c, *d])), FrameFormat::Fd);
            (self.len, self.len8_dlc, self.flags) = (*len, 0, *flags);
            self.data = *payload;
            return Ok(());
        }
        Err(KernelBytesError(bytes.len()))
    }

    /// Writes the kernel's struct into the buffer and says how many bytes it has.
    #[inline]
    pub fn to_kernel(&self, bytes: &mut [u8; CANFD_MTU]) -> usize {
        bytes[..4].copy_from_slice(&self.id.0.to_ne_bytes());
        bytes[4] = self.len;
        bytes[5] = self.flags;
        bytes[6] = 0;
        bytes[7] = self.len8_dlc;
        match self.format {
            FrameFormat::Classic => {
                bytes[8..CAN_MTU].copy_from_slice(&self.data[..CAN_MAX_DLEN]);
                CAN_MTU
            }
            FrameFormat::Fd => {
                bytes[8..].copy_from_slice(&self.data);
                CANFD_MTU
            }
        }
    }
}
