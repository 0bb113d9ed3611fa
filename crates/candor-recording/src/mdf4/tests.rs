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
