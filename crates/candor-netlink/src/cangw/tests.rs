use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, XorChecksum};
use candor_io::can::InterfaceIndex;
use proptest::prelude::*;

use super::*;
use crate::codec::{Message, MessageWriter, Messages};

mod attributes;
mod captured;

fn plain(flags: JobFlags) -> CangwJob {
    let [source, destination] = [3, 4].map(|index| InterfaceIndex::new(index).unwrap());
    CangwJob { flags, ..CangwJob::plain(source, destination, Filter { id: 0x123, mask: 0xC000_07FF }) }
}

/// Derived by hand from `struct rtcanmsg`, `struct nlattr` and the attribute table in `can/gw.h`; little endian.
/// The command would be `cangw -A -s IF3 -d IF4 -e -f 123:C00007FF -l 1 -m SET:L:0.9.0000000000000000`.
#[test]
#[cfg(target_endian = "little")]
fn a_classic_job_has_these_bytes() {
    let mut job = plain(JobFlags::ECHO);
    job.hop_limit = 1;
    job.modifications.set.len = Some(9);
    job.checksums.xor = Some(XorChecksum { span: ChecksumSpan { from: 0, to: -2, result: -1 }, init: 0xA5 });
    #[rustfmt::skip]
    let expected = [
        29, 1, 1, 0,
        21, 0, 4, 0,  0, 0, 0, 0,  9, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,  2,  0, 0, 0,
        8, 0, 5, 0,  0, 0xFE, 0xFF, 0xA5,
        5, 0, 13, 0,  1, 0, 0, 0,
        12, 0, 11, 0,  0x23, 1, 0, 0,  0xFF, 7, 0, 0xC0,
        8, 0, 9, 0,  3, 0, 0, 0,
        8, 0, 10, 0,  4, 0, 0, 0,
    ];
    assert_eq!(job.to_bytes(), expected);
}

/// `cangw -A -s IF3 -d IF4 -X -f 123:C00007FF -M AND:F:0.0.3.0…0`: the FD struct is 72 bytes and one.
#[test]
#[cfg(target_endian = "little")]
fn an_fd_job_uses_the_fd_attributes() {
    let mut job = plain(JobFlags::FD);
    job.modifications.and.flags = Some(3);
    let bytes = job.to_bytes();
    assert_eq!(bytes[..8], [29, 1, 8, 0, 77, 0, 15, 0]);
    assert_eq!(bytes[8 + 5], 3, "flags follow id and length");
    assert_eq!(bytes[8 + 72], 8, "CGW_MOD_FLAGS");
    assert_eq!(bytes.len(), 4 + 80 + 12 + 8 + 8);
}

/// A dump adds counters, leaves out those that are 0, and leaves out a filter of zeros.
#[test]
fn counters_that_are_left_out_are_zero() {
    let mut writer = MessageWriter::new(RTM_NEWROUTE, 0);
    writer.header(&[AF_CAN, CGW_TYPE_CAN_CAN, 0, 0]);
    writer.attribute(CGW_HANDLED, &77_u32.to_ne_bytes());
    writer.attribute(CGW_SRC_IF, &3_u32.to_ne_bytes()).attribute(CGW_DST_IF, &4_u32.to_ne_bytes());
    let bytes = writer.finish(1);
    let job = CangwJob::decode(&Messages::new(&bytes).next().unwrap().unwrap()).unwrap();
    assert_eq!(job.counters, JobCounters { handled: 77, dropped: 0, deleted: 0 });
    assert_eq!(job.filter, Filter::ALL);
    assert!(job.is_same_job(&CangwJob { filter: Filter::ALL, ..plain(JobFlags::default()) }));
}

#[test]
fn a_job_without_interfaces_is_an_error() {
    assert!(CangwJob::from_bytes(&[29, 1, 0, 0]).is_err());
    assert!(CangwJob::from_bytes(&[29]).is_err());
}

fn operand(format: FrameFormat) -> impl Strategy<Value = Operand> {
    let fields =
        (any::<Option<u32>>(), any::<Option<u8>>(), any::<Option<u8>>(), proptest::option::of(any::<[u8; 32]>()));
    fields.prop_map(move |(id, len, flags, bytes)| Operand {
        id,
        len,
        flags: flags.filter(|_| format == FrameFormat::Fd),
        data: bytes.map(|bytes| {
            let mut data = [0; 64];
            let used = format.max_len().min(bytes.len());
            data[..used].copy_from_slice(&bytes[..used]);
            data
        }),
    })
}

fn span() -> impl Strategy<Value = ChecksumSpan> {
    any::<[i8; 3]>().prop_map(|[from, to, result]| ChecksumSpan { from, to, result })
}

fn checksums() -> impl Strategy<Value = Checksums> {
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::Byte),
        any::<[u8; 16]>().prop_map(Crc8Profile::ByteByCounter),
        Just(Crc8Profile::IdXor),
    ];
    let crc8 = (span(), any::<[u8; 3]>(), profile).prop_map(|(span, [init, final_xor, seed], profile)| {
        let table = std::array::from_fn(|i| seed.wrapping_mul(u8::try_from(i).unwrap()));
        Crc8Checksum { span, init, final_xor, table, profile }
    });
    let xor = (span(), any::<u8>()).prop_map(|(span, init)| XorChecksum { span, init });
    (proptest::option::of(crc8), proptest::option::of(xor)).prop_map(|(crc8, xor)| Checksums { crc8, xor })
}

fn job() -> impl Strategy<Value = CangwJob> {
    (any::<u16>(), any::<[u32; 5]>(), any::<u8>(), checksums()).prop_flat_map(
        |(flags, numbers, hop_limit, checksums)| {
            let flags = JobFlags(flags);
            let [source, destination, id, mask, uid] = numbers;
            let format = flags.format();
            (operand(format), operand(format), operand(format), operand(format)).prop_map(move |(and, or, xor, set)| {
                let [source, destination] =
                    [source, destination].map(|index| InterfaceIndex::new(index.max(1)).unwrap());
                let modifications = Modifications { and, or, xor, set };
                let plain = CangwJob::plain(source, destination, Filter { id, mask });
                CangwJob { flags, hop_limit, uid, modifications, checksums, ..plain }
            })
        },
    )
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(job in job()) {
        prop_assert_eq!(CangwJob::from_bytes(&job.to_bytes()), Ok(job));
    }

    #[test]
    fn garbage_never_panics(payload in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = CangwJob::from_bytes(&payload);
    }

    /// Valid jobs with a few bytes changed reach the decoder deeper than noise does.
    #[test]
    fn damaged_jobs_never_panic(job in job(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut payload = job.to_bytes();
        for (index, byte) in changes {
            let at = index.index(payload.len());
            payload[at] = byte;
        }
        let _ = CangwJob::decode(&Message { kind: RTM_NEWROUTE, flags: 0, sequence: 0, payload: &payload });
        let mut writer = MessageWriter::new(RTM_NEWROUTE, 0);
        writer.header(&payload);
        invariants::check(&writer.finish(1));
    }
}
