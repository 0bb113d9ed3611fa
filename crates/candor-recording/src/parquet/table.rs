//! The rows of a table.

use std::io::{Read, Seek};

use parquet::basic::Compression;
use parquet::file::reader::FileReader as _;
use parquet::file::serialized_reader::SerializedFileReader;

use super::columns::Columns;
use super::file::Shared;
use super::footer;
use super::schema::COLUMNS;
use super::thread::{End, Output};
use crate::{Place, ReadError};

const MAGIC: &[u8; 4] = b"PAR1";
/// The length of the directory and the magic after it.
const TAIL_BYTES: u64 = 8;

/// Rows that are read at once. The library says nothing about those before the damage among them.
const BATCH: u64 = 1024;

/// Reads the table and hands over its rows. After `row_by_row` rows, which are not handed over again, each row is read alone.
pub(super) fn read<R>(file: Shared<R>, row_by_row: Option<u64>, output: &Output) -> Result<(), End>
where
    R: Read + Seek + Send + 'static,
{
    let bad = |why: String| ReadError::Bad { at: Place::Byte(0), why };
    check(&file)?;
    let reader = SerializedFileReader::new(file).map_err(|error| match End::from(error) {
        End::Stopped(why) => bad(why).into(),
        other => other,
    })?;
    let places = places(&reader).map_err(bad)?;
    let others = reader.metadata().file_metadata().schema_descr().num_columns().saturating_sub(COLUMNS.len());
    if others > 0 {
        output.skip("columns of signals left out", others as u64)?;
    }
    let mut row = 0_u64;
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number)?;
        let rows = group.metadata().num_rows();
        let mut left = u64::try_from(rows).map_err(|_few| End::Stopped(format!("a group of {rows} rows")))?;
        if row_by_row.is_some_and(|given| row.saturating_add(left) <= given) {
            row += left;
            continue;
        }
        let mut columns = Columns::open(&*group, places)?;
        while left > 0 {
            let most = row_by_row.map_or(BATCH, |given| given.saturating_sub(row).clamp(1, BATCH));
            let count = left.min(most);
            columns.fill(usize::try_from(count).unwrap_or(usize::MAX))?;
            for _ in 0..count {
                let values = columns.row();
                if row_by_row.is_none_or(|given| row >= given) {
                    output.row(values)?;
                }
                row += 1;
            }
            left -= count;
        }
    }
    Ok(())
}

/// Looks at the beginning and the directory of a file before the library does.
fn check<R: Read + Seek>(file: &Shared<R>) -> Result<(), End> {
    let bad = |why: &str| End::from(ReadError::Bad { at: Place::Byte(0), why: why.to_owned() });
    let mut magic = [0; 4];
    if file.len >= TAIL_BYTES {
        file.fill(0, &mut magic)?;
    }
    if magic != *MAGIC {
        return Err(bad("the file does not begin with PAR1"));
    }
    let mut tail = [0; 8];
    file.fill(file.len - TAIL_BYTES, &mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != *MAGIC {
        let what = "the table, which can only be read with its end";
        return Err(ReadError::Cut { at: Place::Byte(file.len), what }.into());
    }
    let len = u32::from_le_bytes([a, b, c, d]);
    let begin = file.len.checked_sub(TAIL_BYTES + u64::from(len)).ok_or_else(|| bad("the directory is too long"))?;
    let mut directory = vec![0; len as usize];
    file.fill(begin, &mut directory)?;
    footer::check(&directory).map_err(|why| bad(&format!("the directory: {why}")))
}

/// The number of each column.
fn places<R>(reader: &SerializedFileReader<Shared<R>>) -> Result<[usize; COLUMNS.len()], String>
where
    R: Read + Seek + Send + 'static,
{
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut places = [0; COLUMNS.len()];
    for ((name, kind), place) in COLUMNS.into_iter().zip(&mut places) {
        let at = schema.columns().iter().position(|column| column.path().parts() == [name]);
        *place = at.ok_or_else(|| format!("the table has no column {name}"))?;
        let column = schema.column(*place);
        if !kind.fits(&column) {
            let (physical, converted) = (column.physical_type(), column.converted_type());
            let wanted = kind.name();
            return Err(format!("the column {name} has values of type {physical} ({converted}), not {wanted}"));
        }
        for group in reader.metadata().row_groups() {
            let of_group = group.columns().get(*place).ok_or_else(|| format!("a group has no column {name}"))?;
            let compression = of_group.compression();
            if !matches!(compression, Compression::UNCOMPRESSED | Compression::SNAPPY) {
                let compression = compression.to_string();
                let compression = compression.split('(').next().unwrap_or_default();
                let way = "write it with Snappy or without compression";
                return Err(format!("the column {name} is compressed with {compression}; {way}"));
            }
        }
    }
    Ok(places)
}
