//! Bytes of a real kernel: `captured.hex` holds a dump of Linux 6.1.176 (user-mode Linux; Debian's 6.12.95 gives the
//! same), one job on a line, newest first, interface numbers made 1 and 2. The guest test `captures` makes the same jobs again and compares; it leaves a
//! new file in `CANDOR_OUT`. Byte order is that of the machine it was taken on.

use super::*;

const CAPTURED: &str = include_str!("captured.hex");

fn payloads() -> Vec<Vec<u8>> {
    let byte = |line: &str, at| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
    CAPTURED.lines().map(|line| (0..line.len()).step_by(2).map(|at| byte(line, at)).collect()).collect()
}

fn read(payload: &[u8]) -> ExactJob {
    ExactJob::decode(&Message { kind: RTM_NEWROUTE, flags: 2, sequence: 1, payload }).unwrap()
}

#[test]
#[cfg(target_endian = "little")]
fn what_a_kernel_lists_is_read_and_written_again() {
    let jobs: Vec<_> = payloads().iter().map(|payload| read(payload)).collect();
    assert_eq!(jobs.len(), 8);
    for (exact, payload) in jobs.iter().zip(payloads()) {
        assert!(exact.is_plain(), "the kernel adds nothing: {exact:?}");
        let job = exact.job();
        assert_eq!((job.source.number(), job.destination.number()), (1, 2));
        // The same attributes with the same values, apart from counters, which are not written.
        let attributes = |bytes: &[u8]| {
            let all = crate::codec::Attributes::new(&bytes[HEADER_BYTES..]).map(Result::unwrap);
            let mut all: Vec<_> = all.map(|one| (one.kind, one.value.to_vec())).collect();
            all.retain(|(kind, _)| ![CGW_HANDLED, CGW_DROPPED, CGW_DELETED].contains(kind));
            all.sort();
            all
        };
        let mut written = attributes(&job.to_bytes());
        written.retain(|(kind, value)| !(*kind == CGW_FILTER && value == &[0; 8]));
        assert_eq!(written, attributes(&payload));
    }
}

#[test]
#[cfg(target_endian = "little")]
fn the_values_are_those_that_were_given() {
    let jobs: Vec<_> = payloads().iter().rev().map(|payload| *read(payload).job()).collect();
    let counted = |at: usize| jobs[at].counters;
    let classic = JobCounters { handled: 1, dropped: 1, deleted: 0 };
    assert_eq!((jobs[0].filter, counted(0)), (Filter::ALL, classic));
    assert_eq!((jobs[1].flags, jobs[1].hop_limit, counted(1)), (JobFlags(7), 1, classic));
    assert_eq!((jobs[2].flags, counted(2)), (JobFlags::FD, JobCounters::default()));
    assert_eq!(jobs[2].modifications.set.flags, Some(4));
    assert_eq!(jobs[2].modifications.and.data.unwrap()[63], 64);
    assert_eq!((jobs[3].checksums.xor.unwrap().init, jobs[3].checksums.crc8), (0xA5, None));
    assert_eq!(jobs[3].modifications.or.id, Some(0x1000_0002));
    let profiles: Vec<_> = jobs[4..].iter().map(|job| job.checksums.crc8.unwrap().profile).collect();
    let by_counter = Crc8Profile::ByteByCounter(std::array::from_fn(|at| u8::try_from(at).unwrap()));
    assert_eq!(profiles, [Crc8Profile::None, Crc8Profile::Byte(0x2F), by_counter, Crc8Profile::IdXor]);
    assert_eq!((jobs[7].uid, jobs[6].uid), (0x1234_5678, 0));
}

/// A list of the kernel cut anywhere is an error or fewer jobs, never a panic or another job.
#[test]
fn a_captured_job_may_be_cut_anywhere() {
    for payload in payloads() {
        let whole = read(&payload);
        for len in 0..payload.len() {
            let cut = Message { kind: RTM_NEWROUTE, flags: 2, sequence: 1, payload: &payload[..len] };
            if let Ok(job) = ExactJob::decode(&cut) {
                assert!(!job.is_same_job(&whole) || payload.len() - len < 4, "{len}");
            }
            let mut writer = MessageWriter::new(RTM_NEWROUTE, 2);
            writer.header(&payload[..len]);
            invariants::check(&writer.finish(1));
        }
    }
}
