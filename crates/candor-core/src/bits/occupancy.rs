//! Bus time of frames of which only the number and the payload bytes are known, as in interface counters.

use super::{FD_CRC17_FIELD_BITS, FD_CRC21_FIELD_BITS, FD_TAIL_BITS, INTERMISSION_BITS, TAIL_BITS, wire_time_ns};
use crate::frame::FrameFormat;
use crate::units::BitRate;

/// SOF, identifier, RTR, IDE, r0, DLC, CRC: what may be stuffed, besides the payload.
const CLASSIC_LEAST_HEAD_BITS: u32 = 1 + 11 + 1 + 1 + 1 + 4 + 15;
/// The same with 29 bits of identifier, SRR and IDE in it.
const CLASSIC_MOST_HEAD_BITS: u32 = 1 + 31 + 1 + 2 + 4 + 15;
/// SOF, identifier, RRS, IDE, FDF, res, BRS.
const FD_LEAST_HEAD_BITS: u32 = 1 + 11 + 1 + 1 + 1 + 1 + 1;
/// The same with 29 bits of identifier, SRR and IDE in it.
const FD_MOST_HEAD_BITS: u32 = 1 + 31 + 1 + 1 + 1 + 1;
/// ESI, DLC.
const FD_CONTROL_BITS: u32 = 1 + 4;

/// Between which bounds the time is, with the intermissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// As if all had identifiers of 11 bits and no stuff bit, and switched to the data bit rate where there is one.
    pub least_ns: u64,
    /// As if all had identifiers of 29 bits and as many stuff bits as fit in, and none switched the bit rate.
    pub most_ns: u64,
}

/// Bits for each frame, at the nominal bit rate and at the other one, and for each byte.
#[derive(Clone, Copy)]
struct Bits {
    nominal: u32,
    data: u32,
    nominal_by_byte: u32,
    data_by_byte: u32,
}

impl Occupancy {
    /// Of so many frames with so many bytes of payload in all. On a bus for CAN FD each may be classic or FD.
    ///
    /// A payload counts as it is; that of an FD frame whose length no DLC can express lasts longer. Frames about errors and
    /// overload are not in it.
    #[must_use]
    pub fn of(frames: u64, bytes: u64, format: FrameFormat, nominal: BitRate, data: Option<BitRate>) -> Self {
        // Nobody switches to a slower rate.
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
                // Whichever is shorter, and each byte at the faster rate: less than any mixture of both kinds.
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
    /// With as many stuff bits as the head and the payload can have: one behind the first five bits and behind every
    /// fourth from there on, which makes two for each byte.
    const fn stuffed(head: u32, tail: u32) -> Self {
        Self { nominal: head + (head - 1) / 4 + tail, data: 0, nominal_by_byte: 8 + 2, data_by_byte: 0 }
    }

    fn time_ns(self, frames: u128, bytes: u128, nominal: BitRate, data: BitRate) -> u64 {
        let bits_nominal = frames * u128::from(self.nominal) + bytes * u128::from(self.nominal_by_byte);
        let bits_data = frames * u128::from(self.data) + bytes * u128::from(self.data_by_byte);
        wire_time_ns(bits_nominal, bits_data, nominal, data)
    }
}
