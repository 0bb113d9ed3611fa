use std::num::NonZeroU32;

use super::*;
use crate::job::BusIndex;
use crate::rule::{Checksums, Modifications};

fn job(filter: &str) -> Job {
    Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::parse(filter).unwrap())
}

fn line(job: &Job) -> String {
    cangw_arguments(job, "can0", "vcan3").join(" ")
}

fn data(bytes: &[u8]) -> Option<[u8; 64]> {
    let mut data = [0; 64];
    data[..bytes.len()].copy_from_slice(bytes);
    Some(data)
}

#[test]
fn plain_jobs() {
    assert_eq!(line(&job("000:000")), "-A -s can0 -d vcan3");
    assert_eq!(line(&job("123")), "-A -s can0 -d vcan3 -f 123:C00007FF");
    assert_eq!(line(&job("12345678~DFFFFFFF")), "-A -s can0 -d vcan3 -f 92345678~DFFFFFFF");
    let full = Job {
        format: FrameFormat::Fd,
        echo: Echo::On,
        timestamp: Timestamp::Kept,
        incoming: Incoming::Allowed,
        hop_limit: Some(3),
        uid: NonZeroU32::new(0xABCD),
        ..job("123:7FF")
    };
    assert_eq!(line(&full), "-A -s can0 -d vcan3 -X -e -t -i -f 123:7FF -l 3");
    let or = Operand { flags: Some(1), ..Operand::NONE };
    let changed = Job { modifications: Modifications { or, ..Modifications::NONE }, ..full };
    let uid = "-A -s can0 -d vcan3 -X -e -t -i -f 123:7FF -l 3 -u ABCD -M OR:F:000.1.0.";
    assert_eq!(line(&changed), format!("{uid}{}", "00".repeat(64)), "a uid needs a modification");
}

/// The example in cangw's own help.
#[test]
fn classic_modifications() {
    let set = Operand { id: Some(0x333), len: Some(4), data: None, flags: None };
    let with_set = Job { modifications: Modifications { set, ..Modifications::default() }, ..job("123") };
    assert_eq!(line(&with_set), "-A -s can0 -d vcan3 -f 123:C00007FF -m SET:IL:333.4.0000000000000000");

    let and = Operand { data: data(&[0xFF, 0xF0]), len: Some(0xF), ..Operand::default() };
    let or = Operand { id: Some(0x8000_0000), ..Operand::default() };
    let all = Job { modifications: Modifications { and, or, xor: and, set }, ..job("0:0") };
    assert_eq!(
        line(&all),
        "-A -s can0 -d vcan3 -m AND:LD:000.F.FFF0000000000000 -m OR:I:80000000.0.0000000000000000 \
         -m XOR:LD:000.F.FFF0000000000000 -m SET:IL:333.4.0000000000000000"
    );
}

#[test]
fn fd_modifications_have_flags_before_the_length() {
    let set = Operand { id: Some(0x7), flags: Some(1), len: Some(0x40), data: data(&[0xAB]) };
    let fd =
        Job { format: FrameFormat::Fd, modifications: Modifications { set, ..Modifications::default() }, ..job("0:0") };
    assert_eq!(line(&fd), format!("-A -s can0 -d vcan3 -X -M SET:IFLD:007.1.40.AB{}", "00".repeat(63)));
}

#[test]
fn checksums_come_with_a_modification_only() {
    let span = ChecksumSpan { from: 0, to: -2, result: -1 };
    let crc8 = |profile| Crc8Checksum { span, init: 0xFF, final_xor: 0, table: [0x1D; 256], profile };
    let with = |profile| Job {
        checksums: Checksums { crc8: Some(crc8(profile)), xor: Some(XorChecksum { span, init: 0xA }) },
        ..job("0:0")
    };
    assert_eq!(line(&with(Crc8Profile::None)), "-A -s can0 -d vcan3");

    let or = Operand { data: data(&[]), ..Operand::default() };
    let modified = |profile| Job { modifications: Modifications { or, ..Modifications::default() }, ..with(profile) };
    let start = format!(
        "-A -s can0 -d vcan3 -m OR:D:000.0.0000000000000000 -x 0:-2:-1:0A -c 0:-2:-1:FF:00:{}",
        "1D".repeat(256)
    );
    assert_eq!(line(&modified(Crc8Profile::None)), start);
    assert_eq!(line(&modified(Crc8Profile::Byte(0x2F))), format!("{start} -p 1:2F"));
    let table: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
    assert_eq!(
        line(&modified(Crc8Profile::ByteByCounter(table))),
        format!("{start} -p 2:000102030405060708090A0B0C0D0E0F")
    );
    assert_eq!(line(&modified(Crc8Profile::IdXor)), format!("{start} -p 3:"));
}
