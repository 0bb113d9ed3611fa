//! The longest frame that an identifier and a length can have, over all payloads.

use alloc::vec;
use alloc::vec::Vec;

use super::fields::{Field, fields};
use super::stuffing::{Crc15, Stuffing};
use super::{
    FD_CRC17_FIELD_BITS, FD_CRC17_MAX_LEN, FD_CRC21_FIELD_BITS, FD_TAIL_BITS, FrameBits, INTERMISSION_BITS, TAIL_BITS,
    fd_wire_len,
};
use crate::frame::{CAN_MAX_DLEN, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};

/// Values of the CRC of classic frames.
const CRCS: usize = 1 << 15;
/// States of bit stuffing: two levels, and runs of one to four bits.
const RUNS: usize = 8;

/// The number of bits of the longest frame with an identifier and a length, over all payloads.
///
/// The stuff bits of a classic frame depend on its CRC, so the longest frame is found by dynamic programming over the bits of
/// the payload, from the last to the first: a state is a CRC and the run of equal bits before it. This is done once for all
/// identifiers and takes 34 million steps and 2.4 MB for frames of up to 8 bytes. Stuff bits of a CAN FD frame end before its
/// CRC, which makes its longest payload simple: it continues the run that the header leaves, and changes the level after
/// each stuff bit.
///
/// ```
/// use candor_core::bits::LongestFrames;
/// use candor_core::frame::{FrameFormat, RawId};
///
/// let longest = LongestFrames::up_to(1);
/// // The formula for any 11-bit identifier gives 65.
/// assert_eq!(longest.bits(RawId(0x123), FrameFormat::Classic, false, 1).total(), 60);
/// ```
#[derive(Clone, Debug)]
pub struct LongestFrames {
    /// By payload length in bytes: the maximum of stuff bits after the header, by its CRC and run.
    classic: Vec<Vec<u8>>,
}

impl LongestFrames {
    /// Prepares classic frames of up to this many bytes, at most 8. CAN FD frames need no preparation.
    #[must_use]
    pub fn up_to(len: usize) -> Self {
        let mut best: Vec<u8> = (0..CRCS * RUNS).map(stuff_bits_of_crc).collect();
        let mut classic = vec![best.clone()];
        for _byte in 0..len.min(CAN_MAX_DLEN) {
            for _bit in 0..8 {
                best = (0..CRCS * RUNS).map(|state| one_bit_more(state, &best)).collect();
            }
            classic.push(best.clone());
        }
        Self { classic }
    }

    /// The bits of the longest frame. A remote frame has no payload, whatever its length.
    ///
    /// `bit_rate_switch` counts for CAN FD only. Lengths are those of [`FrameBits::of`]. Either level of ESI is assumed.
    ///
    /// # Panics
    /// If a classic frame is longer than [`Self::up_to`] says.
    #[must_use]
    pub fn bits(&self, id: RawId, format: FrameFormat, bit_rate_switch: bool, len: u8) -> FrameBits {
        match format {
            FrameFormat::Classic => self.classic(id, usize::from(len).min(CAN_MAX_DLEN)),
            FrameFormat::Fd => longest_fd(id, bit_rate_switch, usize::from(len).min(CANFD_MAX_DLEN)).0,
        }
    }

    /// A frame with this number of bits.
    ///
    /// # Panics
    /// As [`Self::bits`].
    #[must_use]
    pub fn frame(&self, id: RawId, format: FrameFormat, bit_rate_switch: bool, len: u8) -> Frame {
        match format {
            FrameFormat::Classic => self.classic_frame(id, usize::from(len).min(CAN_MAX_DLEN)),
            FrameFormat::Fd => {
                let len = usize::from(len).min(CANFD_MAX_DLEN);
                let flags = longest_fd(id, bit_rate_switch, len).1;
                let mut frame = Frame::fd(id, flags, &[0; CANFD_MAX_DLEN][..len]).expect("at most 64 bytes");
                let mut run = run_index(header(&frame).0.run());
                for bit in 0..8 * len {
                    // The level of the run so far.
                    let level = run / 4;
                    frame.data[bit / 8] |= u8::from(level == 1) << (7 - bit % 8);
                    run = push(run, level).0;
                }
                frame
            }
        }
    }

    fn classic(&self, id: RawId, len: usize) -> FrameBits {
        let frame = Frame::classic(id, &[0; CAN_MAX_DLEN][..len]).expect("at most 8 bytes");
        let (stuffing, state) = header(&frame);
        let payload = if id.is_rtr() { 0 } else { len };
        let after = u32::from(self.classic[payload][state]);
        let bits = stuffing.bits() + after + 8 * u32::try_from(payload).expect("at most 8") + 15;
        FrameBits { nominal: bits + TAIL_BITS + INTERMISSION_BITS, data: 0, stuff: stuffing.stuff() + after }
    }

    fn classic_frame(&self, id: RawId, len: usize) -> Frame {
        let mut frame = Frame::classic(id, &[0; CAN_MAX_DLEN][..len]).expect("at most 8 bytes");
        if id.is_rtr() {
            return frame;
        }
        let (_, mut state) = header(&frame);
        for (at, rest) in self.classic[..len].iter().rev().enumerate() {
            let after = |byte: u8| {
                let bits = (0..8).rev().map(|shift| usize::from(byte >> shift & 1));
                bits.fold((state, 0), |(state, stuff), bit| {
                    let (next, more) = step(state, bit);
                    (next, stuff + more)
                })
            };
            let total = |&byte: &u8| after(byte).1 + rest[after(byte).0];
            let byte = (0..=u8::MAX).max_by_key(total).unwrap_or_default();
            frame.data[at] = byte;
            state = after(byte).0;
        }
        frame
    }
}

/// The bits before the payload, and the state after them.
fn header(frame: &Frame) -> (Stuffing, usize) {
    let mut stuffing = Stuffing::new();
    let mut crc = Crc15::new();
    fields(frame, |field, value, bits| {
        if field != Field::Data {
            stuffing.push(value, bits);
            crc.push(value, bits);
        }
    });
    let state = usize::from(crc.value()) * RUNS + run_index(stuffing.run());
    (stuffing, state)
}

/// The bits of the longest frame, and its flags.
fn longest_fd(id: RawId, bit_rate_switch: bool, len: usize) -> (FrameBits, u8) {
    let brs = if bit_rate_switch { CANFD_BRS } else { 0 };
    let [active, passive] = [brs, brs | CANFD_ESI].map(|flags| (fd(id, flags, len), flags));
    if active.0.total() >= passive.0.total() { active } else { passive }
}

fn fd(id: RawId, flags: u8, len: usize) -> FrameBits {
    let frame = Frame::fd(id, flags, &[0; CANFD_MAX_DLEN][..len]).expect("at most 64 bytes");
    let mut stuffing = Stuffing::new();
    let mut bits_before_switch = None;
    fields(&frame, |field, value, bits| {
        if field != Field::Data {
            stuffing.push(value, bits);
        }
        if field == Field::RateSwitch && value == 1 {
            bits_before_switch = Some(stuffing.bits());
        }
    });
    let wire_len = fd_wire_len(len);
    let payload = 8 * u32::try_from(wire_len).expect("at most 64");
    let after = if payload == 0 {
        stuffing.cancel_last();
        0
    } else {
        // The first stuff bit ends the run of the header, and each further one comes after four bits. A stuff bit after the
        // last bit of the payload would be the fixed one that opens the CRC field.
        let to_first = 5 - u32::from(stuffing.run().1);
        (payload - 1).checked_sub(to_first).map_or(0, |rest| 1 + rest / 4)
    };
    let crc = if wire_len <= FD_CRC17_MAX_LEN { FD_CRC17_FIELD_BITS } else { FD_CRC21_FIELD_BITS };
    let up_to_crc = stuffing.bits() + payload + after + crc;
    let data = bits_before_switch.map_or(0, |before| up_to_crc - before);
    FrameBits { nominal: up_to_crc - data + FD_TAIL_BITS + INTERMISSION_BITS, data, stuff: stuffing.stuff() + after }
}

/// The stuff bits in the CRC, and after its last bit.
fn stuff_bits_of_crc(state: usize) -> u8 {
    let crc = state / RUNS;
    let bits = (0..15).rev().map(|shift| crc >> shift & 1);
    bits.fold((state % RUNS, 0), |(run, stuff), bit| {
        let (next, more) = push(run, bit);
        (next, stuff + more)
    })
    .1
}

/// The maximum with one more bit of payload before what `best` has.
fn one_bit_more(state: usize, best: &[u8]) -> u8 {
    let with = |bit: usize| {
        let (next, more) = step(state, bit);
        best[next] + more
    };
    with(0).max(with(1))
}

/// The state after a bit, and the number of stuff bits after it.
fn step(state: usize, bit: usize) -> (usize, u8) {
    let crc = state / RUNS;
    let carry = crc >> 14 ^ bit;
    let next = (crc << 1 & (CRCS - 1)) ^ (usize::from(Crc15::POLYNOMIAL) * carry);
    let (run, more) = push(state % RUNS, bit);
    (next * RUNS + run, more)
}

/// The run after a bit, and the number of stuff bits after it.
const fn push(run: usize, bit: usize) -> (usize, u8) {
    let (level, length) = (run / 4, run % 4 + 1);
    if bit != level {
        (bit * 4, 0)
    } else if length == 4 {
        ((1 - bit) * 4, 1)
    } else {
        (bit * 4 + length, 0)
    }
}

fn run_index((level, length): (bool, u8)) -> usize {
    usize::from(level) * 4 + usize::from(length.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG};
    use crate::random::SplitMix64;

    const IDS: [u32; 9] = [0, 0x7FF, 0x123, 0x555, 0x780, 0x00F, CAN_EFF_FLAG, 0x9FFF_FFFF, 0x98DA_F110];

    fn longest_of_all(frames: impl Iterator<Item = Frame>) -> FrameBits {
        frames.map(|frame| FrameBits::of(&frame)).max_by_key(|bits| bits.total()).unwrap()
    }

    #[test]
    fn no_payload_of_up_to_two_bytes_is_longer_and_one_is_as_long() {
        let longest = LongestFrames::up_to(2);
        for id in IDS.map(RawId) {
            for len in 0..=2_u8 {
                let payloads = || (0..=u16::MAX).take(1 << (8 * len)).map(u16::to_le_bytes);
                let classic = payloads().map(|data| Frame::classic(id, &data[..len.into()]).unwrap());
                let found = longest_of_all(classic);
                assert_eq!(longest.bits(id, FrameFormat::Classic, false, len), found, "{id:?} {len}");
                for brs in [0, CANFD_BRS] {
                    let fd = payloads().flat_map(|data| {
                        [brs, brs | CANFD_ESI].map(|flags| Frame::fd(id, flags, &data[..len.into()]).unwrap())
                    });
                    let found = longest_of_all(fd).total();
                    assert_eq!(longest.bits(id, FrameFormat::Fd, brs != 0, len).total(), found, "{id:?} {len}");
                }
            }
        }
    }

    #[test]
    fn a_frame_has_the_bits_of_the_longest() {
        let longest = LongestFrames::up_to(8);
        for id in IDS.map(RawId) {
            for len in 0..=8 {
                let frame = longest.frame(id, FrameFormat::Classic, false, len);
                assert_eq!(FrameBits::of(&frame), longest.bits(id, FrameFormat::Classic, false, len), "{frame}");
            }
            for (dlc, brs) in (0..16).flat_map(|dlc| [(dlc, false), (dlc, true)]) {
                let len = crate::frame::FD_LENGTHS[dlc];
                let frame = longest.frame(id, FrameFormat::Fd, brs, len);
                assert_eq!(FrameBits::of(&frame), longest.bits(id, FrameFormat::Fd, brs, len), "{frame}");
            }
        }
    }

    #[test]
    fn no_random_payload_is_longer() {
        let longest = LongestFrames::up_to(8);
        let mut random = SplitMix64::new(29);
        for _frame in 0..200_000 {
            let id = RawId(IDS[usize::try_from(random.next_u64() % 9).unwrap()]);
            // Runs of four make long frames.
            let mix = [u64::MAX, 0x0F0F_0F0F_0F0F_0F0F, 0x8787_8787_8787_8787, 0x8080_8080]
                [usize::try_from(random.next_u64() % 4).unwrap()];
            let data = (random.next_u64() & mix).to_le_bytes();
            let len = u8::try_from(random.next_u64() % 9).unwrap();
            let bits = FrameBits::of(&Frame::classic(id, &data[..len.into()]).unwrap());
            assert!(bits.total() <= longest.bits(id, FrameFormat::Classic, false, len).total());
        }
    }

    #[test]
    fn the_length_of_a_remote_frame_does_not_change_its_payload() {
        let longest = LongestFrames::up_to(8);
        let id = RawId(0x123 | CAN_RTR_FLAG);
        assert!(longest.bits(id, FrameFormat::Classic, false, 8).total() < 60);
    }

    proptest! {
        #[test]
        fn no_fd_frame_is_longer(id in 0..0x800_u32, flags in 0..4_u8, data in proptest::collection::vec(any::<u8>(), 0..=64)) {
            let longest = LongestFrames { classic: Vec::new() };
            let bits = FrameBits::of(&Frame::fd(RawId(id), flags & !crate::frame::CANFD_FDF, &data).unwrap());
            let len = u8::try_from(data.len()).unwrap();
            let bound = longest.bits(RawId(id), FrameFormat::Fd, flags & CANFD_BRS != 0, len);
            prop_assert!(bits.total() <= bound.total() && bits.nominal <= bound.nominal);
        }
    }
}
