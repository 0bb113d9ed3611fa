//! Rows of a Parquet file.

use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader as _, Length};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use super::pages::Checked;
use super::thread::{self, Rows};
use crate::row::{self, clock_of};
use crate::stream::ReadRecords;
use crate::{Buses, Clock, Counts, Place, ReadError, Record};

const MAGIC: &[u8; 4] = b"PAR1";
const COLUMNS: [&str; 12] =
    ["time_ns", "clock", "bus", "direction", "kind", "id", "extended", "dlc", "length", "brs", "esi", "data"];

/// Reads a table with the columns of [`Writer`](super::Writer), which other programs may have changed: columns may be optional,
/// have integers of any size, and other columns between them.
///
/// It reads in a thread of its own, and installs a panic hook for this thread, because the library panics on some damaged files.
pub struct Reader<R> {
    /// Until the thread starts.
    input: Option<R>,
    parts: Option<Receiver<Rows>>,
    records: std::vec::IntoIter<Record>,
    end: Option<Result<(), ReadError>>,
    buses: Buses,
    skipped: Counts,
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("buses", &self.buses).finish_non_exhaustive()
    }
}

impl<R: Read + Seek + Send + 'static> Reader<R> {
    /// Reads from here.
    pub fn new(input: R) -> Self {
        Self {
            input: Some(input),
            parts: None,
            records: Vec::new().into_iter(),
            end: None,
            buses: Buses::new(),
            skipped: Counts::new(),
        }
    }
}

fn open<R: Read + Seek + Send + 'static>(input: R, skipped: &mut Counts) -> Result<RowIter<'static>, ReadError> {
    let file = Shared::new(input)?;
    let bad = |why: String| ReadError::Bad { at: Place::Byte(0), why };
    if file.len < 8 || file.bytes_at(0)? != *MAGIC {
        return Err(bad("the file does not begin with PAR1".to_owned()));
    }
    if file.bytes_at(file.len - 4)? != *MAGIC {
        let what = "the table, which can only be read with its end";
        return Err(ReadError::Cut { at: Place::Byte(file.len), what });
    }
    let of_library = |error: ParquetError| bad(error.to_string());
    let reader = Checked::new(file).map_err(of_library)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let fields = schema.root_schema().get_fields();
    let mut columns = Vec::new();
    for name in COLUMNS {
        let column = fields.iter().find(|field| field.name() == name && field.is_primitive());
        columns.push(Arc::clone(column.ok_or_else(|| bad(format!("the table has no column {name}")))?));
    }
    let mut parts = reader.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
    let known =
        |column: &&ColumnChunkMetaData| matches!(column.compression(), Compression::UNCOMPRESSED | Compression::SNAPPY);
    if let Some(other) = parts.find(|column| !known(column)) {
        let name = other.compression().to_string();
        let name = name.split('(').next().unwrap_or_default();
        return Err(bad(format!("it is compressed with {name}; write it with Snappy or without compression")));
    }
    let others = schema.num_columns().saturating_sub(COLUMNS.len());
    if others > 0 {
        skipped.add_many("columns of signals left out", others as u64);
    }
    let columns = Type::group_type_builder(schema.root_schema().name()).with_fields(columns).build();
    let rows = columns.and_then(|columns| RowIter::from_file_into(Box::new(reader)).project(Some(columns)));
    rows.map_err(of_library)
}

fn record(row: &Row, buses: &mut Buses) -> Result<Record, String> {
    Values::of(row.get_column_iter())?.record(buses)
}

impl<R: Read + Seek + Send + 'static> ReadRecords for Reader<R> {
    fn read(&mut self, place: &mut Record) -> Result<bool, ReadError> {
        loop {
            if let Some(next) = self.records.next() {
                *place = next;
                return Ok(true);
            }
            if let Some(end) = self.end.take() {
                self.parts = None;
                return end.map(|()| false);
            }
            if let Some(input) = self.input.take() {
                let open = |skipped: &mut Counts| {
                    let rows = open(input, skipped)?;
                    Ok(rows.map(|row| row.map_err(|error| error.to_string())))
                };
                self.parts = Some(thread::start(open, record));
            }
            let Some(Ok(part)) = self.parts.as_ref().map(Receiver::recv) else { return Ok(false) };
            self.records = part.records.into_iter();
            (self.buses, self.skipped, self.end) = (part.buses, part.skipped, part.end);
        }
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}

/// A row as the file has it.
#[derive(Default)]
struct Values<'a> {
    at_ns: i64,
    texts: [&'a str; 4],
    id: u32,
    small: [u8; 2],
    bits: [bool; 3],
    data: &'a [u8],
}

impl<'a> Values<'a> {
    fn of(columns: impl Iterator<Item = (&'a String, &'a Field)>) -> Result<Self, String> {
        let mut values = Values::default();
        for (name, field) in columns {
            let is_set = match name.as_str() {
                "time_ns" => set(&mut values.at_ns, integer(field)),
                "clock" => set(&mut values.texts[0], text(field)),
                "bus" => set(&mut values.texts[1], text(field)),
                "direction" => set(&mut values.texts[2], text(field)),
                "kind" => set(&mut values.texts[3], text(field)),
                "id" => set(&mut values.id, integer(field)),
                "dlc" => set(&mut values.small[0], integer(field)),
                "length" => set(&mut values.small[1], integer(field)),
                "extended" => set(&mut values.bits[0], bit(field)),
                "brs" => set(&mut values.bits[1], bit(field)),
                "esi" => set(&mut values.bits[2], bit(field)),
                _ => set(&mut values.data, data(field)),
            };
            if !is_set {
                return Err(format!("{name} cannot be {field}"));
            }
        }
        Ok(values)
    }

    fn record(&self, buses: &mut Buses) -> Result<Record, String> {
        let Self { at_ns, texts: [clock, bus, direction, kind], id, small: [dlc, length], bits, data } = *self;
        let [is_extended, brs, esi] = bits;
        let clock: Clock = clock_of(clock)?;
        row::Row { at_ns, clock, bus, direction, kind, id, is_extended, dlc, length, brs, esi, data }.record(buses)
    }
}

/// False if there is no value.
fn set<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

fn integer<T: TryFrom<i128>>(field: &Field) -> Option<T> {
    let value: i128 = match *field {
        Field::Byte(value) => value.into(),
        Field::Short(value) => value.into(),
        Field::Int(value) => value.into(),
        Field::Long(value) => value.into(),
        Field::UByte(value) => value.into(),
        Field::UShort(value) => value.into(),
        Field::UInt(value) => value.into(),
        Field::ULong(value) => value.into(),
        _ => return None,
    };
    T::try_from(value).ok()
}

/// Empty if there is none.
fn text(field: &Field) -> Option<&str> {
    match field {
        Field::Null => Some(""),
        Field::Str(text) => Some(text),
        Field::Bytes(bytes) => str::from_utf8(bytes.data()).ok(),
        _ => None,
    }
}

const fn bit(field: &Field) -> Option<bool> {
    match field {
        Field::Bool(bit) => Some(*bit),
        _ => None,
    }
}

/// Empty if there is none.
fn data(field: &Field) -> Option<&[u8]> {
    match field {
        Field::Null => Some(&[]),
        Field::Bytes(bytes) => Some(bytes.data()),
        _ => None,
    }
}

/// A file that several readers of its parts share.
struct Shared<R> {
    file: Arc<Mutex<R>>,
    len: u64,
}

impl<R: Read + Seek> Shared<R> {
    fn new(mut file: R) -> io::Result<Self> {
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self { file: Arc::new(Mutex::new(file)), len })
    }

    fn bytes_at(&self, at: u64) -> io::Result<[u8; 4]> {
        let mut bytes = [0; 4];
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn lock<R>(file: &Mutex<R>) -> MutexGuard<'_, R> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Send> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.len
    }
}

impl<R: Read + Seek + Send> ChunkReader for Shared<R> {
    type T = BufReader<Part<R>>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(Part { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // No more memory than the file has bytes.
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(ParquetError::EOF(format!("{length} bytes from byte {start} are more than the file has")));
        }
        let mut bytes = vec![0; length];
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file from a place on.
struct Part<R> {
    file: Arc<Mutex<R>>,
    at: u64,
}

impl<R: Read + Seek> Read for Part<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(bytes)?;
        self.at += count as u64;
        Ok(count)
    }
}
