//! Bounds of the bus time of frames, from the number of frames and bytes in interface counters.

use super::{FD_CRC17_FIELD_BITS, FD_CRC21_FIELD_BITS, FD_TAIL_BITS, INTERMISSION_BITS, TAIL_BITS, wire_time_ns};
use crate::frame::FrameFormat;
use crate::units::BitRate;

/// SOF, identifier, RTR, IDE, r0, DLC, CRC: stuffed bits other than the payload.
const CLASSIC_LEAST_HEAD_BITS: u32 = 1 + 11 + 1 + 1 + 1 + 4 + 15;
/// The same with a 29-bit identifier, SRR and IDE.
const CLASSIC_MOST_HEAD_BITS: u32 = 1 + 31 + 1 + 2 + 4 + 15;
/// SOF, identifier, RRS, IDE, FDF, res, BRS.
const FD_LEAST_HEAD_BITS: u32 = 1 + 11 + 1 + 1 + 1 + 1 + 1;
/// The same with a 29-bit identifier, SRR and IDE.
const FD_MOST_HEAD_BITS: u32 = 1 + 31 + 1 + 1 + 1 + 1;
/// ESI, DLC.
const FD_CONTROL_BITS: u32 = 1 + 4;

/// Bounds of the bus time, including intermissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Lower bound: 11-bit identifiers, no stuff bits, and the data bit rate if there is one.
    pub least_ns: u64,
    /// Upper bound: 29-bit identifiers, the maximum of stuff bits, and no bit-rate switch.
    pub most_ns: u64,
}

/// Bits per frame and per byte, at the nominal and at the data bit rate.
#[derive(Clone, Copy)]
struct Bits {
    nominal: u32,
    data: u32,
    nominal_by_byte: u32,
    data_by_byte: u32,
}

impl Occupancy {
    /// Bounds for a number of frames with a total payload in bytes. On a CAN FD bus, each frame may be classic or FD.
    ///
    /// FD payloads count without padding. Error and overload frames do not count.
    #[must_use]
    pub fn of(frames: u64, bytes: u64, format: FrameFormat, nominal: BitRate, data: Option<BitRate>) -> Self {
        // The data bit rate is not slower.
        let data = data.unwrap_or(nominal).max(nominal);
        let time_ns = |bits: Bits| bits.time_ns(frames.into(), bytes.into(), nominal, data);
        let classic_tail = TAIL_BITS + INTERMISSION_BITS;
        let least_classic = CLASSIC_LEAST_HEAD_BITS + classic_tail;
        match format {
            FrameFormat::Classic => Self {
                least_ns: time_ns(Bits { nominal: least_classic, data: 0, nominal_by_byte: 8, data_by_byte: 0 }),
                most_ns: time_ns(Bits::stuffed(CLASSIC_MOST_HEAD_BITS, classic_tail)),
            },
            FrameFormat::Fd => {
                let tail = FD_TAIL_BITS + INTERMISSION_BITS;
                let fd = Bits {
                    nominal: FD_LEAST_HEAD_BITS + tail,
                    data: FD_CONTROL_BITS + FD_CRC17_FIELD_BITS,
                    nominal_by_byte: 0,
                    data_by_byte: 8,
                };
                // The shorter format, and each byte at the faster rate: less than any mixture of both formats.
                let classic = Bits { nominal: least_classic, data: 0, ..fd };
                let head = FD_MOST_HEAD_BITS + FD_CONTROL_BITS;
                Self {
                    least_ns: time_ns(fd).min(time_ns(classic)),
                    most_ns: time_ns(Bits::stuffed(head, FD_CRC21_FIELD_BITS + tail)),
                }
            }
        }
    }
}

impl Bits {
    /// With the maximum of stuff bits in head and payload: one after the first five bits and after every four more,
    /// which makes two per byte.
    const fn stuffed(head: u32, tail: u32) -> Self {
        Self { nominal: head + (head - 1) / 4 + tail, data: 0, nominal_by_byte: 8 + 2, data_by_byte: 0 }
    }

    fn time_ns(self, frames: u128, bytes: u128, nominal: BitRate, data: BitRate) -> u64 {
        let bits_nominal = frames * u128::from(self.nominal) + bytes * u128::from(self.nominal_by_byte);
        let bits_data = frames * u128::from(self.data) + bytes * u128::from(self.data_by_byte);
        wire_time_ns(bits_nominal, bits_data, nominal, data)
    }
}
