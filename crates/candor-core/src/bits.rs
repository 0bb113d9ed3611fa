//! Bits of a frame on the wire, including stuff bits, and their duration.
//!
//! # Source
//! ISO 11898-1:2015, clauses 10.4 and 10.5. Lengths of CAN FD frames have not been compared with hardware.

mod fields;
mod levels;
mod longest;
mod occupancy;
mod stuffing;

pub use levels::{BitRule, WireBits};
pub use longest::LongestFrames;
pub use occupancy::Occupancy;

use crate::frame::{FD_LENGTHS, Frame, FrameFormat, fd_dlc};
use crate::units::BitRate;
use fields::{Field, fields};
use stuffing::{Crc15, Stuffing};

/// Bits of the intermission, in which no node may start a frame.
pub const INTERMISSION_BITS: u32 = 3;

/// Recessive bits of the end of frame, after the acknowledge delimiter.
pub const END_OF_FRAME_BITS: u32 = 7;

/// CRC delimiter, acknowledge slot and delimiter, end of frame.
pub const TAIL_BITS: u32 = 1 + 1 + 1 + END_OF_FRAME_BITS;

/// The same without the CRC delimiter, which belongs to the CRC field of an FD frame.
const FD_TAIL_BITS: u32 = TAIL_BITS - 1;
/// Stuff count and its parity, CRC17, a fixed stuff bit before every fourth of them, delimiter.
const FD_CRC17_FIELD_BITS: u32 = 4 + 17 + 6 + 1;
/// The same with CRC21.
const FD_CRC21_FIELD_BITS: u32 = 4 + 21 + 7 + 1;
/// Frames with more data bytes than this have CRC21.
const FD_CRC17_MAX_LEN: usize = 16;

/// Number of bits of a frame from start of frame to the end of the intermission.
///
/// ```
/// use candor_core::bits::FrameBits;
/// use candor_core::frame::Frame;
///
/// let frame: Frame = "123#0000".parse().unwrap();
/// let bits = FrameBits::of(&frame);
/// assert_eq!((bits.total(), bits.stuff), (67, 4));
/// assert_eq!(bits.wire_time_ns("500kbit/s".parse().unwrap(), None), 134_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameBits {
    /// Bits at the nominal bit rate, including stuff bits.
    pub nominal: u32,
    /// Bits at the data bit rate, including stuff bits: from ESI to the CRC delimiter of an FD frame with bit-rate
    /// switch, otherwise 0.
    pub data: u32,
    /// Stuff bits that depend on the content, without the fixed stuff bits in the CRC field of an FD frame.
    pub stuff: u32,
}

impl FrameBits {
    /// Counts the bits of this frame.
    ///
    /// A remote frame has no data bits. The length of an FD frame is rounded up to the next valid length and padded
    /// with zeros, as drivers do. A length above 8 or 64 counts as 8 or 64. Error message frames are counted too,
    /// although they are never on the bus.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        match frame.format {
            FrameFormat::Classic => Self::of_classic(frame),
            FrameFormat::Fd => Self::of_fd(frame),
        }
    }

    /// All bits, including stuff bits and intermission.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.nominal + self.data
    }

    /// The bits from start of frame to the end of frame, after which receivers have the frame.
    #[must_use]
    pub const fn without_intermission(self) -> Self {
        Self { nominal: self.nominal - INTERMISSION_BITS, ..self }
    }

    /// Returns the duration of these bits in nanoseconds, rounded half up.
    ///
    /// Without a data bit rate, all bits have the nominal bit rate.
    #[must_use]
    pub fn wire_time_ns(self, nominal: BitRate, data: Option<BitRate>) -> u64 {
        wire_time_ns(self.nominal.into(), self.data.into(), nominal, data.unwrap_or(nominal))
    }

    fn of_classic(frame: &Frame) -> Self {
        let mut stuffing = Stuffing::new();
        let mut crc = Crc15::new();
        fields(frame, |_, value, bits| {
            stuffing.push(value, bits);
            crc.push(value, bits);
        });
        // A stuff bit may follow the last bit of the CRC, unlike in CAN FD.
        stuffing.push(u32::from(crc.value()), 15);
        let nominal = stuffing.bits() + TAIL_BITS + INTERMISSION_BITS;
        Self { nominal, data: 0, stuff: stuffing.stuff() }
    }

    fn of_fd(frame: &Frame) -> Self {
        let mut stuffing = Stuffing::new();
        let mut bits_before_switch = None;
        fields(frame, |field, value, bits| {
            stuffing.push(value, bits);
            if field == Field::RateSwitch && value == 1 {
                bits_before_switch = Some(stuffing.bits());
            }
        });
        // The fixed stuff bit that opens the CRC field takes the place of a stuff bit that would be due here.
        stuffing.cancel_last();

        let is_short = fd_wire_len(frame.payload().len()) <= FD_CRC17_MAX_LEN;
        let up_to_crc = stuffing.bits() + if is_short { FD_CRC17_FIELD_BITS } else { FD_CRC21_FIELD_BITS };
        let data = bits_before_switch.map_or(0, |before| up_to_crc - before);
        Self { nominal: up_to_crc - data + FD_TAIL_BITS + INTERMISSION_BITS, data, stuff: stuffing.stuff() }
    }
}

fn wire_time_ns(bits_nominal: u128, bits_data: u128, nominal: BitRate, data: BitRate) -> u64 {
    let (f_nominal, f_data) = (u128::from(nominal.bits_per_second()), u128::from(data.bits_per_second()));
    let numerator = 1_000_000_000_u128.saturating_mul(bits_nominal * f_data + bits_data * f_nominal);
    let denominator = f_nominal * f_data;
    // Rounds half up.
    u64::try_from(numerator.saturating_add(denominator / 2) / denominator).unwrap_or(u64::MAX)
}

/// The CRC-15 of a classic frame; `None` for FD frames.
#[must_use]
pub fn crc15(frame: &Frame) -> Option<u16> {
    if frame.format != FrameFormat::Classic {
        return None;
    }
    let mut crc = Crc15::new();
    fields(frame, |_, value, bits| crc.push(value, bits));
    Some(crc.value())
}

/// The payload length of an FD frame on the wire: the next length with a DLC.
#[must_use]
pub fn fd_wire_len(len: usize) -> usize {
    let dlc = fd_dlc(u8::try_from(len).unwrap_or(u8::MAX));
    FD_LENGTHS[usize::from(dlc)].into()
}

#[cfg(test)]
mod tests;
