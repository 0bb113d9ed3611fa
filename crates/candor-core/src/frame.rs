//! CAN frames in the layout of SocketCAN.
//!
//! # Source
//! [`include/uapi/linux/can.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can.h) in Linux 6.1.

mod kernel;
#[cfg(feature = "std")]
mod text;

pub use kernel::{CAN_MTU, CANFD_MTU, CANXL_MTU, KernelBytesError};
#[cfg(feature = "std")]
pub use text::{FrameTextError, FrameTextErrorKind};

/// `CAN_EFF_FLAG`: the identifier has 29 bits.
pub const CAN_EFF_FLAG: u32 = 0x8000_0000;
/// `CAN_RTR_FLAG`: remote transmission request, classic frames only.
pub const CAN_RTR_FLAG: u32 = 0x4000_0000;
/// `CAN_ERR_FLAG`: an error message frame from a driver, which is never on the bus.
pub const CAN_ERR_FLAG: u32 = 0x2000_0000;
/// `CAN_SFF_MASK`: the 11 bits of a standard identifier.
pub const CAN_SFF_MASK: u32 = 0x0000_07FF;
/// `CAN_EFF_MASK`: the 29 bits of an extended identifier.
pub const CAN_EFF_MASK: u32 = 0x1FFF_FFFF;
/// Position of the virtual CAN network (VCID) in the first word of a CAN XL frame, above its priority of 11 bits.
///
/// # Source
/// [`CANXL_VCID_OFFSET`](https://github.com/torvalds/linux/blob/v7.0/include/uapi/linux/can.h#L190) in Linux 7.0.
pub const CANXL_VCID_OFFSET: u32 = 16;
/// The 8 bits of the virtual CAN network in the first word of a CAN XL frame.
pub const CANXL_VCID: u32 = 0xFF << CANXL_VCID_OFFSET;

/// `CANFD_BRS`: the data phase runs at the data bit rate.
pub const CANFD_BRS: u8 = 0x01;
/// `CANFD_ESI`: the sender is error passive.
pub const CANFD_ESI: u8 = 0x02;
/// `CANFD_FDF`: marks a CAN FD frame. The kernel sets it in every FD frame that it sends.
pub const CANFD_FDF: u8 = 0x04;

/// Maximum payload of a CAN CC (classic) frame in bytes, `CAN_MAX_DLEN`.
pub const CAN_MAX_DLEN: usize = 8;
/// Highest data length code of a classic frame, `CAN_MAX_RAW_DLC`. 9 to 15 mean 8 bytes.
pub const CAN_MAX_RAW_DLC: u8 = 15;
/// Maximum payload of a CAN FD frame in bytes, `CANFD_MAX_DLEN`.
pub const CANFD_MAX_DLEN: usize = 64;

/// Payload lengths of CAN FD frames in bytes, by data length code.
pub const FD_LENGTHS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];

/// The data length code of a CAN FD frame with this payload length, rounded up to the next valid length; 15 above 64
/// bytes.
#[must_use]
pub fn fd_dlc(len: u8) -> u8 {
    (0..).zip(FD_LENGTHS).find(|(_, length)| *length >= len).map_or(15, |(dlc, _)| dlc)
}

/// Frame formats of can-gw rules. A rule applies to frames of its format only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameFormat {
    /// CAN CC: `struct can_frame`, 16 bytes, up to 8 data bytes.
    Classic,
    /// CAN FD: `struct canfd_frame`, 72 bytes, up to 64 data bytes.
    Fd,
}

impl FrameFormat {
    /// Maximum payload in bytes.
    #[must_use]
    pub const fn max_len(self) -> usize {
        match self {
            Self::Classic => CAN_MAX_DLEN,
            Self::Fd => CANFD_MAX_DLEN,
        }
    }
}

/// `can_id` of the kernel: 29 identifier bits and the EFF, RTR and ERR flags.
///
/// Any 32-bit value is allowed, including malformed ones (an 11-bit identifier with bits above 0x7FF), because can-gw
/// modifications can produce them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RawId(pub u32);

impl RawId {
    /// Returns true if the identifier is extended (29 bits).
    #[must_use]
    pub const fn is_eff(self) -> bool {
        self.0 & CAN_EFF_FLAG != 0
    }

    /// Returns true if the frame is a remote transmission request.
    #[must_use]
    pub const fn is_rtr(self) -> bool {
        self.0 & CAN_RTR_FLAG != 0
    }

    /// Returns true if the frame is an error message frame.
    #[must_use]
    pub const fn is_err(self) -> bool {
        self.0 & CAN_ERR_FLAG != 0
    }

    /// Returns true if the frame carries data: it is neither a remote frame nor an error message frame.
    #[must_use]
    pub const fn carries_data(self) -> bool {
        self.0 & (CAN_RTR_FLAG | CAN_ERR_FLAG) == 0
    }

    /// The 11 or 29 identifier bits on the wire.
    #[must_use]
    pub const fn bits(self) -> u32 {
        if self.is_eff() { self.0 & CAN_EFF_MASK } else { self.0 & CAN_SFF_MASK }
    }
}

/// A frame with all bytes that the kernel keeps, including those beyond `len`.
///
/// Bytes beyond the length matter: can-gw modifies all 8 (or 64) bytes, and they become visible if a rule makes the
/// frame longer.
///
/// The layout is that of the kernel's structs, with the format in an unused byte, so copies between them are short.
///
/// ```
/// use candor_core::frame::{Frame, RawId};
///
/// let frame = Frame::classic(RawId(0x123), &[0x11, 0x22]).unwrap();
/// assert_eq!(frame, "123#1122".parse().unwrap());
/// let mut bytes = [0; candor_core::frame::CANFD_MTU];
/// let len = frame.to_kernel(&mut bytes);
/// assert_eq!(Frame::from_kernel(&bytes[..len]), Ok(frame));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Frame {
    /// Identifier with the flags EFF, RTR and ERR.
    pub id: RawId,
    /// Payload length in bytes (`len`). At most 8 or 64 in a valid frame.
    pub len: u8,
    /// `CANFD_BRS`, `CANFD_ESI`, `CANFD_FDF`; 0 for classic frames.
    pub flags: u8,
    /// Classic or FD.
    pub format: FrameFormat,
    /// Raw DLC 9 to 15 of a classic frame with 8 bytes (`len8_dlc`), otherwise 0.
    pub len8_dlc: u8,
    /// The payload buffer. Classic frames use the first 8 bytes, the rest is 0.
    pub data: [u8; CANFD_MAX_DLEN],
}

/// An error in the parts of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The payload is longer than the format allows.
    #[error("Payload has {len} bytes, at most {max} are allowed")]
    TooLong {
        /// Length of the payload in bytes.
        len: usize,
        /// Maximum length in bytes.
        max: usize,
    },
}

impl Frame {
    /// A classic frame with identifier 0 and no payload.
    pub const EMPTY: Self =
        Self { id: RawId(0), len: 0, flags: 0, format: FrameFormat::Classic, len8_dlc: 0, data: [0; CANFD_MAX_DLEN] };

    /// A classic frame with this payload.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] beyond 8 bytes.
    pub fn classic(id: RawId, payload: &[u8]) -> Result<Self, FrameError> {
        Self::build(FrameFormat::Classic, id, 0, payload)
    }

    /// A CAN FD frame with this payload and these flags; sets `CANFD_FDF`.
    ///
    /// # Errors
    /// [`FrameError::TooLong`] beyond 64 bytes.
    pub fn fd(id: RawId, flags: u8, payload: &[u8]) -> Result<Self, FrameError> {
        Self::build(FrameFormat::Fd, id, flags | CANFD_FDF, payload)
    }

    /// The payload, limited to the maximum of the format.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        let len = usize::from(self.len).min(self.format.max_len());
        &self.data[..len]
    }

    /// The payload, to change it.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let len = usize::from(self.len).min(self.format.max_len());
        &mut self.data[..len]
    }

    /// The data length code of a classic frame on the wire: the length, or 9 to 15 if a frame of 8 bytes has such a
    /// `len8_dlc`. The length of an FD frame in bytes.
    #[must_use]
    pub const fn raw_dlc(&self) -> u8 {
        let eight = matches!(self.format, FrameFormat::Classic) && self.len as usize == CAN_MAX_DLEN;
        if eight && self.len8_dlc > 8 && self.len8_dlc <= CAN_MAX_RAW_DLC { self.len8_dlc } else { self.len }
    }

    fn build(format: FrameFormat, id: RawId, flags: u8, payload: &[u8]) -> Result<Self, FrameError> {
        let too_long = FrameError::TooLong { len: payload.len(), max: format.max_len() };
        if payload.len() > format.max_len() {
            return Err(too_long);
        }
        let mut data = [0; CANFD_MAX_DLEN];
        data[..payload.len()].copy_from_slice(payload);
        let len = u8::try_from(payload.len()).map_err(|_overflow| too_long)?;
        Ok(Self { format, id, len, len8_dlc: 0, flags, data })
    }
}
