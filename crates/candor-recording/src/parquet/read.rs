//! Reading a Parquet file.

use std::fmt;
use std::io::{Read, Seek};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use super::file::Shared;
use super::table;
use super::thread::{self, End, Rows};
use crate::stream::ReadRecords;
use crate::{Buses, Counts, Place, ReadError, Record};

/// Reads a table with the columns of [`Writer`](super::Writer), which other programs may have changed: columns may be optional,
/// have integers of any size, and other columns between them.
///
/// It reads in a thread of its own, and installs a panic hook for this thread, because the library panics on some damaged files.
/// Where the library stops, it is tried again row by row, so the row before the damage is the last one.
pub struct Reader<R> {
    file: Arc<Mutex<R>>,
    attempt: Attempt,
    /// Until the end of the table.
    parts: Option<Receiver<Rows>>,
    records: std::vec::IntoIter<Record>,
    /// After these records.
    end: Option<Result<(), End>>,
    given: u64,
    buses: Buses,
    skipped: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    None,
    Fast,
    RowByRow,
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("given", &self.given).field("buses", &self.buses).finish_non_exhaustive()
    }
}

impl<R: Read + Seek + Send + 'static> Reader<R> {
    /// Reads from here.
    pub fn new(input: R) -> Self {
        Self {
            file: Arc::new(Mutex::new(input)),
            attempt: Attempt::None,
            parts: None,
            records: Vec::new().into_iter(),
            end: None,
            given: 0,
            buses: Buses::new(),
            skipped: Counts::new(),
        }
    }

    fn start(&mut self, attempt: Attempt) {
        self.attempt = attempt;
        let (file, given) = (Arc::clone(&self.file), self.given);
        let row_by_row = (attempt == Attempt::RowByRow).then_some(given);
        let read = move |output: &thread::Output| table::read(Shared::new(file)?, row_by_row, output);
        self.parts = Some(thread::start(self.buses.clone(), given, read));
    }

    /// Goes on after an end. True if there may be more.
    fn after(&mut self, end: Result<(), End>) -> Result<bool, ReadError> {
        self.parts = None;
        match end {
            Ok(()) | Err(End::Unwanted) => Ok(false),
            Err(End::Refused(error)) => Err(error),
            Err(End::Stopped(_)) if self.attempt == Attempt::Fast => {
                self.start(Attempt::RowByRow);
                Ok(true)
            }
            Err(End::Stopped(why)) => Err(ReadError::Bad { at: Place::Row(self.given + 1), why }),
        }
    }
}

impl<R: Read + Seek + Send + 'static> ReadRecords for Reader<R> {
    fn read(&mut self, place: &mut Record) -> Result<bool, ReadError> {
        if self.attempt == Attempt::None {
            self.start(Attempt::Fast);
        }
        loop {
            if let Some(next) = self.records.next() {
                *place = next;
                self.given += 1;
                return Ok(true);
            }
            if let Some(end) = self.end.take()
                && !self.after(end)?
            {
                return Ok(false);
            }
            match self.parts.as_ref().map(Receiver::recv) {
                None => return Ok(false),
                Some(Ok(part)) => {
                    self.records = part.records.into_iter();
                    (self.buses, self.skipped, self.end) = (part.buses, part.skipped, part.end);
                }
                Some(Err(_gone)) => self.end = Some(Err(End::Stopped("the thread that reads it ended".to_owned()))),
            }
        }
    }

    fn buses(&self) -> &Buses {
        &self.buses
    }

    fn skipped(&self) -> &Counts {
        &self.skipped
    }
}
