//! Progress of what takes long.

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
    let of = items.len();
    watch(
        || format!("{what}: {} of {of}", done.load(Ordering::Relaxed)),
        || {
            let results = items.iter().map(|item| {
                let result = work(item);
                done.fetch_add(1, Ordering::Relaxed);
                result
            });
            results.collect()
        },
    )
}

/// Calls `work`. After two seconds, a terminal shows `text`; after a minute, any standard error.
pub(super) fn watch<R>(text: impl Fn() -> String + Sync, work: impl FnOnce() -> R) -> R {
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let text = &text;
        scope.spawn(move || show(text, &ended));
        let result = work();
        drop(end);
        result
    })
}

fn show(text: impl Fn() -> String, ended: &mpsc::Receiver<()>) {
    let mut wait = if io::stderr().is_terminal() { QUIET } else { QUIET_IN_FILES };
    let mut progress = None;
    while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
        wait = TICK;
        let text = text();
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
