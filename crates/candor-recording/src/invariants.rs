//! What must hold for any bytes, for tests and fuzz targets.

use std::io::Cursor;

use crate::{Counts, Format, Record, Sink};

/// Most records that are compared.
const MOST_RECORDS: usize = 10_000;

/// Reads bytes as a file of a format, and requires that its records survive being written and read again.
///
/// # Panics
/// The reader panics, gives a record that its own format cannot hold, or reads something else from what was written.
pub fn check(format: Format, bytes: &[u8]) {
    let mut reader = format.reader(Cursor::new(bytes.to_vec()));
    let mut record = Record::EMPTY;
    let mut records = Vec::new();
    while records.len() < MOST_RECORDS && matches!(reader.read(&mut record), Ok(true)) {
        assert!(!reader.buses().name(record.bus).is_empty(), "bus {} has no name", record.bus.0);
        records.push(record);
    }
    let written = Shared::default();
    let mut sink = Sink::new(format, written.clone());
    let mut fitted = Vec::new();
    for record in &records {
        if sink.write(record, reader.buses()).is_err() {
            break;
        }
        let mut one = *record;
        if format.limits().fit(&mut one, &mut Counts::new()) {
            fitted.push(one);
        }
    }
    sink.finish().expect("memory takes everything");
    let mut second = format.reader(Cursor::new(written.take()));
    for wanted in &fitted {
        assert!(second.read(&mut record).expect("what was written can be read"), "a record is missing");
        assert_eq!(record.frame, wanted.frame);
    }
    assert!(!second.read(&mut record).expect("what was written can be read"), "there is one record more");
}

/// Memory that is written by one and read by another.
#[derive(Clone, Debug, Default)]
pub struct Shared(std::sync::Arc<std::sync::Mutex<Cursor<Vec<u8>>>>);

impl Shared {
    /// What has been written.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        let mut bytes = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut *bytes).into_inner()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Seek for Shared {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).seek(to)
    }
}
