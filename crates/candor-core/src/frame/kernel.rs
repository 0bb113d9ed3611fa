//! `struct can_frame` and `struct canfd_frame` as bytes.

use super::{CAN_MAX_DLEN, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

/// Size of `struct can_frame`.
pub const CAN_MTU: usize = 16;
/// Size of `struct canfd_frame`.
pub const CANFD_MTU: usize = 72;
/// Size of `struct canxl_frame` with the longest payload. Frames with less end after it.
///
/// # Source
/// [`CANXL_MAX_MTU`](https://github.com/gregkh/linux/blob/v6.12/include/uapi/linux/can.h) in Linux 6.12.
pub const CANXL_MTU: usize = 2060;

/// Bytes that are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A CAN frame of the kernel has 16 or 72 bytes, not {0}")]
pub struct KernelBytesError(pub usize);

impl Frame {
    /// Reads `struct can_frame` or `struct canfd_frame`, depending on the size.
    ///
    /// # Errors
    /// [`KernelBytesError`] for any other size (CAN XL among them).
    pub fn from_kernel(bytes: &[u8]) -> Result<Self, KernelBytesError> {
        let mut frame = Self::EMPTY;
        frame.become_kernel(bytes)?;
        Ok(frame)
    }

    /// As [`from_kernel`](Self::from_kernel), but overwrites an existing frame, which takes half as many instructions
    /// as building and moving one.
    ///
    /// # Errors
    /// As [`from_kernel`](Self::from_kernel); the frame is then unchanged.
    #[inline]
    pub fn become_kernel(&mut self, bytes: &[u8]) -> Result<(), KernelBytesError> {
        // Arrays, because copies of a constant size need no call.
        if let Ok([a, b, c, d, len, _, _, len8_dlc, payload @ ..]) = <&[u8; CAN_MTU]>::try_from(bytes) {
            if self.format == FrameFormat::Fd {
                // Already 0 in a classic frame.
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

    /// Writes the struct of the kernel into the buffer and returns its size.
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
