//! Where and why reading ended.

use std::fmt;
use std::io;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bytes before it.
    Byte(u64),
    /// The number of a line; the first is 1.
    Line(u64),
    /// The number of a row of a table; the first is 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// The end of what can be read of a recording. All records before it have been given.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file ends within a record.
    #[error("{at}: the file ends within {what}")]
    Cut {
        /// Where the record begins.
        at: Place,
        /// What is not complete.
        what: &'static str,
    },
    /// The file is not what its format says.
    #[error("{at}: {why}")]
    Bad {
        /// Where.
        at: Place,
        /// What is wrong, with the value.
        why: String,
    },
    /// The file could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}
