//! Strategies for property tests: frames, filters and jobs, weighted towards matches.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_FDF, CANFD_MAX_DLEN,
    FD_LENGTHS, Frame, FrameFormat, RawId,
};
use crate::job::{BusIndex, Incoming, Job, SendAs};
use crate::payload::PayloadPattern;
use crate::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, XorChecksum};

/// A well-formed frame: all fields in range, zeros beyond the length.
pub fn wire_frame() -> impl Strategy<Value = Frame> {
    let id = prop_oneof![
        (0..=CAN_SFF_MASK, any::<bool>()).prop_map(|(id, rtr)| id | if rtr { CAN_RTR_FLAG } else { 0 }),
        (0..=CAN_EFF_MASK, any::<bool>()).prop_map(|(id, rtr)| CAN_EFF_FLAG | id | if rtr { CAN_RTR_FLAG } else { 0 }),
    ];
    let classic = (id, prop_oneof![0..=7_u8, 8..=15_u8], payload_bytes()).prop_map(|(id, dlc, bytes)| {
        let rtr = RawId(id).is_rtr();
        let len = dlc.min(8);
        let mut data = [0; CANFD_MAX_DLEN];
        if !rtr {
            data[..usize::from(len)].copy_from_slice(&bytes[..usize::from(len)]);
        }
        let len8_dlc = if dlc > 8 { dlc } else { 0 };
        Frame { format: FrameFormat::Classic, id: RawId(id), len, len8_dlc, flags: 0, data }
    });
    let fd_len = select(FD_LENGTHS.as_slice());
    let fd = (identifier(), fd_len, 0..4_u8, payload_bytes()).prop_map(|(id, len, flags, bytes)| {
        let mut data = [0; CANFD_MAX_DLEN];
        data[..usize::from(len)].copy_from_slice(&bytes[..usize::from(len)]);
        Frame { format: FrameFormat::Fd, id: RawId(id), len, len8_dlc: 0, flags: flags | CANFD_FDF, data }
    });
    prop_oneof![classic, fd]
}

/// Any frame, including malformed ones.
pub fn any_frame() -> impl Strategy<Value = Frame> {
    let len = prop_oneof![4 => 0..=8_u8, 1 => Just(8_u8), 2 => 9..=64_u8, 1 => any::<u8>()];
    let len8_dlc = prop_oneof![Just(0_u8), 0..=20_u8];
    (any::<bool>(), raw_id(), len, len8_dlc, any::<u8>(), payload_bytes()).prop_map(
        |(fd, id, len, len8_dlc, flags, mut data)| {
            if fd {
                return Frame { format: FrameFormat::Fd, id: RawId(id), len, len8_dlc: 0, flags, data };
            }
            data[CAN_MAX_DLEN..].fill(0);
            Frame { format: FrameFormat::Classic, id: RawId(id), len, len8_dlc, flags: 0, data }
        },
    )
}

/// Jobs between `buses` buses with any filter that the kernel accepts, and any modification and checksum within bounds.
pub fn job(buses: usize) -> impl Strategy<Value = Job> {
    (any::<bool>(), 0..buses, 1..buses, filter(), option::weighted(0.6, modifications()), checksums()).prop_map(
        move |(fd, from, step, filter, modifications, checksums)| {
            let format = if fd { FrameFormat::Fd } else { FrameFormat::Classic };
            let mut modifications = modifications.unwrap_or_default();
            if !fd {
                for operand in
                    [&mut modifications.and, &mut modifications.or, &mut modifications.xor, &mut modifications.set]
                {
                    operand.flags = None;
                }
            }
            let checksums = if fd { checksums } else { within_8_bytes(checksums) };
            let to = BusIndex((from + step) % buses);
            Job { modifications, checksums, ..Job::plain(BusIndex(from), to, format, filter) }
        },
    )
}

/// The same with payloads and conversions, which only user space supports, and with jobs back to their source.
pub fn user_space_job(buses: usize) -> impl Strategy<Value = Job> {
    let payload = prop_oneof![4 => Just(Vec::new()), 1 => vec(payload_pattern(), 1..3)];
    let back = (prop::bool::weighted(0.1), any::<bool>());
    let converts = (prop::bool::weighted(0.2), any::<bool>());
    (job(buses), payload, converts, back).prop_map(|(job, payload, (converts, bit_rate_switch), (back, allowed))| {
        // Modifications and checksums fit the format of sent frames.
        let (format, send_as) = match job.format {
            format if !converts => (format, None),
            FrameFormat::Classic => (FrameFormat::Fd, Some(SendAs::Classic)),
            FrameFormat::Fd => (FrameFormat::Classic, Some(SendAs::Fd { bit_rate_switch })),
        };
        Job {
            format,
            to: if back { job.from } else { job.to },
            incoming: if allowed { Incoming::Allowed } else { Incoming::Skipped },
            payload,
            send_as,
            ..job
        }
    })
}

/// A payload pattern with few bits, so it matches frames.
fn payload_pattern() -> impl Strategy<Value = PayloadPattern> {
    let byte = (0..12_usize, select([0x01_u8, 0x80, 0xFF].as_slice()), select([0_u8, 0xFF].as_slice()));
    vec(byte, 0..3).prop_map(|bytes| {
        let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
        for (at, mask, value) in bytes {
            pattern.mask[at] = mask;
            pattern.value[at] = value & mask;
        }
        pattern
    })
}

/// Raw filters, including malformed ones and those for error frames.
pub fn filter() -> impl Strategy<Value = Filter> {
    let mask = prop_oneof![
        2 => Just(0),
        4 => Just(CAN_SFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG),
        4 => Just(CAN_EFF_MASK | CAN_EFF_FLAG | CAN_RTR_FLAG),
        2 => Just(CAN_SFF_MASK),
        4 => select([0x7F0, 0x7, CAN_EFF_FLAG | 0x700, CAN_RTR_FLAG, CAN_EFF_FLAG | 0x1FFF_FF00].as_slice()),
        1 => Just(CAN_ERR_FLAG | CAN_EFF_MASK),
        2 => any::<u32>(),
    ];
    (raw_id(), mask, prop::bool::weighted(0.2)).prop_map(|(id, mask, inverted)| Filter {
        id: id & !CAN_INV_FILTER | if inverted { CAN_INV_FILTER } else { 0 },
        mask,
    })
}

/// A well-formed identifier of a data frame, often one that filters match.
fn identifier() -> impl Strategy<Value = u32> {
    prop_oneof![
        select([0, 0x123, 0x124, 0x7FF, CAN_EFF_FLAG | 0x123, CAN_EFF_FLAG | 0x1234_5678].as_slice()),
        0..=CAN_SFF_MASK,
        (0..=CAN_EFF_MASK).prop_map(|id| CAN_EFF_FLAG | id),
    ]
}

/// Few identifiers with varying flags, so filters match frames.
fn raw_id() -> impl Strategy<Value = u32> {
    let bits = prop_oneof![6 => select([0, 0x123, 0x124, 0x7FF, 0x800, 0x1234_5678, 0x1FFF_FFFF].as_slice()), 1 => any::<u32>()];
    let flags = prop_oneof![
        4 => Just(0),
        4 => Just(CAN_EFF_FLAG),
        1 => Just(CAN_RTR_FLAG),
        1 => Just(CAN_EFF_FLAG | CAN_RTR_FLAG),
        1 => Just(CAN_ERR_FLAG),
    ];
    (bits, flags).prop_map(|(bits, flags)| bits & CAN_EFF_MASK | flags)
}

fn modifications() -> impl Strategy<Value = Modifications> {
    (operand(), operand(), operand(), operand()).prop_map(|(and, or, xor, set)| Modifications { and, or, xor, set })
}

fn operand() -> impl Strategy<Value = Operand> {
    (
        option::weighted(0.3, raw_id()),
        option::weighted(0.3, prop_oneof![8 => 0..=16_u8, 1 => any::<u8>()]),
        option::weighted(0.3, any::<u8>()),
        option::weighted(0.3, payload_bytes()),
    )
        .prop_map(|(id, len, flags, data)| Operand { id, len, flags, data })
}

fn checksums() -> impl Strategy<Value = Checksums> {
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::Byte),
        any::<[u8; 16]>().prop_map(Crc8Profile::ByteByCounter),
        Just(Crc8Profile::IdXor),
    ];
    let crc8 = (span(), any::<u8>(), any::<u8>(), profile).prop_map(|(span, init, final_xor, profile)| Crc8Checksum {
        span,
        init,
        final_xor,
        table: std::array::from_fn(|index| index.to_le_bytes()[0].wrapping_mul(0x1D) ^ 0x5A),
        profile,
    });
    let xor = (span(), any::<u8>()).prop_map(|(span, init)| XorChecksum { span, init });
    (option::of(crc8), option::of(xor)).prop_map(|(crc8, xor)| Checksums { crc8, xor })
}

/// Valid positions in FD frames, mostly near the ends.
fn span() -> impl Strategy<Value = ChecksumSpan> {
    let position = || prop_oneof![3 => -8..8_i8, 1 => -64..64_i8];
    (position(), position(), position()).prop_map(|(from, to, result)| ChecksumSpan { from, to, result })
}

fn within_8_bytes(mut checksums: Checksums) -> Checksums {
    let spans = checksums.crc8.iter_mut().map(|crc8| &mut crc8.span);
    for ChecksumSpan { from, to, result } in spans.chain(checksums.xor.iter_mut().map(|xor| &mut xor.span)) {
        for position in [from, to, result] {
            if !(-8..8).contains(position) {
                *position %= 8;
            }
        }
    }
    checksums
}

/// Zeros, ones, both, or noise, from a seed, because 64 strategies per payload would be slow.
fn payload_bytes() -> impl Strategy<Value = [u8; CANFD_MAX_DLEN]> {
    (any::<u64>(), 0..4_u8).prop_map(|(seed, style)| {
        let mut state = seed | 1;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [noise, choice, ..] = state.to_be_bytes();
            match (style, choice % 4) {
                (0, _) | (2, 0) => 0,
                (1, _) | (2, 1) => 0xFF,
                _ => noise,
            }
        })
    })
}
