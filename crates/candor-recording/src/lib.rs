//! Recorded CAN frames, read from and written to files of many formats.
//!
//! ```text
//!  bytes ─▶ Reader ─▶ Record ─▶ Sink ─┬─ fit: what the format cannot hold, counted
//!           (candump, pcapng, …)      └─ Writer ─▶ bytes
//! ```
//!
//! Readers and writers stream: their memory does not grow with the file. A reader gives every whole record before the place
//! where a file is cut or damaged, and then names that place. A [`Format`] states what it cannot hold, and a [`Sink`] counts
//! what it leaves out.
//!
//! ```
//! use candor_recording::{Format, ReadRecords as _, Record, Sink, candump};
//! use std::io::Cursor;
//!
//! let mut reader = candump::Reader::new(&b"(1700000000.000001) can0 123#1122\n"[..]);
//! let mut sink = Sink::new(Format::Pcapng, Cursor::new(Vec::new()));
//! let mut record = Record::EMPTY;
//! while reader.read(&mut record)? {
//!     sink.write(&record, reader.buses())?;
//! }
//! assert!(sink.finish()?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate uses no clock, file, environment or socket; it reads from [`std::io::Read`] and writes to [`std::io::Write`].
//!
//! # Features
//! * `all`: the formats besides candump and pcapng, which need no other library. BLF needs `flate2`, MCAP `serde_json` and `base64`
//! * `tables`: also Parquet, and signals of a database as columns of Parquet and CSV
//! * `testing`: `invariants`, what must hold for any bytes
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "all")]
pub mod asc;
#[cfg(feature = "all")]
pub mod blf;
pub mod candump;
#[cfg(feature = "all")]
pub mod csv;
#[cfg(feature = "all")]
pub mod mcap;
#[cfg(feature = "all")]
pub mod mdf4;
#[cfg(feature = "tables")]
pub mod parquet;
pub mod pcapng;
#[cfg(feature = "all")]
pub mod trc;

mod buses;
#[cfg(feature = "all")]
mod channels;
mod counts;
#[cfg(feature = "all")]
mod date;
#[cfg(feature = "tables")]
mod decode;
mod error;
mod format;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
mod limits;
mod record;
#[cfg(feature = "all")]
mod row;
mod source;
mod stream;
#[cfg(test)]
mod testing;
#[cfg(feature = "all")]
mod text;

pub use buses::{BusIndex, Buses, MOST_BUSES};
pub use counts::Counts;
pub use error::{Place, ReadError};
pub use format::{Format, Input, Output, Sink};
pub use limits::{BusNames, Directions, Errors, Limits};
pub use record::{Clock, Direction, Record};
pub use stream::{ReadRecords, WriteRecords};
