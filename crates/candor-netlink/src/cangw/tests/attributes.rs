//! Every attribute: where its value goes, cut short, given twice; and unknown attributes.

use super::*;
use crate::codec::DecodeError;

const NO_CRC8_TABLE: [u8; 256] = [0; 256];

fn decode(flags: u16, attributes: &[(u16, Vec<u8>)]) -> Result<ExactJob, DecodeError> {
    let mut writer = MessageWriter::new(RTM_NEWROUTE, 0);
    let [low, high] = flags.to_ne_bytes();
    writer.header(&[AF_CAN, CGW_TYPE_CAN_CAN, low, high]);
    for (kind, value) in attributes {
        writer.attribute(*kind, value);
    }
    let bytes = writer.finish(1);
    let message = Messages::new(&bytes).next().unwrap().unwrap();
    ExactJob::decode(&message)
}

fn number(value: u32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

/// A frame struct whose bytes are 1, 2, 3 … apart from padding, and which of its fields are operands.
fn frame(bytes: u8, touched: u8) -> Vec<u8> {
    let is_padding = |byte: u8| byte == 7 || byte == 8 || byte == 6 && bytes == 16;
    (1..=bytes).map(|byte| if is_padding(byte) { 0 } else { byte }).chain([touched]).collect()
}

/// With this many bytes of profile data that are not 0.
fn crc8(profile: u8, used: usize) -> Vec<u8> {
    let data = (0xA0..0xB4).enumerate().map(|(at, byte)| if at < used { byte } else { 0 }).collect();
    [vec![0xFF, 2, 3, 0x11, 0x22], NO_CRC8_TABLE.to_vec(), vec![profile], data].concat()
}

fn ends() -> Vec<(u16, Vec<u8>)> {
    vec![(CGW_SRC_IF, number(3)), (CGW_DST_IF, number(4))]
}

fn with(attribute: (u16, Vec<u8>)) -> Vec<(u16, Vec<u8>)> {
    let mut all = ends();
    all.push(attribute);
    all
}

/// An attribute, a valid value with its smallest size, for which flags, and what a job with it has.
type Case = (u16, Vec<u8>, u16, fn(&mut CangwJob));

fn cases() -> Vec<Case> {
    vec![
        (CGW_MOD_AND, frame(16, 7), 0, |job| job.modifications.and = classic_operand()),
        (CGW_MOD_OR, frame(16, 7), 0, |job| job.modifications.or = classic_operand()),
        (CGW_MOD_XOR, frame(16, 7), 0, |job| job.modifications.xor = classic_operand()),
        (CGW_MOD_SET, frame(16, 7), 0, |job| job.modifications.set = classic_operand()),
        (CGW_CS_XOR, vec![0, 0xFE, 0xFF, 0xA5], 0, |job| {
            job.checksums.xor = Some(XorChecksum { span: ChecksumSpan { from: 0, to: -2, result: -1 }, init: 0xA5 });
        }),
        (CGW_CS_CRC8, crc8(1, 1), 0, |job| job.checksums.crc8 = Some(crc8_with(Crc8Profile::Byte(0xA0)))),
        (CGW_HANDLED, number(0xFFFF_FFFF), 0, |job| job.counters.handled = u32::MAX),
        (CGW_DROPPED, number(7), 0, |job| job.counters.dropped = 7),
        (CGW_FILTER, [number(0x123), number(0xC000_07FF)].concat(), 0, |job| {
            job.filter = Filter { id: 0x123, mask: 0xC000_07FF };
        }),
        (CGW_DELETED, number(8), 0, |job| job.counters.deleted = 8),
        (CGW_LIM_HOPS, vec![6], 0, |job| job.hop_limit = 6),
        (CGW_MOD_UID, number(0xABCD), 0, |job| job.uid = 0xABCD),
        (CGW_FDMOD_AND, frame(72, 15), 8, |job| job.modifications.and = fd_operand()),
        (CGW_FDMOD_OR, frame(72, 15), 8, |job| job.modifications.or = fd_operand()),
        (CGW_FDMOD_XOR, frame(72, 15), 8, |job| job.modifications.xor = fd_operand()),
        (CGW_FDMOD_SET, frame(72, 15), 8, |job| job.modifications.set = fd_operand()),
    ]
}

fn operand_of(data: std::ops::RangeInclusive<u8>) -> Operand {
    let mut bytes = [0; 64];
    for (byte, value) in bytes.iter_mut().zip(data) {
        *byte = value;
    }
    Operand { id: Some(u32::from_ne_bytes([1, 2, 3, 4])), len: Some(5), flags: None, data: Some(bytes) }
}

fn classic_operand() -> Operand {
    operand_of(9..=16)
}

fn fd_operand() -> Operand {
    Operand { flags: Some(6), ..operand_of(9..=72) }
}

fn crc8_with(profile: Crc8Profile) -> Crc8Checksum {
    let span = ChecksumSpan { from: -1, to: 2, result: 3 };
    Crc8Checksum { span, init: 0x11, final_xor: 0x22, table: NO_CRC8_TABLE, profile }
}

#[test]
fn every_attribute_has_its_place() {
    for (kind, value, flags, set) in cases() {
        let mut expected = CangwJob { filter: Filter::ALL, ..plain(JobFlags(flags)) };
        set(&mut expected);
        let read = decode(flags, &with((kind, value))).unwrap();
        assert_eq!(*read.job(), expected, "attribute {kind}");
        assert!(read.is_plain(), "attribute {kind}");
    }
}

#[test]
fn no_attribute_may_be_cut_short() {
    for (kind, mut value, flags, _) in cases() {
        let expected = value.len();
        value.pop();
        let error = decode(flags, &with((kind, value.clone()))).unwrap_err();
        assert_eq!(error, DecodeError::ShortAttribute { kind, len: value.len(), expected });
    }
    for kind in [CGW_SRC_IF, CGW_DST_IF] {
        let mut attributes = ends();
        attributes.retain(|(other, _)| *other != kind);
        assert_eq!(decode(0, &attributes).unwrap_err(), DecodeError::MissingAttribute { kind });
        attributes.push((kind, vec![1, 2, 3]));
        assert_eq!(decode(0, &attributes).unwrap_err(), DecodeError::ShortAttribute { kind, len: 3, expected: 4 });
        attributes.push((kind, number(0)));
    }
    assert_eq!(
        decode(0, &[(CGW_SRC_IF, number(0)), (CGW_DST_IF, number(4))]).unwrap_err(),
        DecodeError::MissingAttribute { kind: CGW_SRC_IF },
        "number 0 is no interface"
    );
}

/// A later kernel may make a struct longer.
#[test]
fn attributes_may_be_longer() {
    for (kind, mut value, flags, set) in cases() {
        let mut expected = CangwJob { filter: Filter::ALL, ..plain(JobFlags(flags)) };
        set(&mut expected);
        value.extend([0xEE; 4]);
        let read = decode(flags, &with((kind, value))).unwrap();
        assert_eq!(*read.job(), expected, "attribute {kind}");
        // What candor does not understand is kept for deleting, except in counters, which are not sent.
        let is_counter = [CGW_HANDLED, CGW_DROPPED, CGW_DELETED].contains(&kind);
        assert_eq!(read.is_plain(), is_counter, "attribute {kind}");
    }
}

#[test]
fn of_an_attribute_given_twice_the_last_one_counts() {
    for (kind, value, flags, set) in cases() {
        let mut expected = CangwJob { filter: Filter::ALL, ..plain(JobFlags(flags)) };
        set(&mut expected);
        let first = (kind, vec![0x55; value.len()]);
        let mut attributes = ends();
        attributes.extend([first, (kind, value)]);
        assert_eq!(*decode(flags, &attributes).unwrap().job(), expected, "attribute {kind}");
    }
}

#[test]
fn the_other_formats_operations_are_passed_over() {
    for (kind, value, flags, _) in cases() {
        let is_operation = (CGW_MOD_AND..=CGW_MOD_SET).contains(&kind) || kind >= CGW_FDMOD_AND;
        if is_operation {
            let read = decode(flags ^ 8, &with((kind, value))).unwrap();
            assert!(read.job().modifications.is_empty(), "attribute {kind}");
        }
    }
}

#[test]
fn unknown_attributes_are_kept_for_deleting() {
    for kind in [0, 19, 0x3FFF] {
        let read = decode(0, &with((kind, vec![1, 2, 3, 4, 5]))).unwrap();
        assert!(read.job().is_same_job(&CangwJob { filter: Filter::ALL, ..plain(JobFlags::default()) }));
        assert!(!read.is_plain() && read.bytes().windows(5).any(|bytes| bytes == [1, 2, 3, 4, 5]), "{kind}");
    }
}

/// `cangw -m SET:I:456.8.1122334455667788` gives the kernel data that no operation uses, and the kernel compares it.
#[test]
fn bytes_without_a_meaning_are_part_of_the_job() {
    let set_id = |rest: u8| {
        let mut value = vec![0x56, 4, 0, 0, rest, 0, 0, 0];
        value.extend([rest; 8]);
        value.push(1);
        decode(0, &with((CGW_MOD_SET, value))).unwrap()
    };
    let (plain, odd) = (set_id(0), set_id(0x77));
    assert!(plain.job().is_same_job(odd.job()));
    assert!(!plain.is_same_job(&odd));
    assert_eq!((plain.is_plain(), odd.is_plain()), (true, false));
    assert!(ExactJob::from_bytes(odd.bytes()).unwrap().is_same_job(&odd));
}

#[test]
fn a_profile_that_nobody_knows_is_none_and_kept_for_deleting() {
    for (profile, used, expected, is_plain) in [
        (0, 0, Crc8Profile::None, true),
        (2, 16, Crc8Profile::ByteByCounter(std::array::from_fn(|at| 0xA0 + u8::try_from(at).unwrap())), true),
        (3, 0, Crc8Profile::IdXor, true),
        // Profile data that the profile does not use.
        (0, 1, Crc8Profile::None, false),
        (1, 2, Crc8Profile::Byte(0xA0), false),
        (3, 20, Crc8Profile::IdXor, false),
        (77, 0, Crc8Profile::None, false),
    ] {
        let read = decode(0, &with((CGW_CS_CRC8, crc8(profile, used)))).unwrap();
        assert_eq!(read.job().checksums.crc8, Some(crc8_with(expected)), "{profile}");
        assert_eq!(read.is_plain(), is_plain, "{profile} {used}");
    }
}

/// The bytes of a job come in the kernel's order of attributes, without a filter of zeros, with counters.
#[test]
fn the_kernels_order_makes_no_difference() {
    let mut job = plain(JobFlags::ECHO);
    (job.filter, job.hop_limit, job.uid) = (Filter::ALL, 1, 7);
    job.modifications.set.len = Some(3);
    let mut attributes = vec![(CGW_HANDLED, number(5)), (CGW_LIM_HOPS, vec![1])];
    let mut set = vec![0; 17];
    (set[4], set[16]) = (3, 2);
    attributes.extend([(CGW_MOD_SET, set), (CGW_MOD_UID, number(7))]);
    attributes.extend(ends());
    let read = decode(1, &attributes).unwrap();
    assert!(read.is_plain() && read.is_same_job(&ExactJob::from(job)));
    assert_eq!(read.job().counters.handled, 5);
}

#[test]
fn a_job_is_what_the_kernel_makes_of_it() {
    use candor_core::job::BusIndex;
    use candor_core::job::Job;

    let index = |number| InterfaceIndex::new(number).unwrap();
    let mut wanted = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL);
    wanted.uid = std::num::NonZeroU32::new(5);
    wanted.checksums.xor = Some(XorChecksum { span: ChecksumSpan { from: 0, to: 1, result: 2 }, init: 0 });
    wanted.modifications.set.flags = Some(4);
    let job = CangwJob::new(&wanted, index(1), index(2));
    assert_eq!((job.uid, job.checksums, job.modifications), (0, Checksums::NONE, Modifications::NONE));
    wanted.modifications.set.data = Some([9; 64]);
    let job = CangwJob::new(&wanted, index(1), index(2));
    assert_eq!((job.uid, job.checksums), (5, wanted.checksums));
    assert_eq!(job.modifications.set.data.unwrap()[7..9], [9, 0], "a classic frame has 8 bytes");
}
