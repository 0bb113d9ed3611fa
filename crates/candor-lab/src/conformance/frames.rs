//! The frames of each check. In one list, no two frames have the same identifier bits, so that a copy is recognised
//! even if the rest was changed.

use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_MAX_RAW_DLC, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_BRS,
    CANFD_ESI, CANFD_MAX_DLEN, FD_LENGTHS, Frame, RawId,
};
use candor_core::random::SplitMix64;

/// First identifier in lists that are not about identifiers.
const FIRST_ID: u32 = 0x080;
/// 29-bit identifiers besides those with one bit set or one bit cleared.
const RANDOM_EXTENDED: usize = 256;
/// `CAN_ERR_…`: transmission timeout, lost arbitration, controller, protocol, no acknowledgement, bus-off.
const ERROR_CLASSES: [u32; 6] = [0x01, 0x02, 0x04, 0x08, 0x20, 0x40];

#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.fill_with(|| self.next().to_be_bytes()[0]);
        bytes
    }
}

fn id(at: usize) -> RawId {
    RawId(FIRST_ID + u32::try_from(at).expect("no list has thousands of frames"))
}

fn classic(id: RawId, payload: &[u8]) -> Frame {
    Frame::classic(id, payload).expect("no list has payloads of more than 8 bytes")
}

fn fd(id: RawId, flags: u8, payload: &[u8]) -> Frame {
    Frame::fd(id, flags, payload).expect("no list has payloads of more than 64 bytes")
}

pub(super) fn probe(number: u32) -> Frame {
    classic(RawId(CAN_SFF_MASK), &number.to_be_bytes())
}

pub(super) fn classic_lengths(random: &mut Random) -> Vec<Frame> {
    (0..=CAN_MAX_DLEN).map(|len| classic(id(len), &random.bytes::<CAN_MAX_DLEN>()[..len])).collect()
}

/// Data frames of 8 bytes with a DLC of 9 to 15.
pub(super) fn raw_dlcs(random: &mut Random) -> Vec<Frame> {
    let dlcs = 9..=CAN_MAX_RAW_DLC;
    dlcs.enumerate().map(|(at, len8_dlc)| Frame { len8_dlc, ..classic(id(at), &random.bytes::<8>()) }).collect()
}

/// Remote frames with 11-bit and 29-bit identifiers and lengths 0 to 8.
pub(super) fn remote() -> Vec<Frame> {
    let flags = [CAN_RTR_FLAG, CAN_RTR_FLAG | CAN_EFF_FLAG];
    let all = flags.into_iter().flat_map(|flags| (0..=8).map(move |len| (flags, len))).enumerate();
    all.map(|(at, (flags, len))| Frame { len, ..classic(RawId(id(at).0 | flags), &[]) }).collect()
}

pub(super) fn standard_identifiers(random: &mut Random) -> Vec<Frame> {
    (0..=CAN_SFF_MASK).map(|bits| classic(RawId(bits), &random.bytes::<8>())).collect()
}

/// Each bit alone, all but each bit, none, all, and random ones.
pub(super) fn extended_identifiers(random: &mut Random) -> Vec<Frame> {
    let single = (0..29).map(|bit| 1 << bit);
    let mut all: Vec<u32> = [0, CAN_EFF_MASK].into_iter().chain(single.clone()).collect();
    all.extend(single.map(|bit: u32| CAN_EFF_MASK ^ bit));
    let mut seen: std::collections::HashSet<u32> = all.iter().copied().collect();
    while all.len() < 60 + RANDOM_EXTENDED {
        let [low, high] = [random.next(), random.next()].map(|word| word.to_be_bytes()[0]);
        let [a, b] = random.bytes::<2>();
        let bits = u32::from_be_bytes([low, high, a, b]) & CAN_EFF_MASK;
        if seen.insert(bits) {
            all.push(bits);
        }
    }
    all.into_iter().map(|bits| classic(RawId(bits | CAN_EFF_FLAG), &random.bytes::<8>())).collect()
}

/// Each of the 64 bits alone, and all but it.
pub(super) fn payload_bits() -> Vec<Frame> {
    each_bit::<CAN_MAX_DLEN>().enumerate().map(|(at, payload)| classic(id(at), &payload)).collect()
}

pub(super) fn fd_lengths(random: &mut Random) -> Vec<Frame> {
    let lengths = FD_LENGTHS.into_iter().enumerate();
    lengths.map(|(at, len)| fd(id(at), CANFD_BRS, &random.bytes::<CANFD_MAX_DLEN>()[..usize::from(len)])).collect()
}

pub(super) fn fd_flags(random: &mut Random) -> Vec<Frame> {
    let flags = [0, CANFD_BRS, CANFD_ESI, CANFD_BRS | CANFD_ESI];
    flags.into_iter().enumerate().map(|(at, flags)| fd(id(at), flags, &random.bytes::<12>())).collect()
}

pub(super) fn fd_identifiers(random: &mut Random) -> Vec<Frame> {
    let of = |flag: u32, bits: u32| (0..bits).map(move |bit| RawId(1 << bit | flag));
    let all = of(0, 11).chain(of(CAN_EFF_FLAG, 29));
    all.map(|id| fd(id, CANFD_BRS, &random.bytes::<16>())).collect()
}

/// Each of the 512 bits alone, and all but it.
pub(super) fn fd_payload_bits() -> Vec<Frame> {
    each_bit::<CANFD_MAX_DLEN>().enumerate().map(|(at, payload)| fd(id(at), CANFD_BRS, &payload)).collect()
}

/// Frames distinguished by a number in the payload.
pub(super) fn numbered(count: usize, random: &mut Random) -> Vec<Frame> {
    (0..count)
        .map(|at| {
            let mut payload = random.bytes::<8>();
            payload[..4].copy_from_slice(&u32::try_from(at).unwrap_or(u32::MAX).to_be_bytes());
            classic(id(at), &payload)
        })
        .collect()
}

/// A few of everything, for the reverse direction.
pub(super) fn mixture(with_fd: bool, random: &mut Random) -> Vec<Frame> {
    let lists =
        [classic_lengths(random), raw_dlcs(random), remote(), if with_fd { fd_lengths(random) } else { vec![] }];
    let all = lists.into_iter().flatten().enumerate();
    all.map(|(at, frame)| {
        let flags = frame.id.0 & (CAN_EFF_FLAG | CAN_RTR_FLAG);
        Frame { id: RawId(id(at).0 | flags), ..frame }
    })
    .collect()
}

pub(super) fn error_frames() -> Vec<Frame> {
    ERROR_CLASSES.into_iter().map(|class| classic(RawId(CAN_ERR_FLAG | class), &[0; 8])).collect()
}

fn each_bit<const N: usize>() -> impl Iterator<Item = [u8; N]> {
    [0x00, 0xFF].into_iter().flat_map(|rest| {
        (0..8 * N).map(move |bit| {
            let mut payload = [rest; N];
            payload[bit / 8] ^= 1 << (bit % 8);
            payload
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn identifiers_in_a_list_are_distinct() {
        let random = &mut Random::new(1);
        let lists = [
            classic_lengths(random),
            raw_dlcs(random),
            remote(),
            standard_identifiers(random),
            extended_identifiers(random),
            payload_bits(),
            fd_lengths(random),
            fd_flags(random),
            fd_identifiers(random),
            fd_payload_bits(),
            numbered(1024, random),
            mixture(true, random),
            error_frames(),
        ];
        for list in lists {
            let ids: HashSet<_> = list.iter().map(|frame| (frame.id.is_eff(), frame.id.bits())).collect();
            assert_eq!(ids.len(), list.len(), "{:?}", list.first());
            assert!(list.iter().all(|frame| frame.id.bits() <= CAN_SFF_MASK || frame.id.is_eff()));
        }
    }
}
