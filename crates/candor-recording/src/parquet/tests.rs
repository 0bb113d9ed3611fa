use std::io::{Cursor, Read, Seek, SeekFrom};

use super::*;
use crate::stream::ReadRecords as _;
use crate::testing::{BUSES, read_all, written};
use crate::{BusIndex, Format, ReadError};

/// A table of two row groups.
fn table() -> Vec<u8> {
    let frame: Frame = "123#1122".parse().unwrap();
    let record = |at: usize| Record { at_ns: i64::try_from(at).unwrap(), bus: BusIndex(1), frame, ..Record::EMPTY };
    written(Format::Parquet, &(0..ROWS + 10).map(record).collect::<Vec<_>>()).0
}

/// Rows of a page.
const PAGE: usize = 20_480;

/// Makes the times of a page unreadable from this byte on: the library panics on a number that does not end.
fn damage(bytes: &mut [u8], page: usize, from: usize) {
    // Differences of times begin with the size of a block, 256, and its parts, 4.
    let begins: Vec<usize> = (0..bytes.len() - 16).filter(|at| bytes[*at..].starts_with(&[0x80, 0x02, 4])).collect();
    bytes[begins[page] + from..][..16].fill(0xFF);
}

#[test]
fn rows_before_the_damage_are_read() {
    // The first time of a page is in its 9 bytes before the blocks. A block of 256 times has 5 bytes.
    let within = PAGE + 1 + 3 * 256;
    // The last page is that of the second group.
    for (page, from, wanted) in [(0, 0, 0), (1, 0, PAGE), (1, 9 + 3 * 5, within), (3, 0, 3 * PAGE), (4, 0, ROWS)] {
        let mut bytes = table();
        damage(&mut bytes, page, from);
        let (records, _, end) = read_all(Format::Parquet, &bytes);
        assert_eq!(records.len(), wanted);
        assert!(records.iter().zip(0..).all(|((bus, record), at)| bus == BUSES[1] && record.at_ns == at));
        let (row, end) = (wanted + 1, end.unwrap_err());
        assert!(end.starts_with(&format!("row {row}: the library of Parquet cannot read it (")), "{end}");
    }
}

/// A file on a disk that cannot be read from here on, its directory excepted.
struct Broken(Cursor<Vec<u8>>, u64);

impl Read for Broken {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let directory = self.0.get_ref().len() as u64 - 4000;
        if (self.1..directory).contains(&self.0.position()) {
            return Err(io::Error::other("a bad sector"));
        }
        self.0.read(bytes)
    }
}

impl Seek for Broken {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_disk_that_cannot_be_read_is_no_damage() {
    let mut reader = Reader::new(Broken(Cursor::new(table()), 100));
    let mut record = Record::EMPTY;
    let error = std::iter::from_fn(|| reader.read(&mut record).err()).next();
    assert!(matches!(error, Some(ReadError::Io(_))), "{error:?}");
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
