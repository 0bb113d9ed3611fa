//! Detects another program that keeps deleting jobs.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Jobs are reinstalled this many times …
pub(crate) const PATIENCE: usize = 5;
/// … within this period. Jobs are checked every 30 s at least, so a program that deletes them continually is detected
/// by then.
pub(crate) const MEMORY: Duration = Duration::from_secs(300);

/// Times at which jobs were found deleted.
#[derive(Debug, Default)]
pub(crate) struct Fights(VecDeque<Instant>);

impl Fights {
    /// Adds an occurrence; true if there were too many.
    pub(crate) fn note(&mut self, now: Instant) -> bool {
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
