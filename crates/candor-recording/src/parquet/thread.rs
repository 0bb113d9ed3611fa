//! A thread that reads rows. The library panics on some damaged files, and then only this thread ends.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

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
    pub(super) end: Option<Result<(), ReadError>>,
}

struct Sending {
    to: SyncSender<Rows>,
    records: Vec<Record>,
    buses: Buses,
    skipped: Counts,
    rows: u64,
}

thread_local! {
    /// Outside the library while it reads, so that a panic loses nothing.
    static SENDING: RefCell<Option<Sending>> = const { RefCell::new(None) };
}

impl Sending {
    /// False if nobody wants more.
    fn send(&mut self, end: Option<Result<(), ReadError>>) -> bool {
        let records = std::mem::take(&mut self.records);
        self.to.send(Rows { records, buses: self.buses.clone(), skipped: self.skipped.clone(), end }).is_ok()
    }
}

/// Reads in a thread of its own.
///
/// `open` gives the rows, and counts what is left out of all of them. `record` makes a record of a row.
pub(super) fn start<T, I: Iterator<Item = Result<T, String>>>(
    open: impl FnOnce(&mut Counts) -> Result<I, ReadError> + Send + 'static,
    record: impl Fn(&T, &mut Buses) -> Result<Record, String> + Send + 'static,
) -> Receiver<Rows> {
    end_only_the_thread();
    let (to, from) = sync_channel(WAITING);
    let sending = Sending { to, records: Vec::new(), buses: Buses::new(), skipped: Counts::new(), rows: 0 };
    thread::spawn(move || {
        SENDING.set(Some(sending));
        let mut skipped = Counts::new();
        let opened = open(&mut skipped);
        let with =
            |act: &mut dyn FnMut(&mut Sending) -> bool| SENDING.with_borrow_mut(|it| it.as_mut().is_some_and(act));
        with(&mut |sending| {
            sending.skipped = skipped.clone();
            true
        });
        let rows = match opened {
            Ok(rows) => rows,
            Err(error) => {
                let mut error = Some(error);
                with(&mut |sending| sending.send(error.take().map(Err)));
                return;
            }
        };
        // Here it may panic.
        for row in rows {
            let goes_on = with(&mut |sending| {
                sending.rows += 1;
                let made = row.as_ref().map_err(String::clone).and_then(|row| record(row, &mut sending.buses));
                match made {
                    Ok(record) => sending.records.push(record),
                    Err(why) => {
                        sending.send(Some(Err(ReadError::Bad { at: Place::Row(sending.rows), why })));
                        return false;
                    }
                }
                sending.records.len() < ROWS || sending.send(None)
            });
            if !goes_on {
                return;
            }
        }
        with(&mut |sending| sending.send(Some(Ok(()))));
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
            sending.send(Some(Err(ReadError::Bad { at: Place::Row(sending.rows + 1), why })));
            drop(sending);
            // Elsewhere it unwinds. It stays in the hook, so nobody can set another one any more.
            while cfg!(panic = "abort") {
                thread::park();
            }
        }));
    });
}
