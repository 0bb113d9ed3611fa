//! The frames of many records as one table for other programs: CSV, JSON Lines and Parquet.
//!
//! ```text
//!  Record, Origin ─▶ columns ─┬─ CSV         cell,state,…,gateway,load,…,sequence,…,service_ns,response_ns,disposition
//!  Record, Origin ─▶    …     ├─ JSON Lines  {"cell":"…",…,"service_ns":8550,…}
//!     one at a time           └─ Parquet     a row group for each record
//! ```
//!
//! All three have the same columns: first those that are constant within a record, the levels of its factors among them, then
//! those of each frame. Times are whole nanoseconds, and their names end in `_ns`. No record is kept, so a plan may have any
//! size.

mod lines;
mod parquet;

use std::io::{self, Write};

use crate::record::{Header, Record, Sample};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// RFC 4180 with a header, but with `\n` as line end.
    Csv,
    /// One object per frame and line.
    JsonLines,
    /// 64-bit integers and UTF-8 strings, encoded (delta, dictionary) but not compressed.
    Parquet,
}

/// The cell of a record.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// Name of the cell, or of the record's file.
    pub cell: &'a str,
    /// `ok` or `invalid`.
    pub state: &'a str,
    /// Factors that are no column are left out; columns without a level are empty.
    pub levels: &'a [(String, String)],
}

/// A file of frames, written record by record.
pub trait Export {
    fn add(&mut self, origin: Origin<'_>, record: &Record) -> io::Result<()>;

    /// Writes the end of the file and flushes it.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Form {
    /// Starts a file with a column for each of these factors.
    pub fn begin(self, out: impl Write + Send + 'static, factors: &[String]) -> io::Result<Box<dyn Export>> {
        Ok(match self {
            Self::Csv => Box::new(lines::Lines::csv(out, factors)?),
            Self::JsonLines => Box::new(lines::Lines::json(out, factors)),
            Self::Parquet => Box::new(parquet::Parquet::begin(out, factors)?),
        })
    }
}

/// A column of numbers, which may be missing.
#[derive(Clone, Copy, Debug)]
struct Number {
    name: &'static str,
    of: fn(&Header, &Sample) -> Option<i64>,
}

/// After the columns of [`constant`]; [`DISPOSITION`] is the last one.
const NUMBERS: [Number; 13] = [
    Number { name: "instruction_ns", of: |header, _| header.instruction_ns.map(i64::from) },
    Number { name: "sequence", of: |_, sample| Some(sample.sequence.into()) },
    Number { name: "tag", of: |_, sample| Some(sample.tag.into()) },
    Number { name: "due_ns", of: |_, sample| Some(sample.due_ns) },
    Number { name: "sent_ns", of: |_, sample| Some(sample.sent_ns) },
    Number { name: "queued_ns", of: |_, sample| sample.inside.queued_ns },
    Number { name: "handed_ns", of: |_, sample| sample.inside.handed_ns },
    Number { name: "monitor_ns", of: |_, sample| sample.monitor_ns },
    Number { name: "far_ns", of: |_, sample| sample.far_ns },
    Number { name: "read_ns", of: |_, sample| sample.inside.read_ns },
    Number { name: "wire_ns", of: |_, sample| Some(sample.wire_ns.into()) },
    Number { name: "service_ns", of: |_, sample| sample.latency().map(|latency| latency.0) },
    Number {
        name: "response_ns",
        of: |header, sample| sample.response().filter(|_| !header.has_two_clocks()).map(|latency| latency.0),
    },
];

const DISPOSITION: &str = "disposition";

const TEXTS: [&str; 5] = ["cell", "state", "device", "engine", "kernel_release"];

/// Names of the columns that are constant within a record.
fn names(factors: &[String]) -> impl Iterator<Item = &str> {
    TEXTS.into_iter().chain(factors.iter().map(String::as_str))
}

/// Values of the constant factors of a record.
fn constant<'a>(factors: &'a [String], origin: Origin<'a>, header: &'a Header) -> impl Iterator<Item = &'a str> {
    let texts = [origin.cell, origin.state, &header.device, &header.engine, &header.kernel_release];
    let level = move |factor: &String| {
        origin.levels.iter().find(|(known, _)| known == factor).map_or("", |(_, level)| level.as_str())
    };
    texts.into_iter().chain(factors.iter().map(level))
}

#[cfg(test)]
mod tests;
