//! When frames are due.

/// Times of a recording on the clock of this machine.
#[derive(Debug)]
pub(super) struct Pace {
    speed: f64,
    /// When the first frame of this round is due.
    start_ns: i64,
    /// Its time in the recording.
    first_ns: Option<i64>,
    last_ns: i64,
    /// Frames whose times are before those of earlier frames.
    pub(super) unordered: u64,
}

impl Pace {
    pub(super) const fn new(start_ns: i64, speed: f64) -> Self {
        Self { speed, start_ns, first_ns: None, last_ns: start_ns, unordered: 0 }
    }

    /// When a frame is due; never before an earlier one.
    pub(super) fn due(&mut self, at_ns: i64) -> i64 {
        let first = *self.first_ns.get_or_insert(at_ns);
        #[expect(clippy::cast_possible_truncation, reason = "exact up to 104 days, which is longer than a recording")]
        let since = (at_ns.saturating_sub(first) as f64 / self.speed) as i64;
        let due = self.start_ns.saturating_add(since);
        self.unordered += u64::from(due < self.last_ns);
        self.last_ns = self.last_ns.max(due);
        self.last_ns
    }

    /// Begins the recording again: its first frame is due when the last one was.
    pub(super) const fn again(&mut self) {
        (self.start_ns, self.first_ns) = (self.last_ns, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_scaled_and_never_go_back() {
        let mut pace = Pace::new(1000, 2.0);
        let at = 1_700_000_000_000_000_000;
        assert_eq!([0, 100, 50, 300].map(|after| pace.due(at + after)), [1000, 1050, 1050, 1150]);
        assert_eq!(pace.unordered, 1);
        pace.again();
        assert_eq!([0, 100].map(|after| pace.due(at + after)), [1150, 1200]);
        let mut slow = Pace::new(0, 0.5);
        assert_eq!([5, 105].map(|at| slow.due(at)), [0, 200]);
    }
}
