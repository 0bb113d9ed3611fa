//! Output that never blocks the gateway.
//!
//! A pipe without a reader blocks its writer, and a full disk returns errors; neither may stop forwarding or delay the removal
//! of jobs after a signal. So a thread does the writing, and output beyond its queue is lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use super::log::{Log, LogLine};
use candor_cli::render;

/// Length of the queue in pieces of output.
const ROOM: usize = 256;
/// Time at the end for a slow reader.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Error,
    Output,
}

#[derive(Debug)]
enum Piece {
    Text(Stream, String),
    /// One piece, so that many routes do not fill the queue.
    Lines(Vec<LogLine>),
}

/// A queue to standard output, standard error and the log.
#[derive(Debug)]
pub(super) struct Output {
    queue: SyncSender<Piece>,
    /// Disconnected when the thread has written everything.
    done: Receiver<()>,
    lost: Arc<AtomicU64>,
}

impl Output {
    /// Starts the writing thread.
    pub(super) fn start(log: Option<Log>) -> io::Result<Self> {
        Self::start_with(move |piece| match (piece, &log) {
            (Piece::Text(Stream::Error, text), _) => {
                render::err(text);
                Ok(())
            }
            (Piece::Text(Stream::Output, text), _) => render::out(text),
            (Piece::Lines(lines), Some(log)) => lines.iter().try_for_each(|line| log.write(line)),
            (Piece::Lines(_), None) => Ok(()),
        })
    }

    fn start_with(mut write: impl FnMut(&Piece) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (queue, pieces) = mpsc::sync_channel(ROOM);
        let (writing, done) = mpsc::sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&lost);
        std::thread::Builder::new().name("output".into()).spawn(move || {
            let _until_the_end: SyncSender<()> = writing;
            for piece in pieces {
                if write(&piece).is_err() {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            }
        })?;
        Ok(Self { queue, done, lost })
    }

    /// Queues a text. Never blocks.
    pub(super) fn say(&self, stream: Stream, text: String) {
        self.put(Piece::Text(stream, text));
    }

    /// Queues log lines. Never blocks.
    pub(super) fn log(&self, lines: Vec<LogLine>) {
        self.put(Piece::Lines(lines));
    }

    fn put(&self, piece: Piece) {
        if self.queue.try_send(piece).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits up to a second for the queue to drain, and reports lost output on standard error.
    pub(super) fn finish(self) {
        let Some(text) = self.finish_within(LAST_PATIENCE) else { return };
        // On another thread: standard error may be the stream that blocks.
        if let Ok(last) = Self::start(None) {
            last.say(Stream::Error, text);
            let Self { queue, done, .. } = last;
            drop(queue);
            let _ = done.recv_timeout(LAST_PATIENCE);
        }
    }

    fn finish_within(self, patience: Duration) -> Option<String> {
        let Self { queue, done, lost } = self;
        drop(queue);
        let stalled = done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
        match (stalled, lost.load(Ordering::Relaxed)) {
            (false, 0) => None,
            (false, lost) => Some(format!(
                "candor: {lost} pieces of output were lost: the stream failed or its reader was too slow\n"
            )),
            (true, _) => Some("candor: the end of the output was lost: its reader has stalled\n".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn a_stalled_reader_does_not_block() {
        let (go_on, stalled) = mpsc::channel::<()>();
        let output = Output::start_with(move |_piece| {
            let _ = stalled.recv();
            Ok(())
        })
        .unwrap();
        for _ in 0..10 * ROOM {
            output.say(Stream::Output, "text".into());
        }
        assert!(output.lost.load(Ordering::Relaxed) >= (9 * ROOM - 1) as u64);
        let said = output.finish_within(SHORT).unwrap();
        assert!(said.contains("has stalled"), "{said}");
        drop(go_on);
    }

    #[test]
    fn lost_output_is_reported_at_the_end() {
        let output = Output::start_with(|_piece| Err(io::ErrorKind::StorageFull.into())).unwrap();
        output.say(Stream::Output, "one".into());
        output.say(Stream::Error, "two".into());
        let said = output.finish_within(Duration::from_secs(20)).unwrap();
        assert!(said.contains("2 pieces of output were lost"), "{said}");
    }

    #[test]
    fn writes_everything() {
        let (sender, written) = mpsc::channel();
        let output =
            Output::start_with(move |piece| sender.send(format!("{piece:?}")).map_err(io::Error::other)).unwrap();
        output.say(Stream::Output, "one".into());
        output.say(Stream::Error, "two".into());
        assert_eq!(output.finish_within(Duration::from_secs(20)), None);
        let written: Vec<_> = written.iter().collect();
        assert_eq!(written, ["Text(Output, \"one\")", "Text(Error, \"two\")"]);
    }
}
