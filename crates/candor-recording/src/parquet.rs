//! Parquet: a row for each frame, for pandas, DuckDB, Polars and others.
//!
//! | column | type | |
//! |---|---|---|
//! | `time_ns` | INT64 | time in ns |
//! | `clock` | text | `unix`: since 1970; `start`: since the start of the recording |
//! | `bus` | text | name of the bus |
//! | `direction` | text or null | `Rx` or `Tx` |
//! | `kind` | text | `data`, `remote`, `fd` or `error` |
//! | `id` | UINT32 | identifier, or class of an error frame |
//! | `extended` | BOOLEAN | the identifier has 29 bits |
//! | `dlc`, `length` | INT32 | data length code, 0 to 15, and bytes |
//! | `brs`, `esi` | BOOLEAN | bits of CAN FD |
//! | `data` | bytes or null | null for a remote frame |
//!
//! With a database, each message is a group of columns, null in rows of other frames: `MESSAGE.SIGNAL` is the physical value as
//! DOUBLE, and `MESSAGE.SIGNAL_raw` the raw value as INT64.
//!
//! # Source
//! [Parquet](https://github.com/apache/parquet-format)

mod columns;
mod file;
mod footer;
mod pages;
mod read;
mod schema;
mod table;
mod thread;

use std::io::{self, Write};
use std::sync::Arc;

use candor_core::frame::{CANFD_BRS, CANFD_ESI, Frame};
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::decode::{Decoder, Message};
use crate::row::{dlc, id, kind};
use crate::stream::WriteRecords;
use crate::{Buses, Clock, Counts, Direction, Record};

pub use read::Reader;

/// Rows of a row group, which is what is kept in memory.
const ROWS: usize = 65_536;

/// Writes a table.
pub struct Writer<W: Write + Send> {
    /// Until the file begins.
    output: Option<W>,
    file: Option<SerializedFileWriter<W>>,
    decoder: Option<Decoder>,
    rows: Vec<Row>,
    /// By message.
    messages: Vec<Rows>,
}

/// A frame, without its signals.
struct Row {
    record: Record,
    bus: ByteArray,
}

/// The rows of a message, and the values of its signals by signal: position among the rows, physical and raw value.
#[derive(Default)]
struct Rows {
    rows: Vec<usize>,
    signals: Vec<Values>,
}

#[derive(Default)]
struct Values {
    rows: Vec<usize>,
    physical: Vec<f64>,
    raw: Vec<i64>,
}

impl<W: Write + Send> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl<W: Write + Send> Writer<W> {
    /// Writes here.
    pub fn new(output: W) -> Self {
        Self { output: Some(output), file: None, decoder: None, rows: Vec::new(), messages: Vec::new() }
    }

    /// Writes here, with the signals of messages.
    pub(crate) fn decoding(output: W, decoder: Decoder) -> Self {
        let empty = |message: &Message| Rows {
            rows: Vec::new(),
            signals: message.signals.iter().map(|_| Values::default()).collect(),
        };
        let messages = decoder.messages().iter().map(empty).collect();
        Self { decoder: Some(decoder), messages, ..Self::new(output) }
    }

    fn begin(&mut self) -> Result<&mut SerializedFileWriter<W>, ParquetError> {
        if let Some(output) = self.output.take() {
            // Times rise, so their differences need few bits.
            let time = ColumnPath::from("time_ns");
            let properties = WriterProperties::builder()
                .set_created_by(format!("candor {}", env!("CARGO_PKG_VERSION")))
                .set_column_dictionary_enabled(time.clone(), false)
                .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED);
            let messages = self.decoder.as_ref().map_or(&[][..], Decoder::messages);
            self.file = Some(SerializedFileWriter::new(output, schema(messages)?, Arc::new(properties.build()))?);
        }
        self.file.as_mut().ok_or_else(|| ParquetError::General("the table is complete".to_owned()))
    }

    /// Writes the rows in memory as a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        self.begin()?;
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let mut group = file.next_row_group()?;
        frames(&mut group, &rows)?;
        let mut levels = vec![0; rows.len()];
        for message in &mut self.messages {
            for signal in &mut message.signals {
                levels.fill(0);
                message.rows.iter().for_each(|row| levels[*row] = 1);
                signal.rows.iter().for_each(|row| levels[*row] = 2);
                column::<W, DoubleType>(&mut group, &signal.physical, Some(&levels))?;
                column::<W, Int64Type>(&mut group, &signal.raw, Some(&levels))?;
                signal.rows.clear();
                signal.physical.clear();
                signal.raw.clear();
            }
            message.rows.clear();
        }
        group.close()?;
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

/// The columns of frames.
fn frames<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, rows: &[Row]) -> Result<(), ParquetError> {
    let text = |text: &'static str| ByteArray::from(text);
    let texts = |of: fn(&Record) -> &'static str| rows.iter().map(|row| text(of(&row.record))).collect::<Vec<_>>();
    let numbers =
        |of: fn(&Frame) -> u32| rows.iter().map(|row| of(&row.record.frame).cast_signed()).collect::<Vec<i32>>();
    let bits = |of: fn(&Frame) -> bool| rows.iter().map(|row| of(&row.record.frame)).collect::<Vec<bool>>();
    let times: Vec<i64> = rows.iter().map(|row| row.record.at_ns).collect();
    column::<W, Int64Type>(group, &times, None)?;
    let clocks = texts(|record| if record.clock == Clock::Unix { "unix" } else { "start" });
    column::<W, ByteArrayType>(group, &clocks, None)?;
    let buses: Vec<ByteArray> = rows.iter().map(|row| row.bus.clone()).collect();
    column::<W, ByteArrayType>(group, &buses, None)?;
    let known: Vec<i16> = rows.iter().map(|row| i16::from(row.record.direction.is_some())).collect();
    let directions: Vec<_> =
        rows.iter().filter_map(|row| row.record.direction).map(Direction::name).map(text).collect();
    column::<W, ByteArrayType>(group, &directions, Some(&known))?;
    column::<W, ByteArrayType>(group, &texts(|record| kind(&record.frame)), None)?;
    column::<W, Int32Type>(group, &numbers(id), None)?;
    column::<W, BoolType>(group, &bits(|frame| frame.id.is_eff()), None)?;
    column::<W, Int32Type>(group, &numbers(|frame| dlc(frame).into()), None)?;
    column::<W, Int32Type>(group, &numbers(|frame| frame.len.into()), None)?;
    column::<W, BoolType>(group, &bits(|frame| frame.flags & CANFD_BRS != 0), None)?;
    column::<W, BoolType>(group, &bits(|frame| frame.flags & CANFD_ESI != 0), None)?;
    let has_data = |row: &&Row| !row.record.frame.id.is_rtr();
    let there: Vec<i16> = rows.iter().map(|row| i16::from(has_data(&row))).collect();
    let data: Vec<_> =
        rows.iter().filter(has_data).map(|row| ByteArray::from(row.record.frame.payload().to_vec())).collect();
    column::<W, ByteArrayType>(group, &data, Some(&there))
}

/// Writes the next column of any table: the values that are there, and how deep each row is if they may be missing.
///
/// # Errors
/// The schema has no more columns, or the output failed.
pub fn column<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let too_few = || ParquetError::General("the schema has fewer columns than a row".to_owned());
    let mut column = group.next_column()?.ok_or_else(too_few)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn schema(messages: &[Message]) -> Result<Arc<Type>, ParquetError> {
    let column = |name: &str, physical: Physical, logical: Option<LogicalType>, repetition: Repetition| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        column.with_logical_type(logical).build().map(Arc::new)
    };
    let text = |name, repetition| column(name, Physical::BYTE_ARRAY, Some(LogicalType::String), repetition);
    let plain = |name, physical| column(name, physical, None, Repetition::REQUIRED);
    let unsigned = |bit_width| Some(LogicalType::integer(bit_width, false));
    let mut columns = vec![
        plain("time_ns", Physical::INT64)?,
        text("clock", Repetition::REQUIRED)?,
        text("bus", Repetition::REQUIRED)?,
        text("direction", Repetition::OPTIONAL)?,
        text("kind", Repetition::REQUIRED)?,
        column("id", Physical::INT32, unsigned(32), Repetition::REQUIRED)?,
        plain("extended", Physical::BOOLEAN)?,
        plain("dlc", Physical::INT32)?,
        plain("length", Physical::INT32)?,
        plain("brs", Physical::BOOLEAN)?,
        plain("esi", Physical::BOOLEAN)?,
        column("data", Physical::BYTE_ARRAY, None, Repetition::OPTIONAL)?,
    ];
    for message in messages {
        let mut signals = Vec::new();
        for signal in &message.signals {
            signals.push(column(&signal.name, Physical::DOUBLE, None, Repetition::OPTIONAL)?);
            let logical = if signal.is_wide { unsigned(64) } else { None };
            signals.push(column(&format!("{}_raw", signal.name), Physical::INT64, logical, Repetition::OPTIONAL)?);
        }
        let group = Type::group_type_builder(&message.name).with_repetition(Repetition::OPTIONAL);
        columns.push(Arc::new(group.with_fields(signals).build()?));
    }
    Ok(Arc::new(Type::group_type_builder("frames").with_fields(columns).build()?))
}

impl<W: Write + Send> WriteRecords for Writer<W> {
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()> {
        let row = self.rows.len();
        self.rows.push(Row { record: *record, bus: ByteArray::from(buses.name(record.bus)) });
        if let Some(decoder) = &mut self.decoder
            && let Some(at) = decoder.decode(&record.frame)
        {
            let rows = &mut self.messages[at];
            rows.rows.push(row);
            for (signal, values) in decoder.messages()[at].signals.iter().zip(&mut rows.signals) {
                let Some(value) = signal.value else { continue };
                // The bits of a wide signal, which the schema calls unsigned.
                let wide = || u64::try_from(value.raw).map(u64::cast_signed);
                if let Ok(raw) = i64::try_from(value.raw).or_else(|_wide| wide()) {
                    values.rows.push(row);
                    values.physical.push(value.physical);
                    values.raw.push(raw);
                }
            }
        }
        if self.rows.len() == ROWS { self.flush().map_err(failed) } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<Counts> {
        self.flush().map_err(failed)?;
        if let Some(file) = self.file.take() {
            file.close().map_err(failed)?;
        }
        Ok(self.decoder.as_ref().map_or_else(Counts::new, Decoder::unknown))
    }
}

/// The error of the output, if it is one.
#[must_use]
pub fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests;
