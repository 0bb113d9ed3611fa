//! The columns of a row group.

use std::fmt::Display;

use parquet::basic::Type as Physical;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

use super::pages::Pages;
use super::schema::{COLUMNS, is_unsigned};
use crate::row::{Row, clock_of};

/// The columns of frames, and the rows of them that were read last.
pub(super) struct Columns {
    time: Integers,
    clock: Bytes,
    bus: Bytes,
    direction: Bytes,
    kind: Bytes,
    id: Integers,
    extended: Column<BoolType>,
    dlc: Integers,
    length: Integers,
    brs: Column<BoolType>,
    esi: Column<BoolType>,
    data: Bytes,
    /// The next one.
    row: usize,
}

impl Columns {
    /// `places` are the numbers of the columns.
    pub(super) fn open(group: &dyn RowGroupReader, places: [usize; COLUMNS.len()]) -> Result<Self> {
        let [time, clock, bus, direction, kind, id, extended, dlc, length, brs, esi, data] = places;
        let integers = |place| Integers::open(group, place);
        Ok(Self {
            time: integers(time)?,
            clock: Bytes::open(group, clock)?,
            bus: Bytes::open(group, bus)?,
            direction: Bytes::open(group, direction)?,
            kind: Bytes::open(group, kind)?,
            id: integers(id)?,
            extended: Column::open(group, extended)?,
            dlc: integers(dlc)?,
            length: integers(length)?,
            brs: Column::open(group, brs)?,
            esi: Column::open(group, esi)?,
            data: Bytes::open(group, data)?,
            row: 0,
        })
    }

    /// Reads this number of rows.
    pub(super) fn fill(&mut self, rows: usize) -> Result<()> {
        self.row = 0;
        for integers in [&mut self.time, &mut self.id, &mut self.dlc, &mut self.length] {
            integers.fill(rows)?;
        }
        for bytes in [&mut self.clock, &mut self.bus, &mut self.direction, &mut self.kind, &mut self.data] {
            bytes.fill(rows)?;
        }
        for bits in [&mut self.extended, &mut self.brs, &mut self.esi] {
            bits.fill(rows)?;
        }
        Ok(())
    }

    /// The next row of those that were read.
    ///
    /// # Errors
    /// A value that no frame has.
    pub(super) fn row(&mut self) -> Result<Row<'_>, String> {
        let row = self.row;
        self.row += 1;
        Ok(Row {
            at_ns: self.time.take(row, "time_ns")?,
            clock: clock_of(self.clock.text(row, "clock")?)?,
            bus: self.bus.text(row, "bus")?,
            direction: self.direction.text(row, "direction")?,
            kind: self.kind.text(row, "kind")?,
            id: self.id.take(row, "id")?,
            is_extended: bit(self.extended.take(row), "extended")?,
            dlc: self.dlc.take(row, "dlc")?,
            length: self.length.take(row, "length")?,
            brs: bit(self.brs.take(row), "brs")?,
            esi: bit(self.esi.take(row), "esi")?,
            data: self.data.take(row),
        })
    }
}

/// A column, and the values that were read last.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    is_optional: bool,
    /// Of each row, 0 if it has no value; only if that is possible.
    levels: Vec<i16>,
    values: Vec<T::T>,
    taken: usize,
}

impl<T: DataType> Column<T> {
    fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self> {
        let column = group.metadata().column(place).column_descr_ptr();
        let pages = Pages::new(group.get_column_page_reader(place)?, &column);
        let is_optional = column.max_def_level() > 0;
        let reader = ColumnReaderImpl::new(column, Box::new(pages));
        Ok(Self { reader, is_optional, levels: Vec::new(), values: Vec::new(), taken: 0 })
    }

    fn fill(&mut self, rows: usize) -> Result<()> {
        self.levels.clear();
        self.values.clear();
        self.taken = 0;
        let (read, ..) = self.reader.read_records(rows, Some(&mut self.levels), None, &mut self.values)?;
        if read == rows {
            return Ok(());
        }
        Err(ParquetError::EOF("a column has fewer rows than its group".to_owned()))
    }

    /// Of this row, which follows the one before.
    fn take(&mut self, row: usize) -> Option<&T::T> {
        if self.is_optional && self.levels.get(row) != Some(&1) {
            return None;
        }
        self.taken += 1;
        self.values.get(self.taken - 1)
    }
}

enum Integers {
    Narrow { column: Column<Int32Type>, is_unsigned: bool },
    Wide { column: Column<Int64Type>, is_unsigned: bool },
}

impl Integers {
    fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self> {
        let column = group.metadata().column(place).column_descr();
        let is_unsigned = is_unsigned(column.converted_type());
        Ok(if column.physical_type() == Physical::INT32 {
            Self::Narrow { column: Column::open(group, place)?, is_unsigned }
        } else {
            Self::Wide { column: Column::open(group, place)?, is_unsigned }
        })
    }

    fn fill(&mut self, rows: usize) -> Result<()> {
        match self {
            Self::Narrow { column, .. } => column.fill(rows),
            Self::Wide { column, .. } => column.fill(rows),
        }
    }

    fn take<N: TryFrom<i128>>(&mut self, row: usize, name: &str) -> Result<N, String> {
        let value: Option<i128> = match self {
            Self::Narrow { column, is_unsigned: false } => column.take(row).map(|value| (*value).into()),
            Self::Narrow { column, .. } => column.take(row).map(|value| value.cast_unsigned().into()),
            Self::Wide { column, is_unsigned: false } => column.take(row).map(|value| (*value).into()),
            Self::Wide { column, .. } => column.take(row).map(|value| value.cast_unsigned().into()),
        };
        let value = value.ok_or_else(|| cannot_be(name, "null"))?;
        N::try_from(value).map_err(|_out_of_range| cannot_be(name, value))
    }
}

enum Bytes {
    Any(Column<ByteArrayType>),
    Fixed(Column<FixedLenByteArrayType>),
    Null,
}

impl Bytes {
    fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self> {
        Ok(match group.metadata().column(place).column_type() {
            Physical::BYTE_ARRAY => Self::Any(Column::open(group, place)?),
            Physical::FIXED_LEN_BYTE_ARRAY => Self::Fixed(Column::open(group, place)?),
            _ => Self::Null,
        })
    }

    fn fill(&mut self, rows: usize) -> Result<()> {
        match self {
            Self::Any(column) => column.fill(rows),
            Self::Fixed(column) => column.fill(rows),
            Self::Null => Ok(()),
        }
    }

    /// Empty if there are none.
    fn take(&mut self, row: usize) -> &[u8] {
        match self {
            Self::Any(column) => column.take(row).map_or(&[], ByteArray::data),
            Self::Fixed(column) => column.take(row).map_or(&[], |bytes| bytes.data()),
            Self::Null => &[],
        }
    }

    fn text(&mut self, row: usize, name: &str) -> Result<&str, String> {
        str::from_utf8(self.take(row)).map_err(|_bytes| format!("{name} is not UTF-8"))
    }
}

fn bit(value: Option<&bool>, name: &str) -> Result<bool, String> {
    value.copied().ok_or_else(|| cannot_be(name, "null"))
}

fn cannot_be(name: &str, value: impl Display) -> String {
    format!("{name} cannot be {value}")
}
