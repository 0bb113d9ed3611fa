use std::time::Duration;

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

    /// How long the timer runs for a pause of at least `shortest`. Pauses that are long enough are unchanged.
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
    fn slow_frames_make_the_time_longer_and_fast_ones_shorter() {
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
