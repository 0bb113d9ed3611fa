//! Replays the corpora of the fuzz targets `recording_FORMAT`, with files cut short and with bytes changed.
//!
//! `CANDOR_BLESS=1` writes the files that candor writes itself; the others are of python-can 4.6.1.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;

use candor_core::random::SplitMix64;
use candor_recording::invariants::{Shared, check};
use candor_recording::{Buses, Clock, Direction, Format, Record, Sink};

const FRAMES: [&str; 8] = [
    "123#1122",
    "12345678#1122334455667788",
    "123#R4",
    "123#1122334455667788_9",
    "123##4001122",
    "12345678##7000102030405060708090A0B",
    "20000088#0000040000000000",
    "7FF#",
];

fn folder(format: Format) -> String {
    format!("{}/../../fuzz/corpus/recording_{}", env!("CARGO_MANIFEST_DIR"), format.name())
}

/// A file with a frame of each kind.
fn file(format: Format) -> Vec<u8> {
    let (shared, mut buses) = (Shared::default(), Buses::new());
    let indices = ["can0", "body"].map(|name| buses.index(name.as_bytes()).unwrap());
    let mut sink = Sink::new(format, shared.clone());
    for (at, frame) in FRAMES.iter().enumerate() {
        let record = Record {
            at_ns: 1_700_000_000_123_456_789 + i64::try_from(at).unwrap() * 1_000_000,
            clock: Clock::Unix,
            bus: indices[at % 2],
            direction: [Some(Direction::Received), Some(Direction::Sent), None][at % 3],
            frame: frame.parse().unwrap(),
        };
        sink.write(&record, &buses).unwrap();
    }
    sink.finish().unwrap();
    shared.take()
}

#[test]
fn the_corpora_keep_the_invariants() {
    for format in Format::all() {
        let folder = folder(format);
        if std::env::var_os("CANDOR_BLESS").is_some() {
            fs::write(format!("{folder}/candor"), file(format)).unwrap();
        }
        let mut random = SplitMix64::new(30);
        let mut count = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            (0..bytes.len()).step_by(13).chain([bytes.len()]).for_each(|end| check(format, &bytes[..end]));
            for _ in 0..300 {
                let mut changed = bytes.clone();
                for _ in 0..1 + random.below(4) {
                    let at = random.below(changed.len());
                    changed[at] = u8::try_from(random.below(256)).unwrap();
                }
                check(format, &changed);
            }
            count += 1;
        }
        assert!(count >= 1, "{folder} is empty");
    }
}
