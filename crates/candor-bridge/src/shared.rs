//! What the threads of a bridge share.

use std::sync::{Mutex, PoisonError};

use crate::book::{Book, Publication};
use crate::counts::Counts;
use crate::queue::Queue;

/// What the threads of a bridge share.
#[derive(Debug)]
pub struct Shared {
    /// Counters but for those of the queue.
    pub counts: Mutex<Counts>,
    /// Last values.
    pub book: Mutex<Book>,
    /// What waits for Zenoh.
    pub queue: Queue<Publication>,
}

impl Shared {
    /// Changes counters.
    pub fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
