//! What all readers and writers do.

use std::io;

use crate::{Buses, Counts, ReadError, Record};

/// Reads the records of a recording in their order.
pub trait ReadRecords {
    /// Reads the next record over `record`; false at the end.
    ///
    /// # Errors
    /// The place where the recording is cut or damaged. There is nothing to read after it.
    fn read(&mut self, record: &mut Record) -> Result<bool, ReadError>;

    /// The buses of the records so far, and perhaps others.
    fn buses(&self) -> &Buses;

    /// What has been left out so far.
    fn skipped(&self) -> &Counts;
}

/// Writes records to a recording.
pub trait WriteRecords {
    /// Writes a record that [fits](crate::Limits::fit).
    ///
    /// # Errors
    /// The output failed, or the format has no room for another bus.
    fn write(&mut self, record: &Record, buses: &Buses) -> io::Result<()>;

    /// Writes the end, and returns what was left out besides what [`Limits::fit`](crate::Limits::fit) counts.
    ///
    /// # Errors
    /// The output failed.
    fn finish(&mut self) -> io::Result<Counts>;

    /// Buses whose names the format does not have, with their numbers.
    fn numbers<'a>(&'a self, buses: &'a Buses) -> Vec<(&'a str, u16)> {
        let _ = buses;
        Vec::new()
    }
}
