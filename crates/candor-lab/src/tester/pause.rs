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
    fn a_fixed_pause_is_fixed() {
        let mut pauses = Pauses::new(7, (Duration::from_millis(1), Duration::from_millis(1)));
        assert!((0..10).all(|_| pauses.next() == Duration::from_millis(1)));
    }
}
