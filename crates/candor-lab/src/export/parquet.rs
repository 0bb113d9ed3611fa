//! Frames as Parquet, a row group for each record.

use std::io::{self, Write};
use std::sync::Arc;

use candor_recording::parquet::{column, failed};
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::{DISPOSITION, Export, NUMBERS, Origin, constant, names};
use crate::record::Record;

pub(super) struct Parquet<W: Write + Send> {
    out: SerializedFileWriter<W>,
    factors: Vec<String>,
}

impl<W: Write + Send> Parquet<W> {
    pub(super) fn begin(out: W, factors: &[String]) -> io::Result<Self> {
        let mut properties =
            WriterProperties::builder().set_created_by(format!("candor {}", env!("CARGO_PKG_VERSION")));
        // Times rise, so their differences need few bits; texts repeat, so the default, a dictionary, is what they need.
        for number in NUMBERS {
            let column = ColumnPath::from(number.name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let schema = schema(factors).map_err(failed)?;
        let out = SerializedFileWriter::new(out, schema, Arc::new(properties.build())).map_err(failed)?;
        Ok(Self { out, factors: factors.to_vec() })
    }

    fn write(&mut self, origin: Origin<'_>, record: &Record) -> Result<(), ParquetError> {
        let mut group = self.out.next_row_group()?;
        for text in constant(&self.factors, origin, &record.header) {
            column::<W, ByteArrayType>(&mut group, &vec![ByteArray::from(text); record.samples.len()], None)?;
        }
        for number in NUMBERS {
            let all: Vec<_> = record.samples.iter().map(|sample| (number.of)(&record.header, sample)).collect();
            let is_there: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
            let there: Vec<i64> = all.into_iter().flatten().collect();
            column::<W, Int64Type>(&mut group, &there, Some(&is_there))?;
        }
        let dispositions = record.samples.iter().map(|sample| ByteArray::from(sample.disposition.name()));
        column::<W, ByteArrayType>(&mut group, &dispositions.collect::<Vec<_>>(), None)?;
        group.close()?;
        Ok(())
    }
}

impl<W: Write + Send> Export for Parquet<W> {
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()> {
        self.write(origin, record).map_err(failed)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.out.close().map(|_metadata| ()).map_err(failed)
    }
}

/// All numbers are optional, so that readers need not know which ones are always present.
fn schema(factors: &[String]) -> Result<Arc<Type>, ParquetError> {
    let text = |name: &str| {
        let column = Type::primitive_type_builder(name, Physical::BYTE_ARRAY);
        column.with_repetition(Repetition::REQUIRED).with_logical_type(Some(LogicalType::String)).build().map(Arc::new)
    };
    let number = |name: &str| {
        let column = Type::primitive_type_builder(name, Physical::INT64);
        column.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let columns = names(factors).map(text).chain(NUMBERS.iter().map(|one| number(one.name))).chain([text(DISPOSITION)]);
    Ok(Arc::new(Type::group_type_builder("frames").with_fields(columns.collect::<Result<_, _>>()?).build()?))
}
