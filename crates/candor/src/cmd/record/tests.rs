use candor_core::frame::RawId;
use candor_recording::{ReadRecords as _, Record};

use super::*;

fn kept(at_ms: i64, id: u32) -> Kept {
    let frame = Frame { id: RawId(id), len: 8, ..Frame::EMPTY };
    Kept { at_ns: at_ms * 1_000_000, number: 0, direction: Direction::Received, frame }
}

/// Which frames are recorded, against a search over all of them.
#[test]
fn frames_around_triggers_are_recorded_once() {
    let (before, after) = (20, 30);
    for step in [1, 7, 19, 21, 29] {
        let times: Vec<i64> = (0..400).step_by(step).collect();
        let is_trigger = |at: i64| at > 50 && at % 133 < step as i64;
        let wanted = times.iter().filter(|at| {
            times.iter().any(|trigger| is_trigger(*trigger) && (trigger - before..=trigger + after).contains(*at))
        });
        let mut found = Vec::new();
        let mut around = Before::new(Duration::from_millis(20), Duration::from_millis(30));
        for at in &times {
            around.add(kept(*at, 0x123), is_trigger(*at), |kept| found.push(kept.at_ns / 1_000_000));
        }
        assert!(found.len() > 2 && found.len() < times.len(), "{step}: {found:?}");
        assert_eq!(found, wanted.copied().collect::<Vec<_>>(), "{step}");
    }
}

/// A recording can be read up to its last whole frame, wherever a crash cuts it.
#[test]
fn a_recording_can_be_cut_anywhere() {
    let mut bytes = Vec::new();
    pcapng::section(&mut bytes);
    pcapng::interface(&mut bytes, "powertrain", Some(500_000), CLOCK);
    let mut ends = Vec::new();
    for at in 0..5 {
        let one = kept(at, 0x100);
        let ns = u64::try_from(one.at_ns).unwrap();
        pcapng::packet_block(&mut bytes, 0, ns, &one.frame, Some(one.direction), "");
        ends.push(bytes.len());
    }
    pcapng::statistics(&mut bytes, 0, 5_000_000, 7, 2);
    for len in ends[0]..=bytes.len() {
        let mut reader = pcapng::Reader::new(&bytes[..len]);
        let (mut record, mut count) = (Record::EMPTY, 0_usize);
        while reader.read(&mut record).unwrap_or(false) {
            assert_eq!(record.at_ns, ends[..count].len() as i64 * 1_000_000);
            count += 1;
        }
        let whole = ends.iter().filter(|end| **end <= len).count();
        assert_eq!(count, whole, "{len}");
        assert_eq!(pcapng::packets(&bytes[..len]), whole as u64, "{len}");
        let end = pcapng::whole(&bytes[..len]);
        assert!(end == bytes.len() || ends.contains(&end), "{len}: {end}");
    }
}
