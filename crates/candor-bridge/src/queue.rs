//! A bounded queue between the reader of a bus and an output. A full one drops the oldest entry; entries that are too old are
//! dropped when they would leave. Both are counted.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What was dropped so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// The queue was full.
    pub full: u64,
    /// Older than the maximum age.
    pub old: u64,
}

/// The queue. Any thread may use it.
#[derive(Debug)]
pub struct Queue<T> {
    inner: Mutex<Inner<T>>,
    changed: Condvar,
    most: usize,
    max_age: Duration,
}

#[derive(Debug)]
struct Inner<T> {
    waiting: VecDeque<(Instant, T)>,
    dropped: Dropped,
    is_closed: bool,
}

impl<T> Queue<T> {
    /// An empty queue with room for `most` entries.
    #[must_use]
    pub fn new(most: usize, max_age: Duration) -> Self {
        let inner = Inner { waiting: VecDeque::new(), dropped: Dropped::default(), is_closed: false };
        Self { inner: Mutex::new(inner), changed: Condvar::new(), most: most.max(1), max_age }
    }

    /// Adds an entry. Never waits.
    pub fn push(&self, now: Instant, entry: T) {
        let mut inner = self.lock();
        if inner.waiting.len() >= self.most {
            inner.waiting.pop_front();
            inner.dropped.full += 1;
        }
        inner.waiting.push_back((now, entry));
        drop(inner);
        self.changed.notify_one();
    }

    /// Waits for entries up to `timeout`, and takes at most `most` of them. None if there is none, see
    /// [`is_finished`](Self::is_finished).
    pub fn take(&self, timeout: Duration, most: usize) -> Vec<T> {
        let inner = self.lock();
        let is_idle = |inner: &mut Inner<T>| inner.waiting.is_empty() && !inner.is_closed;
        let waited = self.changed.wait_timeout_while(inner, timeout, is_idle);
        let (mut inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.expire(&mut inner, Instant::now());
        let taken = inner.waiting.len().min(most);
        inner.waiting.drain(..taken).map(|(_, entry)| entry).collect()
    }

    /// Drops what is too old, while nothing can leave.
    pub fn drop_old(&self, now: Instant) {
        self.expire(&mut self.lock(), now);
    }

    /// Nothing is added any more; what waits can still be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Closed and empty.
    pub fn is_finished(&self) -> bool {
        let inner = self.lock();
        inner.is_closed && inner.waiting.is_empty()
    }

    /// Closed: no entry comes any more.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// What was dropped, and what waits.
    pub fn counts(&self) -> (Dropped, u64) {
        let inner = self.lock();
        (inner.dropped, inner.waiting.len() as u64)
    }

    fn expire(&self, inner: &mut Inner<T>, now: Instant) {
        let is_old = |since: &Instant| now.saturating_duration_since(*since) > self.max_age;
        while inner.waiting.front().is_some_and(|(since, _)| is_old(since)) {
            inner.waiting.pop_front();
            inner.dropped.old += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_full_queue_drops_the_oldest() {
        let queue = Queue::new(2, Duration::from_secs(60));
        (0..5).for_each(|entry| queue.push(Instant::now(), entry));
        assert_eq!(queue.counts(), (Dropped { full: 3, old: 0 }, 2));
        assert_eq!(queue.take(NOW, 1), [3]);
        assert_eq!(queue.take(NOW, 9), [4]);
        assert_eq!(queue.take(NOW, 9), [0; 0]);
    }

    #[test]
    fn old_entries_do_not_leave() {
        let queue = Queue::new(9, Duration::from_secs(1));
        let now = Instant::now();
        queue.push(now, 1);
        queue.push(now + Duration::from_secs(2), 2);
        queue.drop_old(now + Duration::from_secs(2));
        assert_eq!(queue.counts(), (Dropped { full: 0, old: 1 }, 1));
        assert_eq!(queue.take(NOW, 9), [2]);
    }

    #[test]
    fn a_closed_queue_is_finished_when_it_is_empty() {
        let queue = Queue::new(9, Duration::from_secs(60));
        queue.push(Instant::now(), 1);
        queue.close();
        assert!(!queue.is_finished());
        assert_eq!(queue.take(Duration::from_secs(60), 9), [1]);
        assert!(queue.is_finished());
    }
}
