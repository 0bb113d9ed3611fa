//! The bus time of the longest frames.

use candor_core::bits::{FrameBits, INTERMISSION_BITS, LongestFrames};
use candor_core::frame::{CAN_MAX_DLEN, FrameFormat};
use candor_core::units::BitRate;

use crate::model::{Bus, Message};
use crate::time::Ns;

/// How long frames are assumed to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths {
    /// The longest frame with this identifier, over all payloads.
    #[default]
    Exact,
    /// [Formulas](published) for any identifier.
    Published,
}

/// The longest time that the frames of a message take on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTime {
    /// From start of frame to the end of the intermission, after which another frame can start.
    pub bus: Ns,
    /// From start of frame to the end of frame, when receivers have it.
    pub received: Ns,
    /// Lower bound of the same: without stuff bits in payload and CRC.
    pub shortest: Ns,
}

/// The largest number of bits of a frame with any identifier, including the intermission.
///
/// Classic frames with `s` bytes have 55 + 10 s bits with 11-bit identifiers and 80 + 10 s with 29-bit ones. A stuff bit
/// is assumed after every fourth of the bits that have stuff bits. The same holds for CAN FD frames up to BRS and from ESI to
/// the end of the payload; the CRC field has fixed stuff bits. In ISO 11898-1:2015 it starts with a stuff count of 4 bits,
/// which formulas of before 2015 do not have.
///
/// # Source
/// Davis, Burns, Bril, Lukkien: Controller Area Network (CAN) schedulability analysis: Refuted, revisited and revised.
/// Real-Time Systems 35, 2007, equation 1, <https://doi.org/10.1007/s11241-007-9012-7>. For CAN FD: ISO 11898-1:2015, 10.4.
#[must_use]
pub fn published(is_extended: bool, format: FrameFormat, bit_rate_switch: bool, len: u8) -> FrameBits {
    formula(is_extended, format, bit_rate_switch, len)[0]
}

/// With the maximum of stuff bits, and without any.
fn formula(is_extended: bool, format: FrameFormat, bit_rate_switch: bool, len: u8) -> [FrameBits; 2] {
    match format {
        FrameFormat::Classic => {
            let stuffed = if is_extended { 54 } else { 34 } + 8 * u32::from(len).min(8);
            [(stuffed - 1) / 4, 0].map(|stuff| FrameBits { nominal: stuffed + stuff + 13, data: 0, stuff })
        }
        FrameFormat::Fd => {
            let payload = 8 * u32::try_from(candor_core::bits::fd_wire_len(len.into())).unwrap_or(64);
            // Start of frame to BRS; ESI and DLC.
            let (head, control) = (if is_extended { 36 } else { 17 }, 5);
            let crc = if payload <= 128 { 28 } else { 33 };
            let in_head = (head - 1) / 4;
            [(in_head, (head + control + payload - 1) / 4), (0, 0)].map(|(in_head, stuff)| {
                let body = control + payload + (stuff - in_head) + crc;
                let outside = head + in_head + 9 + INTERMISSION_BITS;
                if bit_rate_switch {
                    FrameBits { nominal: outside, data: body, stuff }
                } else {
                    FrameBits { nominal: outside + body, data: 0, stuff }
                }
            })
        }
    }
}

/// Computes [`FrameTime`]s.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// `None` for the formulas.
    longest: Option<LongestFrames>,
}

impl Clock {
    /// Prepares for all of these messages.
    pub(crate) fn new(lengths: Lengths, messages: &[Message]) -> Self {
        let classic = messages.iter().filter(|message| message.format == FrameFormat::Classic);
        let up_to = classic.map(|message| usize::from(message.len).min(CAN_MAX_DLEN)).max().unwrap_or(0);
        Self { longest: (lengths == Lengths::Exact).then(|| LongestFrames::up_to(up_to)) }
    }

    pub(crate) fn time(&self, bus: Bus, message: &Message) -> FrameTime {
        let Message { id, format, bit_rate_switch, len, .. } = *message;
        let len = if id.is_rtr() { 0 } else { len };
        let [formula, shortest] = formula(id.is_eff(), format, bit_rate_switch, len);
        let bits =
            self.longest.as_ref().map_or(formula, |longest| longest.bits(id, format, bit_rate_switch, message.len));
        let data = bus.data.unwrap_or(bus.nominal);
        let time = |bits: FrameBits| duration(bits, bus.nominal, data);
        FrameTime {
            bus: time(bits),
            received: time(bits.without_intermission()),
            shortest: time(shortest.without_intermission()),
        }
    }
}

/// The duration of one bit of arbitration, rounded up.
pub(crate) fn bit_time(bus: Bus) -> u64 {
    1_000_000_000_u64.div_ceil(bus.nominal.bits_per_second().into())
}

/// The duration of these bits, rounded up.
fn duration(bits: FrameBits, nominal: BitRate, data: BitRate) -> Ns {
    let (f_nominal, f_data) = (u128::from(nominal.bits_per_second()), u128::from(data.bits_per_second()));
    let numerator = 1_000_000_000 * (u128::from(bits.nominal) * f_data + u128::from(bits.data) * f_nominal);
    Ns(u64::try_from(numerator.div_ceil(f_nominal * f_data)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use candor_core::frame::{CAN_EFF_FLAG, FD_LENGTHS, RawId};

    use super::*;

    #[test]
    fn published_formulas() {
        for len in 0..=8 {
            let bits = |extended| published(extended, FrameFormat::Classic, false, len).total();
            assert_eq!((bits(false), bits(true)), (55 + 10 * u32::from(len), 80 + 10 * u32::from(len)));
        }
    }

    #[test]
    fn no_identifier_is_longer_than_the_formula() {
        let longest = LongestFrames::up_to(8);
        let mut least = [u32::MAX; 4];
        let standard = (0..0x800).map(RawId);
        let extended = (0..0x800).map(|id| RawId(CAN_EFF_FLAG | ((id * 0x3_FC1F) & 0x1FFF_FFFF)));
        for id in standard.chain(extended) {
            for len in 0..=8 {
                let formula = published(id.is_eff(), FrameFormat::Classic, false, len);
                let exact = longest.bits(id, FrameFormat::Classic, false, len);
                assert!(exact.total() <= formula.total(), "{id:?} {len}");
                let kind = usize::from(id.is_eff());
                least[kind] = least[kind].min(formula.total() - exact.total());
            }
            for len in FD_LENGTHS {
                let formula = published(id.is_eff(), FrameFormat::Fd, true, len);
                let exact = longest.bits(id, FrameFormat::Fd, true, len);
                assert!(exact.total() <= formula.total() && exact.nominal <= formula.nominal, "{id:?} {len}");
                let kind = 2 + usize::from(id.is_eff());
                least[kind] = least[kind].min(formula.total() - exact.total());
            }
        }
        // The identifiers with the longest frames have so many bits less: classic and CAN FD, each with 11 and 29 bits.
        assert_eq!(least, [1, 3, 1, 3]);
    }
}
