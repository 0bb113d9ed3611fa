//! Counters of the data path.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread raises and others read.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// As [`bump`](Self::bump), for many.
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Adds 1. Only the thread of the job's source bus may do this: load and store are cheaper than a locked add.
    pub(super) fn bump(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
