use std::time::Duration;

use candor_core::random::SplitMix64;

/// Reproducible random pauses that spread frames over the period of the timer tick.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    random: SplitMix64,
    shortest: Duration,
    spread_ns: u64,
}

impl Pauses {
    pub(crate) fn new(seed: u64, (shortest, longest): (Duration, Duration)) -> Self {
        let spread = longest.saturating_sub(shortest);
        Self {
            random: SplitMix64::new(seed),
            shortest,
            spread_ns: u64::try_from(spread.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn next(&mut self) -> Duration {
        self.shortest + Duration::from_nanos(self.random.next_u64() % self.spread_ns.saturating_add(1))
    }
}

/// Extends the timer to cover the leading frame: at once after a slow one, and back gradually after fast ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ahead {
    needed: Duration,
}

impl Ahead {
    /// Slower frames are outliers that the timer does not cover.
    const MOST: Duration = Duration::from_millis(10);
    /// Divisor of the decrease per frame.
    const SLOWLY: u32 = 64;

    /// Duration of the timer for a pause of at least `shortest`. Pauses that are long enough are unchanged.
    pub(super) fn interval(self, shortest: Duration, pause: Duration) -> Duration {
        self.needed.saturating_sub(shortest) + pause
    }

    /// The tester needs about as long again to read the frame and go to sleep.
    pub(super) fn took(&mut self, passage: Duration) {
        let wanted = (passage * 2).min(Self::MOST);
        let slower = self.needed.saturating_sub(self.needed.saturating_sub(wanted) / Self::SLOWLY);
        self.needed = wanted.max(slower);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_in_range_and_repeat() {
        let range = (Duration::from_micros(500), Duration::from_micros(1500));
        let take = |seed| {
            let mut pauses = Pauses::new(seed, range);
            (0..1000).map(|_| pauses.next()).collect::<Vec<_>>()
        };
        assert!(take(1).iter().all(|pause| (range.0..=range.1).contains(pause)));
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn fixed_pause_is_constant() {
        let mut pauses = Pauses::new(7, (Duration::from_millis(1), Duration::from_millis(1)));
        assert!((0..10).all(|_| pauses.next() == Duration::from_millis(1)));
    }

    #[test]
    fn slow_frames_extend_the_timer_and_fast_ones_shorten_it() {
        let us = Duration::from_micros;
        let mut ahead = Ahead::default();
        let interval = |ahead: Ahead| ahead.interval(us(200), us(350));
        assert_eq!(interval(ahead), us(350));
        ahead.took(us(100));
        assert_eq!(interval(ahead), us(350), "the shortest pause is long enough");
        ahead.took(us(500));
        assert_eq!(interval(ahead), us(1150), "1000 instead of the 200 that the shortest pause has");
        ahead.took(us(100));
        assert!(interval(ahead) < us(1150) && interval(ahead) > us(1100));
        (0..2000).for_each(|_| ahead.took(us(50)));
        assert_eq!(interval(ahead), us(350));
        ahead.took(Duration::from_secs(1));
        assert_eq!(interval(ahead), us(10_150));
    }
}
