//! A thread that reads rows. The library panics on some damaged files, and then only this thread ends.

use std::cell::RefCell;
use std::io;
use std::panic;
use std::sync::Once;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use parquet::errors::ParquetError;

use crate::row::Row;
use crate::{Buses, Counts, Place, ReadError, Record};

/// Records that are handed over at once.
const ROWS: usize = 1024;
/// How often that may be done before somebody takes them.
const WAITING: usize = 4;

/// Rows, and with the last of them why there are no more.
pub(super) struct Rows {
    pub(super) records: Vec<Record>,
    /// Of these and all records before.
    pub(super) buses: Buses,
    pub(super) skipped: Counts,
    pub(super) end: Option<Result<(), End>>,
}

/// Why rows are not read to the end of the table.
pub(super) enum End {
    /// The library cannot read the next rows, or not all of them.
    Stopped(String),
    /// The next row or the file is wrong, or it cannot be read.
    Refused(ReadError),
    /// Nobody takes them any more.
    Unwanted,
}

impl From<ReadError> for End {
    fn from(error: ReadError) -> Self {
        Self::Refused(error)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Refused(error.into())
    }
}

impl From<ParquetError> for End {
    fn from(error: ParquetError) -> Self {
        let ParquetError::External(source) = error else { return Self::Stopped(error.to_string()) };
        match source.downcast::<io::Error>() {
            // A part that ends outside the file is damage.
            Ok(error) if error.kind() != io::ErrorKind::UnexpectedEof => (*error).into(),
            Ok(error) => Self::Stopped(error.to_string()),
            Err(other) => Self::Stopped(other.to_string()),
        }
    }
}

/// Where the thread hands rows over.
pub(super) struct Output(());

struct Sending {
    to: SyncSender<Rows>,
    records: Vec<Record>,
    buses: Buses,
    skipped: Counts,
    /// Of the table, those before included.
    rows: u64,
}

thread_local! {
    /// Outside the library while it reads, so that a panic loses nothing.
    static SENDING: RefCell<Option<Sending>> = const { RefCell::new(None) };
}

impl Sending {
    fn send(&mut self, end: Option<Result<(), End>>) -> Result<(), End> {
        let records = std::mem::take(&mut self.records);
        let rows = Rows { records, buses: self.buses.clone(), skipped: self.skipped.clone(), end };
        self.to.send(rows).map_err(|_nobody| End::Unwanted)
    }
}

impl Output {
    fn with<T>(&self, act: impl FnOnce(&mut Sending) -> Result<T, End>) -> Result<T, End> {
        SENDING.with_borrow_mut(|sending| sending.as_mut().map_or(Err(End::Unwanted), act))
    }

    /// What is left out of all rows.
    pub(super) fn skip(&self, what: &'static str, count: u64) -> Result<(), End> {
        self.with(|sending| {
            sending.skipped.add_many(what, count);
            Ok(())
        })
    }

    /// Hands over the next row.
    pub(super) fn row(&self, row: Result<Row<'_>, String>) -> Result<(), End> {
        self.with(|sending| {
            sending.rows += 1;
            let made = row.and_then(|row| row.record(&mut sending.buses));
            let record = made.map_err(|why| ReadError::Bad { at: Place::Row(sending.rows), why })?;
            sending.records.push(record);
            if sending.records.len() < ROWS { Ok(()) } else { sending.send(None) }
        })
    }
}

/// Reads in a thread of its own, with the buses and the number of the rows before.
pub(super) fn start(
    buses: Buses,
    rows: u64,
    read: impl FnOnce(&Output) -> Result<(), End> + Send + 'static,
) -> Receiver<Rows> {
    end_only_the_thread();
    let (to, from) = sync_channel(WAITING);
    let sending = Sending { to, records: Vec::new(), buses, skipped: Counts::new(), rows };
    thread::spawn(move || {
        SENDING.set(Some(sending));
        let output = Output(());
        // Here it may panic.
        let end = read(&output);
        // An error is that nobody takes it.
        drop(output.with(|sending| sending.send(Some(end))));
    });
    from
}

/// Installs a panic hook, once, that hands over what a thread of [`start`] has read. In programs that are built with
/// `panic = "abort"` it stops the thread there, because the process would end. Panics of other threads go to the hook that was
/// there before.
fn end_only_the_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let Ok(Some(mut sending)) = SENDING.try_with(|sending| sending.try_borrow_mut().ok()?.take()) else {
                return before(panicked);
            };
            let payload = panicked.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
            let why = text.unwrap_or("it gives no reason");
            let why = format!("the library of Parquet cannot read it ({why})");
            // An error is that nobody takes it.
            drop(sending.send(Some(Err(End::Stopped(why)))));
            drop(sending);
            // Elsewhere it unwinds. It stays in the hook, so nobody can set another one any more.
            while cfg!(panic = "abort") {
                thread::park();
            }
        }));
    });
}
