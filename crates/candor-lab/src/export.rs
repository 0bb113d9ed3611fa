//! The frames of many records as one table for other programs: CSV, JSON Lines and Parquet.
//!
//! ```text
//!  Record, Origin ─▶ columns ─┬─ csv         cell,state,…,gateway,load,…,sequence,…,service_ns,response_ns,disposition
//!  Record, Origin ─▶    …     ├─ json_lines  {"cell":"…",…,"service_ns":8550,…}
//!     one at a time           └─ parquet     a row group for each record
//! ```
//!
//! All three have the same columns: what tells a cell from the others first, the levels of its factors among them, then what is
//! known of the frame. Times are whole nanoseconds, and their names end in `_ns`. No record is kept, so a plan of any size fits.

mod columns;
mod csv;
mod json_lines;
mod parquet;

use std::io::{self, Write};

use crate::record::Record;

/// What a file of frames is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values with a head (RFC 4180, but lines end as everywhere on Linux).
    Csv,
    /// An object for each frame, each on a line of its own.
    JsonLines,
    /// Columns of 64-bit integers and UTF-8 strings, not compressed but packed (differences, dictionaries).
    Parquet,
}

/// Where the frames of a record belong.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Name of the cell, or of the record's file.
    pub cell: &'a str,
    /// `ok` or `invalid`.
    pub state: &'a str,
    /// Factors and levels. Those that are no column are left out; columns without a level are empty.
    pub levels: &'a [(String, String)],
}

/// A file that takes the frames of record after record.
pub trait Export {
    /// Writes all frames of a record.
    ///
    /// # Errors
    /// What the file's writer says.
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()>;

    /// Writes what belongs to the end of the file.
    ///
    /// # Errors
    /// What the file's writer says. Without this call, the file is not whole.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Form {
    /// Begins a file with a column for each of these factors.
    ///
    /// # Errors
    /// What the file's writer says.
    pub fn begin(self, out: impl Write + Send + 'static, factors: &[String]) -> io::Result<Box<dyn Export>> {
        Ok(match self {
            Self::Csv => Box::new(csv::Csv::begin(out, factors)?),
            Self::JsonLines => Box::new(json_lines::JsonLines::new(out, factors)),
            Self::Parquet => Box::new(parquet::Parquet::begin(out, factors)?),
        })
    }
}

#[cfg(test)]
mod tests;
