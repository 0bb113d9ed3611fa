use super::write::{Blocks, channel, id_block};
use super::*;
use crate::testing::{read_all, texts, written};
use crate::{BusIndex, Clock, Direction, Format, Record};

fn records(count: i64) -> Vec<Record> {
    let frames = ["123#1122", "12345678##7AABB", "123#R4", "20000088#0000040000000000"];
    let record = |at: i64| Record {
        at_ns: 1_700_000_000_000_000_000 + at,
        clock: Clock::Unix,
        bus: BusIndex(0),
        direction: (at % 4 != 3).then_some(Direction::Sent),
        frame: frames[usize::try_from(at % 4).unwrap()].parse().unwrap(),
    };
    (0..count).map(record).collect()
}

/// A file whose recording was killed.
#[test]
fn a_file_that_was_not_finalised_is_read() {
    let (mut bytes, _) = written(Format::Mdf4, &records(40));
    let (whole, ..) = read_all(Format::Mdf4, &bytes);
    let at = bytes.windows(4).position(|part| part == b"##DT").unwrap();
    bytes[at + 8..at + 16].copy_from_slice(&24_u64.to_le_bytes());
    bytes[..8].copy_from_slice(b"UnFinMF ");
    let (found, skipped, end) = read_all(Format::Mdf4, &bytes);
    assert_eq!((found, end), (whole.clone(), Ok(())));
    assert_eq!(skipped.iter().count(), 1);
    let (found, _, end) = read_all(Format::Mdf4, &bytes[..bytes.len() - 5]);
    assert_eq!(texts(&found), texts(&whole[..39]));
    assert_eq!(end, Err(format!("byte {at}: the file ends within a block of data")));
}

#[test]
fn damage_is_named_with_its_byte() {
    let (bytes, _) = written(Format::Mdf4, &records(4));
    let end = |bytes: &[u8]| read_all(Format::Mdf4, bytes).2.unwrap_err();
    assert_eq!(end(&bytes[..10]), "byte 0: the file ends within the first block");
    assert_eq!(end(&bytes[..100]), "byte 64: the file ends within the blocks that describe it");
    let changed = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        end(&bytes)
    };
    assert_eq!(changed(0, b'X'), "byte 0: the file does not begin with MDF");
    assert_eq!(changed(28, 0), "byte 0: MDF of version 256; known are those from 400");
    assert_eq!(changed(66, b'X'), "byte 64: a block of kind XD in place of HD");
    let data = bytes.windows(4).position(|part| part == b"##DT").unwrap();
    assert_eq!(changed(data + 24, 9), format!("byte {data}: a record has the unknown number 9"));
    // A group that comes after itself.
    let group = bytes.windows(4).position(|part| part == b"##DG").unwrap();
    let mut circle = bytes.clone();
    circle[group + 24..group + 32].copy_from_slice(&(group as u64).to_le_bytes());
    assert!(end(&circle).ends_with("more than 64 groups of frames"));
    let channel = bytes.windows(4).position(|part| part == b"##CN").unwrap();
    let mut circle = bytes;
    circle[channel + 24..channel + 32].copy_from_slice(&(channel as u64).to_le_bytes());
    assert!(end(&circle).ends_with("more than 10000 channels, or links in a circle"));
}

/// Where data of variable length is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Block,
    RecordsBefore,
    RecordsAfter,
    /// In the record, with room for the longest.
    Here,
}

/// A file of frames with the identifiers 100 and on, and these data bytes.
fn variable(place: Place, frames: &[&[u8]]) -> Vec<u8> {
    let mut file = Blocks { bytes: id_block(false) };
    let head = file.block(b"HD", &[0; 6], &[0; 32]);
    let name = file.text(b"TX", "CAN");
    let source = file.block(b"SI", &[name, name, 0], &[SOURCE_BUS, BUS_CAN, 0, 0, 0, 0, 0, 0]);
    let is_unsorted = matches!(place, Place::RecordsBefore | Place::RecordsAfter);
    let data_group = file.block(b"DG", &[0; 4], &[u8::from(is_unsorted), 0, 0, 0, 0, 0, 0, 0]);
    file.link(head, 0, data_group);
    let room = if place == Place::Here { 64 } else { 8 };
    let group = |number: u64, flags: u16, bytes: u32| {
        [&number.to_le_bytes()[..], &[0; 8], &flags.to_le_bytes(), b".\0", &[0; 4], &bytes.to_le_bytes(), &[0; 4]]
            .concat()
    };
    let frames_group = file.block(b"CG", &[0, 0, name, source, 0, 0], &group(1, CG_BUS_EVENT, 14 + room));
    file.link(data_group, 1, frames_group);
    let values_group = file.block(b"CG", &[0; 6], &group(2, CG_VLSD, 0));
    if is_unsorted {
        file.link(frames_group, 0, values_group);
    }
    let name = file.text(b"TX", "Timestamp");
    let mut before = file.block(b"CN", &[0, 0, name, 0, 0, 0, 0, 0], &channel(CHANNEL_MASTER, UNSIGNED, 0, 64, 0));
    file.link(frames_group, 1, before);
    let kind = if place == Place::Here { CHANNEL_MAX_LENGTH } else { CHANNEL_VARIABLE };
    let mut bytes_channel = 0;
    for (part, kind, data_type, at, bits) in [
        ("", CHANNEL_FIXED, BYTES, 8, 8 * (6 + room)),
        (".ID", CHANNEL_FIXED, UNSIGNED, 8, 32),
        (".DataLength", CHANNEL_FIXED, UNSIGNED, 12, 8),
        (".EDL", CHANNEL_FIXED, UNSIGNED, 13, 8),
        (".DataBytes", kind, BYTES, 14, 8 * room),
    ] {
        let name = file.text(b"TX", &format!("CAN_DataFrame{part}"));
        let one = file.block(b"CN", &[0, 0, name, 0, 0, 0, 0, 0], &channel(kind, data_type, at, bits, 0));
        file.link(before, 0, one);
        (before, bytes_channel) = (one, one);
    }
    let (mut data, mut values) = (Vec::new(), Vec::new());
    for (at, bytes) in frames.iter().enumerate() {
        let value = [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat();
        let (at, len) = (at as u64, u8::try_from(bytes.len()).unwrap());
        let id = u32::try_from(0x100 + at).unwrap().to_le_bytes();
        let mut record = [&at.to_le_bytes()[..], &id, &[len, u8::from(len > 8)]].concat();
        match place {
            Place::Here => {
                record.extend(*bytes);
                record.resize(14 + 64, 0);
            }
            _ => record.extend((values.len() as u64).to_le_bytes()),
        }
        let parts: &[&[u8]] = match place {
            Place::Block | Place::Here => &[&record],
            Place::RecordsBefore => &[&[2], &value, &[1], &record],
            Place::RecordsAfter => &[&[1], &record, &[2], &value],
        };
        data.extend(parts.concat());
        values.extend(value);
    }
    let records = file.block(b"DT", &[], &data);
    file.link(data_group, 2, records);
    let elsewhere = if place == Place::Block { file.block(b"SD", &[], &values) } else { values_group };
    if place != Place::Here {
        file.link(bytes_channel, 5, elsewhere);
    }
    file.bytes
}

#[test]
fn data_of_variable_length_is_read() {
    let long: Vec<u8> = (0..64).collect();
    let frames: [&[u8]; 5] = [&[0x11, 0x22], &[], &long, &[1; 8], &[0xAA]];
    let digits: String = long.iter().map(|byte| format!("{byte:02X}")).collect();
    let wanted = ["100#1122", "101#", &format!("102##4{digits}"), "103#0101010101010101", "104#AA"];
    for place in [Place::Block, Place::RecordsBefore, Place::RecordsAfter, Place::Here] {
        let bytes = variable(place, &frames);
        let (found, skipped, end) = read_all(Format::Mdf4, &bytes);
        assert_eq!((end, skipped.is_empty()), (Ok(()), true), "{place:?}");
        let found: Vec<_> = found.iter().map(|(_, record)| record.frame.to_string()).collect();
        assert_eq!(found, wanted, "{place:?}");
        // Cut at any place: what is whole, and an error.
        for cut in 0..bytes.len() {
            let (found, _, end) = read_all(Format::Mdf4, &bytes[..cut]);
            assert!(found.len() <= frames.len() && end.is_err(), "{place:?}: {cut} of {}", bytes.len());
            for (at, (_, record)) in found.iter().enumerate() {
                assert_eq!(record.frame.to_string(), wanted[at], "{place:?}: {cut}");
            }
        }
    }
}

#[test]
fn wrong_offsets_of_data_are_errors() {
    for (place, wanted) in [
        (Place::Block, "data bytes at the offset 1 are before those of the frame before, which end at 6"),
        (Place::RecordsBefore, "no data bytes are at the offset 1"),
        (Place::RecordsAfter, "no data bytes are at the offset 1"),
    ] {
        let mut bytes = variable(place, &[&[0x11, 0x22], &[0x33]]);
        // The offset of the second frame.
        let at = bytes.windows(8).rposition(|part| part == 6_u64.to_le_bytes()).unwrap();
        bytes[at] = 1;
        let (found, _, end) = read_all(Format::Mdf4, &bytes);
        assert_eq!(found.len(), 1, "{place:?}");
        assert!(end.as_ref().is_err_and(|error| error.ends_with(wanted)), "{place:?}: {end:?}");
    }
}

#[test]
fn changed_bytes_of_variable_length_keep_the_invariants() {
    let mut random = candor_core::random::SplitMix64::new(30);
    for place in [Place::Block, Place::RecordsBefore, Place::RecordsAfter] {
        let bytes = variable(place, &[&[0x11, 0x22], &[0x33], &[]]);
        for _ in 0..1000 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(changed.len());
                changed[at] = u8::try_from(random.below(256)).unwrap();
            }
            crate::invariants::check(Format::Mdf4, &changed);
        }
    }
}
