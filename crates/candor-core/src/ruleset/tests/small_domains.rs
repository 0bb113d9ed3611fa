//! Exhaustive tests of small domains: the oracle, the rule set and the plain functions against independent models.

use super::*;
use crate::frame::{CAN_EFF_FLAG as EFF, CAN_ERR_FLAG as ERR};
use crate::rule::{
    self, ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, Operation, Verdict, XorChecksum,
};

/// Result of a frame in a job, by each of the three implementations; `None` if it is deleted.
fn by_all(job: &Job, rules: &RuleSet, frame: &Frame) -> [Option<Frame>; 3] {
    let mut changed = *frame;
    let verdict = rule::change(&mut changed, &job.modifications, &job.checksums);
    let sent = |deliveries: Vec<Delivery>| deliveries.first().map(|delivery| delivery.frame);
    [
        (verdict == Verdict::Send).then_some(changed),
        sent(oracle::deliver(std::slice::from_ref(job), BusIndex(0), frame)),
        sent(deliveries(rules, BusIndex(0), frame).0),
    ]
}

/// Four operations, 16 raw DLCs, 256 operands.
#[test]
fn classic_length() {
    for operand in 0..=255 {
        let len = Operand { len: Some(operand), ..Operand::NONE };
        for operation in [Operation::And, Operation::Or, Operation::Xor, Operation::Set] {
            let mut modifications = Modifications::NONE;
            let result: fn(u8, u8) -> u8 = match operation {
                Operation::And => {
                    modifications.and = len;
                    |dlc, operand| dlc & operand
                }
                Operation::Or => {
                    modifications.or = len;
                    |dlc, operand| dlc | operand
                }
                Operation::Xor => {
                    modifications.xor = len;
                    |dlc, operand| dlc ^ operand
                }
                Operation::Set => {
                    modifications.set = len;
                    |_, operand| operand
                }
            };
            let job = Job { modifications, ..job() };
            let rules = RuleSet::compile(std::slice::from_ref(&job), 2);
            for dlc in 0..=15 {
                let frame = Frame {
                    len: dlc.min(8),
                    len8_dlc: if dlc > 8 { dlc } else { 0 },
                    ..Frame::classic(RawId(0x123), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap()
                };
                let expected = match result(dlc, operand) {
                    len @ 0..=8 => Some(Frame { len, len8_dlc: 0, ..frame }),
                    len8_dlc @ 9..=15 => Some(Frame { len: 8, len8_dlc, ..frame }),
                    _ => None,
                };
                assert_eq!(by_all(&job, &rules, &frame), [expected; 3], "{operation:?} {dlc} {operand}");
            }
        }
    }
}

/// All positions of both checksums on all lengths: 16 × 16 × 16 × 9.
#[test]
fn spans_of_classic_frames() {
    let positions = |code: u16| [0, 4, 8].map(|shift| i8::try_from(code >> shift & 15).unwrap() - 8);
    for code in 0..16 * 16 * 16 {
        every_length(positions(code), FrameFormat::Classic);
    }
}

/// Critical positions, on all lengths.
#[test]
fn spans_of_fd_frames() {
    let positions = [-64, -63, -9, -8, -2, -1, 0, 1, 7, 8, 62, 63];
    for from in positions {
        for to in positions {
            for result in positions {
                every_length([from, to, result], FrameFormat::Fd);
            }
        }
    }
}

fn every_length([from, to, result]: [i8; 3], format: FrameFormat) {
    let span = ChecksumSpan { from, to, result };
    let no_op = Modifications { or: Operand { id: Some(0), ..Operand::NONE }, ..Modifications::NONE };
    let table = std::array::from_fn(|at| at.to_le_bytes()[0].wrapping_mul(29).rotate_left(3) ^ 0x5A);
    let crc8 = Crc8Checksum { span, init: 0x3C, final_xor: 0xC3, table, profile: Crc8Profile::Byte(7) };
    let xor = Checksums { xor: Some(XorChecksum { span, init: 0x5A }), crc8: None };
    for checksums in [xor, Checksums { crc8: Some(crc8), xor: None }] {
        let job = Job { format, modifications: no_op, checksums, ..job() };
        let rules = RuleSet::compile(std::slice::from_ref(&job), 2);
        for len in 0..=format.max_len() {
            let data: [u8; 64] = std::array::from_fn(|at| at.to_le_bytes()[0].wrapping_mul(37) ^ 0x91);
            let frame = match format {
                FrameFormat::Classic => Frame::classic(RawId(0x123), &data[..8]).unwrap(),
                FrameFormat::Fd => Frame::fd(RawId(0x123), 0, &data).unwrap(),
            };
            let frame = Frame { len: u8::try_from(len).unwrap(), data: frame.data, ..frame };
            let mut expected = frame;
            if let Some((at, value)) = by_signed_walk(&checksums, span, &frame) {
                expected.data[at] = value;
            }
            assert_eq!(by_all(&job, &rules, &frame), [Some(expected); 3], "{span:?} on {len} bytes");
        }
    }
}

/// Position and value of a result, computed with signed positions, one step at a time.
fn by_signed_walk(checksums: &Checksums, span: ChecksumSpan, frame: &Frame) -> Option<(usize, u8)> {
    let mut positions = [span.from, span.to, span.result].map(i32::from);
    if positions.iter().any(|&at| at < 0) {
        positions = positions.map(|at| if at < 0 { at + i32::from(frame.len) } else { at });
    }
    if positions.iter().any(|&at| at < 0) {
        return None;
    }
    let [from, to, result] = positions;
    let byte = |at: i32| frame.data[usize::try_from(at).unwrap()];
    let (mut xor, mut crc, mut at) = (0x5A, 0x3C, from);
    loop {
        xor ^= byte(at);
        if let Some(crc8) = &checksums.crc8 {
            crc = crc8.table[usize::from(crc ^ byte(at))];
        }
        if at == to {
            break;
        }
        at += if from < to { 1 } else { -1 };
    }
    let value = checksums.crc8.map_or(xor, |crc8| crc8.table[usize::from(crc ^ 7)] ^ 0xC3);
    Some((usize::try_from(result).unwrap(), value))
}

/// Flags × identifiers of the filter × masks with flags × flags and identifiers of the frame, error frames and
/// malformed identifiers among them.
#[test]
fn filters() {
    let flags = || (0..8_u32).map(|flags| flags << 29);
    let with_flags = |bits: &'static [u32]| bits.iter().flat_map(move |bits| flags().map(move |flags| bits | flags));
    let (mut delivered, mut not) = (0, 0);
    for id in with_flags(&[0, 0x123, 0x7FF, 0x923, 0x1234_5678]) {
        for mask in with_flags(&[0, 0x7F0, 0x7FF, 0xFFF, 0x1FFF_FF00, 0x1FFF_FFFF]) {
            let jobs = [filtered(id, mask)];
            let rules = RuleSet::compile(&jobs, 2);
            for frame in with_flags(&[0, 0x123, 0x12F, 0x7FF, 0x923, 0x1234_5678, 0x1FFF_FFFF]) {
                let expected = kernel_delivers(id, mask, frame);
                let frame = Frame::classic(RawId(frame), &[]).unwrap();
                let by_oracle = !oracle::deliver(&jobs, BusIndex(0), &frame).is_empty();
                let by_rules = !fired(&rules, &frame).is_empty();
                assert_eq!((by_oracle, by_rules), (expected, expected), "{id:08X}:{mask:08X} {frame}");
                *(if expected { &mut delivered } else { &mut not }) += 1;
            }
        }
    }
    assert!(delivered > 20_000 && not > 20_000, "{delivered} {not}");
}

/// Compares bit by bit, as the specification says.
fn kernel_delivers(id: u32, mask: u32, frame: u32) -> bool {
    let bit = |value: u32, at: u32| value >> at & 1;
    if mask & ERR != 0 {
        let common_class = (0..29).any(|at| bit(mask, at) == 1 && bit(frame, at) == 1);
        return frame & ERR != 0 && common_class;
    }
    if frame & ERR != 0 {
        return false;
    }
    let standard_only = mask & EFF != 0 && id & EFF == 0;
    let compares = |at: u32| bit(mask, at) == 1 && !(standard_only && (11..29).contains(&at));
    let equal = (0..32).filter(|&at| compares(at) && 1 << at != ERR).all(|at| bit(id, at) == bit(frame, at));
    let inverted = id & ERR != 0;
    equal != inverted
}
