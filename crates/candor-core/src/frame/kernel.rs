//! `struct can_frame` and `struct canfd_frame` as bytes.

use super::{CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

/// Size of `struct can_frame`.
pub const CAN_MTU: usize = 16;
/// Size of `struct canfd_frame`.
pub const CANFD_MTU: usize = 72;

/// Bytes that are no frame of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A frame of the kernel has 16 or 72 bytes, not {0}")]
pub struct KernelBytesError(pub usize);

impl Frame {
    /// Reads `struct can_frame` or `struct canfd_frame`; the size tells which.
    ///
    /// # Errors
    /// [`KernelBytesError`] for any other size (CAN XL among them).
    pub fn from_kernel(bytes: &[u8]) -> Result<Self, KernelBytesError> {
        let format = match bytes.len() {
            CAN_MTU => FrameFormat::Classic,
            CANFD_MTU => FrameFormat::Fd,
            other => return Err(KernelBytesError(other)),
        };
        let mut data = [0; CANFD_MAX_DLEN];
        data[..format.max_len()].copy_from_slice(&bytes[8..]);
        let classic = format == FrameFormat::Classic;
        Ok(Self {
            format,
            id: RawId(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            len: bytes[4],
            len8_dlc: if classic { bytes[7] } else { 0 },
            flags: if classic { 0 } else { bytes[5] },
            data,
        })
    }

    /// Writes the kernel's struct into the buffer and says how many bytes it has.
    pub fn to_kernel(&self, bytes: &mut [u8; CANFD_MTU]) -> usize {
        bytes[..4].copy_from_slice(&self.id.0.to_ne_bytes());
        bytes[4] = self.len;
        bytes[5] = self.flags;
        bytes[6] = 0;
        bytes[7] = self.len8_dlc;
        let len = self.format.max_len();
        bytes[8..8 + len].copy_from_slice(&self.data[..len]);
        8 + len
    }
}
