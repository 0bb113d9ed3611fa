//! What tests of several formats need.

use std::io::Cursor;

use candor_core::arbitrary;
use candor_core::frame::{CAN_ERR_FLAG, Frame, RawId};
use proptest::prelude::*;

use crate::invariants::Shared;
use crate::{BusIndex, BusNames, Buses, Clock, Counts, Direction, Format, Record, Sink};

/// The records of a file with their buses, what was left out, and why reading ended.
pub(crate) fn read_all(format: Format, bytes: &[u8]) -> (Vec<(String, Record)>, Counts, Result<(), String>) {
    let mut reader = format.reader(Cursor::new(bytes.to_vec()));
    let (mut records, mut record) = (Vec::new(), Record::EMPTY);
    let end = loop {
        match reader.read(&mut record) {
            Ok(true) => records.push((reader.buses().name(record.bus).to_owned(), record)),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
    };
    (records, reader.skipped().clone(), end)
}

/// `1.000000000 can0 123#11 Rx`.
pub(crate) fn texts(records: &[(String, Record)]) -> Vec<String> {
    let text = |(bus, one): &(String, Record)| {
        let direction = one.direction.map(|direction| format!(" {}", direction.name())).unwrap_or_default();
        format!("{}.{:09} {bus} {}{direction}", one.at_ns / 1_000_000_000, one.at_ns % 1_000_000_000, one.frame)
    };
    records.iter().map(text).collect()
}

pub(crate) const BUSES: [&str; 3] = ["can0", "body", "can7"];

/// The buses of [`records`].
pub(crate) fn buses() -> Buses {
    let mut buses = Buses::new();
    for name in BUSES {
        buses.index(name.as_bytes()).unwrap();
    }
    buses
}

/// Writes records with these buses; the bytes and what was lost.
pub(crate) fn written(format: Format, records: &[Record]) -> (Vec<u8>, Counts) {
    let shared = Shared::default();
    let mut sink = Sink::new(format, shared.clone());
    let buses = buses();
    records.iter().for_each(|record| sink.write(record, &buses).unwrap());
    let lost = sink.finish().unwrap();
    (shared.take(), lost)
}

/// Records in the order of their times, of all kinds of frames.
pub(crate) fn records() -> impl Strategy<Value = Vec<Record>> {
    let error = (1..0x2000_0000_u32, any::<[u8; 8]>())
        .prop_map(|(class, data)| Frame::classic(RawId(class | CAN_ERR_FLAG), &data).unwrap());
    let frame = prop_oneof![6 => arbitrary::wire_frame(), 1 => error];
    let direction = prop_oneof![Just(None), Just(Some(Direction::Received)), Just(Some(Direction::Sent))];
    let record = (frame, direction, 0..3_u16, prop_oneof![0..2_000_000_i64, 0..5_000_000_000_i64]);
    let start = prop_oneof![
        Just((Clock::Start, 0)),
        (Just(Clock::Unix), 631_152_000_000_000_000_i64..2_000_000_000_000_000_000)
    ];
    (start, prop::collection::vec(record, 0..30)).prop_map(|((clock, start_ns), parts)| {
        let mut at_ns = start_ns;
        let record = |(frame, direction, bus, step_ns)| {
            at_ns += step_ns;
            Record { at_ns, clock, bus: BusIndex(bus), direction, frame }
        };
        parts.into_iter().map(record).collect()
    })
}

/// What a format should give back of records.
pub(crate) fn expected(format: Format, records: &[Record]) -> Vec<(String, Record)> {
    let (limits, buses) = (format.limits(), buses());
    let mut numbers: Vec<(BusIndex, u16)> = Vec::new();
    let mut lost = Counts::new();
    let fitted = records.iter().copied().filter_map(|mut one| limits.fit(&mut one, &mut lost).then_some(one));
    let named = fitted.map(|record| {
        let name = buses.name(record.bus).to_owned();
        let name = match limits.buses {
            BusNames::Names => name,
            // `can0` and `can7` keep their names unless another has the number.
            BusNames::Numbers(_) => {
                let number = numbers.iter().find(|(bus, _)| *bus == record.bus).map(|(_, number)| *number);
                let number = number.unwrap_or_else(|| {
                    let is_used = |wanted: u16| numbers.iter().any(|(_, number)| *number == wanted);
                    let wanted = name.strip_prefix("can").map(|digits| digits.parse::<u16>().unwrap());
                    let chosen = wanted.filter(|it| !is_used(*it)).or_else(|| (0..).find(|it| !is_used(*it))).unwrap();
                    numbers.push((record.bus, chosen));
                    chosen
                });
                format!("can{number}")
            }
        };
        (name, record)
    });
    named.collect()
}

/// Requires that records survive being written and read as far as the limits of the format say.
pub(crate) fn check_round_trip(format: Format, records: &[Record]) -> Result<(), TestCaseError> {
    let (bytes, _) = written(format, records);
    let (found, skipped, end) = read_all(format, &bytes);
    prop_assert_eq!(end, Ok(()));
    prop_assert!(skipped.is_empty());
    let strip = |records: &[(String, Record)]| -> Vec<_> {
        records.iter().map(|(bus, one)| (bus.clone(), Record { bus: BusIndex(0), ..*one })).collect()
    };
    prop_assert_eq!(strip(&found), strip(&expected(format, records)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn each_format_gives_back_what_it_can_hold(records in records()) {
        for format in Format::all() {
            check_round_trip(format, &records).map_err(|error| TestCaseError::fail(format!("{}: {error}", format.name())))?;
        }
    }

    #[test]
    fn a_cut_file_gives_what_is_before(records in records(), part: prop::sample::Index) {
        for format in Format::all() {
            let (bytes, _) = written(format, &records);
            let whole = read_all(format, &bytes).0;
            let cut = part.index(bytes.len() + 1);
            let (found, skipped, end) = read_all(format, &bytes[..cut]);
            prop_assert!(skipped.is_empty());
            prop_assert!(whole.starts_with(&found), "{}", format.name());
            // The end of an ASC file is marked; only the newline after it may be missing.
            if format == Format::Asc && cut + 1 < bytes.len() {
                prop_assert!(end.is_err(), "{} of {} bytes", cut, bytes.len());
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in Format::all() {
            crate::invariants::check(format, &bytes);
        }
    }
}
