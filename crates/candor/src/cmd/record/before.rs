//! The frames before a trigger.

use std::collections::VecDeque;
use std::time::Duration;

use super::Kept;

/// Frames in memory: 8 buses of 1 Mbit/s for 10 s, and 100 MB.
const MOST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Before {
    before_ns: i64,
    after_ns: i64,
    waiting: VecDeque<Kept>,
    /// Until this time all frames are recorded.
    until_ns: i64,
    /// Time of the last frame that was too many.
    forgotten_ns: i64,
    pub(super) triggers: u64,
    /// Triggers before which frames were too many.
    pub(super) incomplete: u64,
}

impl Before {
    pub(super) fn new(before: Duration, after: Duration) -> Self {
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4);
        Self {
            before_ns: ns(before),
            after_ns: ns(after),
            waiting: VecDeque::new(),
            until_ns: i64::MIN,
            forgotten_ns: i64::MIN,
            triggers: 0,
            incomplete: 0,
        }
    }

    /// Takes a frame, and records what is wanted: this frame, those before it, or nothing yet.
    pub(super) fn add(&mut self, kept: Kept, is_trigger: bool, mut record: impl FnMut(&Kept)) {
        let oldest_ns = kept.at_ns.saturating_sub(self.before_ns);
        while self.waiting.front().is_some_and(|first| first.at_ns < oldest_ns) {
            self.waiting.pop_front();
        }
        if is_trigger {
            self.triggers += 1;
            if self.forgotten_ns >= oldest_ns {
                self.incomplete += 1;
                self.forgotten_ns = i64::MIN;
            }
            self.until_ns = kept.at_ns.saturating_add(self.after_ns);
            self.waiting.drain(..).for_each(|kept| record(&kept));
            record(&kept);
        } else if kept.at_ns <= self.until_ns {
            record(&kept);
        } else {
            if self.waiting.len() == MOST
                && let Some(forgotten) = self.waiting.pop_front()
            {
                self.forgotten_ns = forgotten.at_ns;
            }
            self.waiting.push_back(kept);
        }
    }
}
