//! A frame in the registers, and as `struct can_frame`.

use crate::registers::number;

/// Size of `struct can_frame`: identifier with flags in the byte order of the machine, length, two unused bytes, raw
/// DLC above 8, and 8 data bytes.
pub const FRAME_BYTES: usize = 16;

/// `CAN_EFF_FLAG`: an identifier of 29 bits.
const EXTENDED: u32 = 0x8000_0000;
/// `CAN_RTR_FLAG`
const REMOTE: u32 = 0x4000_0000;

/// FF and RTR of the frame information.
const INFORMATION_EXTENDED: u8 = 0x80;
const INFORMATION_REMOTE: u8 = 0x40;
const INFORMATION_DLC: u8 = 0x0F;

/// The first byte of a frame in the registers, which decides where the others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    information: u8,
}

impl Layout {
    /// Reads the frame information.
    #[must_use]
    pub const fn of_information(information: u8) -> Self {
        Self { information }
    }

    /// The information of a frame in SocketCAN's layout.
    #[must_use]
    #[inline]
    pub fn of_frame(frame: &[u8; FRAME_BYTES]) -> Self {
        let id = identifier(frame);
        let (len, raw) = (frame[4].min(8), frame[7]);
        let mut information = if len == 8 && raw > 8 { raw.min(INFORMATION_DLC) } else { len };
        if id & EXTENDED != 0 {
            information |= INFORMATION_EXTENDED;
        }
        if id & REMOTE != 0 {
            information |= INFORMATION_REMOTE;
        }
        Self { information }
    }

    /// The frame information.
    #[must_use]
    pub const fn information(self) -> u8 {
        self.information
    }

    /// Registers of the data bytes: none for remote frames.
    #[inline]
    pub fn data_registers(self) -> core::ops::Range<u8> {
        let first = number::FRAME + 1 + self.identifier_registers();
        let count = if self.information & INFORMATION_REMOTE == 0 { self.dlc().min(8) } else { 0 };
        first..first + count
    }

    /// The frame without its data.
    #[inline]
    pub(crate) fn frame(self, mut read: impl FnMut(u8) -> u8) -> [u8; FRAME_BYTES] {
        let mut id = 0;
        for register in 0..self.identifier_registers() {
            id = id << 8 | u32::from(read(number::FRAME + 1 + register));
        }
        id = if self.is_extended() { id >> 3 | EXTENDED } else { id >> 5 };
        if self.information & INFORMATION_REMOTE != 0 {
            id |= REMOTE;
        }
        let mut frame = [0; FRAME_BYTES];
        frame[..4].copy_from_slice(&id.to_ne_bytes());
        let dlc = self.dlc();
        frame[4] = dlc.min(8);
        frame[7] = if dlc > 8 { dlc } else { 0 };
        frame
    }

    /// Registers and bytes of the identifier, which stands at the left.
    #[inline]
    pub(crate) fn identifier_bytes(self, frame: &[u8; FRAME_BYTES]) -> impl Iterator<Item = (u8, u8)> {
        let id = identifier(frame);
        let left = if self.is_extended() { id << 3 } else { id << 21 };
        let count = usize::from(self.identifier_registers());
        (number::FRAME + 1..).zip(left.to_be_bytes()).take(count)
    }

    #[inline]
    const fn is_extended(self) -> bool {
        self.information & INFORMATION_EXTENDED != 0
    }

    #[inline]
    const fn dlc(self) -> u8 {
        self.information & INFORMATION_DLC
    }

    #[inline]
    const fn identifier_registers(self) -> u8 {
        if self.is_extended() { 4 } else { 2 }
    }
}

#[inline]
fn identifier(frame: &[u8; FRAME_BYTES]) -> u32 {
    u32::from_ne_bytes([frame[0], frame[1], frame[2], frame[3]])
}
