//! Memory of compiled rule sets: no allocation per frame, and little per rule.

#[path = "../benches/sets.rs"]
mod sets;

use allocation_counter::measure;
use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, Frame, FrameFormat, RawId};
use candor_core::job::{BusIndex, Job, SendAs};
use candor_core::payload::PayloadPattern;
use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand};
use candor_core::ruleset::{Routed, RuleSet};
use sets::{BUSES, Kind};

const MANY: usize = 16_384;
/// Maximum size of a rule set with this number of rules, in bytes.
const LIMIT: u64 = 4 << 20;

/// A rule set and its size in bytes.
fn compiled(jobs: &[Job]) -> (u64, RuleSet) {
    let mut rules = None;
    let taken = measure(|| rules = Some(RuleSet::compile(jobs, BUSES)));
    (u64::try_from(taken.bytes_current).expect("not less than nothing"), rules.expect("measured"))
}

#[test]
fn routing_allocates_no_memory() {
    for kind in Kind::ALL {
        for count in [1, 300, MANY] {
            let jobs = kind.jobs(count);
            let (_, rules) = compiled(&jobs);
            let frames = kind.frames(&jobs);
            let mut fired = 0;
            let taken = measure(|| {
                for frame in &frames {
                    rules.from_bus(BusIndex(0)).outcomes(frame, |_, _| fired += 1);
                }
            });
            assert_eq!(taken.count_total, 0, "{} × {count}", kind.name());
            assert_eq!(fired, kind.fire(count) * frames.len());
        }
    }
}

/// Rare cases: many matching masks, payloads, conversions, deleted frames, error frames.
#[test]
fn rare_cases_allocate_no_memory() {
    let bus = |filter| Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, filter);
    let masked = |at: u32| Job { filter: Filter { id: 0, mask: 1 << (at * 7 % 29) }, ..bus(Filter::ALL) };
    let mut jobs: Vec<Job> = (0..600).map(masked).collect();
    let payload = PayloadPattern { mask: [0xFF; 64], value: [0; 64] };
    jobs.push(Job { payload: vec![payload], ..bus(Filter::ALL) });
    jobs.push(Job { send_as: Some(SendAs::Fd { bit_rate_switch: true }), ..bus(Filter::ALL) });
    jobs.push(bus(Filter { id: 0, mask: CAN_ERR_FLAG | CAN_EFF_MASK }));
    let mut deleting = bus(Filter { id: 0x123 | CAN_INV_FILTER, mask: 0x7FF });
    deleting.modifications.set.len = Some(16);
    jobs.push(deleting);
    let rules = RuleSet::compile(&jobs, 2);
    let ids = [0, 0x123, 0x8000_0123, 0x4000_0001, CAN_ERR_FLAG | 4, 0x9234_5678];
    let frames = ids.map(|id| Frame::classic(RawId(id), &[0; 8]).unwrap());
    let (mut sent, mut deleted) = (0, 0);
    let taken = measure(|| {
        for frame in &frames {
            rules.from_bus(BusIndex(0)).outcomes(frame, |_, routed| match routed {
                Routed::Send { .. } => sent += 1,
                Routed::Delete => deleted += 1,
            });
        }
    });
    assert_eq!(taken.count_total, 0);
    // FD has no remote frames, and one job excludes identifier 123.
    assert!(sent > 1500 && deleted == 4, "{sent} {deleted}");
}

#[test]
fn many_rules_take_less_than_4_mib() {
    for kind in Kind::ALL {
        let (bytes, _) = compiled(&kind.jobs(MANY));
        println!("{} × {MANY}: {bytes} bytes", kind.name());
        assert!(bytes < LIMIT, "{} takes {bytes} bytes", kind.name());
    }
}

/// Each rule has its own identifier, data bytes and CRC8, over one table.
#[test]
fn many_rules_with_distinct_changes_take_less_than_4_mib() {
    let span = ChecksumSpan { from: 0, to: 6, result: 7 };
    let table = std::array::from_fn(|at| at.to_le_bytes()[0].rotate_left(3));
    let own = |(at, mut job): (usize, Job)| {
        let [high, low] = u16::try_from(at).unwrap().to_be_bytes();
        let mut data = [0; 64];
        data[..2].copy_from_slice(&[high, low]);
        job.modifications.set.id = Some(u32::try_from(at).unwrap());
        job.modifications.or = Operand { data: Some(data), ..Operand::NONE };
        let profile = Crc8Profile::ByteByCounter([high ^ low; 16]);
        job.checksums.crc8 = Some(Crc8Checksum { span, init: low, final_xor: high, table, profile });
        job
    };
    let jobs: Vec<_> = Kind::MaskedExtended.jobs(MANY).into_iter().enumerate().map(own).collect();
    let (bytes, _) = compiled(&jobs);
    println!("distinct changes: {bytes} bytes");
    assert!(bytes < LIMIT, "{bytes} bytes");
}

#[test]
fn equal_changes_are_stored_once() {
    let changing = |job: Job| Job { send_as: Some(SendAs::Fd { bit_rate_switch: true }), ..job };
    let plain = Kind::ExactExtended.jobs(MANY);
    let equal: Vec<_> = plain.iter().cloned().map(changing).collect();
    let (without, _) = compiled(&plain);
    let (with, rules) = compiled(&equal);
    assert!(with < without + 256, "{with} bytes instead of {without}");
    let frame = Frame::classic(RawId(equal[0].filter.id), &[1]).unwrap();
    let mut format = None;
    rules.from_bus(BusIndex(0)).outcomes(&frame, |_, routed| {
        if let Routed::Send { frame, .. } = routed {
            format = Some(frame.format);
        }
    });
    assert_eq!(format, Some(FrameFormat::Fd));
}
