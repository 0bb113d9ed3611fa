//! Counters of the data path.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that one thread increments and others read.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds many; see [`bump`](Self::bump).
    pub(super) fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Adds 1. Only the owning thread may call this: a load and a store are cheaper than an atomic add.
    pub fn bump(&self) {
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
