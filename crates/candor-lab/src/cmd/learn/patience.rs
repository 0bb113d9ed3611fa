//! Progress of a search that takes long.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use candor_lab::observer::Observer as _;

use crate::cmd::progress::Progress;

/// How long nothing is shown on a terminal.
const QUIET: Duration = Duration::from_secs(2);
/// The same in files and pipes, which nobody waits for: what they get should not depend on how busy the machine is.
const QUIET_IN_FILES: Duration = Duration::from_secs(60);
/// Between two updates.
const TICK: Duration = Duration::from_millis(250);

/// Calls `work` for each item. After two seconds, a terminal shows how many are done; after a minute, any standard error.
pub(super) fn each<T, R>(what: &str, items: &[T], mut work: impl FnMut(&T) -> R) -> Vec<R> {
    let done = AtomicUsize::new(0);
    let (end, ended) = mpsc::channel::<()>();
    let of = items.len();
    let counted = &done;
    thread::scope(|scope| {
        scope.spawn(move || show(what, of, counted, &ended));
        let results = items.iter().map(|item| {
            let result = work(item);
            done.fetch_add(1, Ordering::Relaxed);
            result
        });
        let results = results.collect();
        drop(end);
        results
    })
}

fn show(what: &str, of: usize, done: &AtomicUsize, ended: &mpsc::Receiver<()>) {
    let mut wait = if io::stderr().is_terminal() { QUIET } else { QUIET_IN_FILES };
    let mut progress = None;
    while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
        wait = TICK;
        let text = format!("{what}: {} of {of}", done.load(Ordering::Relaxed));
        progress
            .get_or_insert_with(|| {
                let progress = Progress::new();
                progress.line(&text);
                progress
            })
            .stage(&text);
    }
    if let Some(progress) = progress {
        progress.clear();
    }
}
