use super::*;
use crate::testing::{read_all, written};
use crate::{BusIndex, Format};

/// A table of two row groups.
fn table() -> Vec<u8> {
    let frame: Frame = "123#1122".parse().unwrap();
    let record = |at: usize| Record { at_ns: i64::try_from(at).unwrap(), bus: BusIndex(1), frame, ..Record::EMPTY };
    written(Format::Parquet, &(0..ROWS + 10).map(record).collect::<Vec<_>>()).0
}

#[test]
fn rows_before_a_damaged_group_are_read() {
    let mut bytes = table();
    // Differences of times begin with the size of a block, 256, and its parts, 4. The library panics on a number that does not end.
    let begin = bytes.windows(3).rposition(|part| part == [0x80, 0x02, 4]).unwrap();
    bytes[begin..begin + 16].fill(0xFF);
    let (records, _, end) = read_all(Format::Parquet, &bytes);
    assert_eq!(records.len(), ROWS);
    let end = end.unwrap_err();
    assert!(end.starts_with("row 65537: "), "{end}");
}

#[test]
fn a_file_that_is_cut_or_another_one_is_told() {
    let bytes = table();
    let cut = bytes.len() - 1;
    let wanted = format!("byte {cut}: the file ends within the table, which can only be read with its end");
    assert_eq!(read_all(Format::Parquet, &bytes[..cut]).2, Err(wanted));
    for other in [&b""[..], b"PAR", b"nothing at all"] {
        let wanted = "byte 0: the file does not begin with PAR1".to_owned();
        assert_eq!(read_all(Format::Parquet, other).2, Err(wanted));
    }
}
