//! How often somebody deleted our jobs: once is an accident, again and again is another program with other ideas.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So many times they are put back …
pub(super) const PATIENCE: usize = 5;
/// … within this time. Jobs are looked at every half minute at least, so that a program that deletes them all the time is
/// found out by then.
pub(super) const MEMORY: Duration = Duration::from_secs(300);

/// When jobs were found deleted, lately.
#[derive(Debug, Default)]
pub(super) struct Fights(VecDeque<Instant>);

impl Fights {
    /// Notes that it happened once more, and says whether that was too often.
    pub(super) fn note(&mut self, now: Instant) -> bool {
        self.0.retain(|then| now.saturating_duration_since(*then) < MEMORY);
        self.0.push_back(now);
        self.0.len() > PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frequent_deletions_are_a_fight() {
        let start = Instant::now();
        let mut seldom = Fights::default();
        assert!((0..50).all(|time| !seldom.note(start + Duration::from_secs(60) * time)));
        let mut often = Fights::default();
        let noted: Vec<_> = (0..6).map(|time| often.note(start + Duration::from_secs(30) * time)).collect();
        assert_eq!(noted, [false, false, false, false, false, true]);
    }
}
