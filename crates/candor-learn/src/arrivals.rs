//! When the frames of an identifier come, as a period with jitter or as a shortest gap.

use crate::allow::Observed;

/// Digits of a period. Fewer would be too short for the bus load, more would be those of an oscillator.
const DIGITS: u32 = 4;
const US: u64 = 1000;

/// When the frames of an identifier come. All frames of the logs keep to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At a period. Frame `n` after another one is at least `n * period_ns - jitter_ns` after it, for all `n`.
    Cyclic {
        /// Mean time between two frames in ns, rounded down to four digits and 1 µs; missing frames count.
        period_ns: u64,
        /// The least that explains all frames, in ns, rounded up to 1 µs. It is less than the period.
        jitter_ns: u64,
    },
    /// Without a period.
    Sporadic {
        /// The shortest gap in ns, rounded down to 1 µs. 0 if two frames have the same time.
        min_gap_ns: u64,
    },
    /// One frame, or none: nothing is known.
    Once,
}

impl Arrivals {
    /// Of what was seen of an identifier.
    #[must_use]
    pub fn of(seen: &Observed) -> Self {
        let Some(gaps) = seen.gaps else { return Self::Once };
        if gaps.is_cyclic() {
            let period_ns = period(&seen.times, gaps.median_ns);
            let jitters = seen.times.iter().map(|times| jitter(times, period_ns));
            let jitter_ns = jitters.max().unwrap_or_default().next_multiple_of(US);
            if jitter_ns < period_ns {
                return Self::Cyclic { period_ns, jitter_ns };
            }
        }
        Self::Sporadic { min_gap_ns: gaps.min_ns / US * US }
    }
}

/// The slope of a line through all times, where a gap with missing frames is as many periods as medians fit into it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "53 bits of ns"
)]
fn period(logs: &[Vec<u64>], median_ns: u64) -> u64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for times in logs {
        let mut at = 0;
        let points = times.iter().enumerate().map(|(number, time)| {
            let before = times[number.saturating_sub(1)];
            at += (time - before + median_ns / 2) / median_ns;
            (at as f64, (time - times[0]) as f64)
        });
        let points: Vec<(f64, f64)> = points.collect();
        let count = points.len().max(1) as f64;
        let (x_sum, y_sum) = points.iter().fold((0.0, 0.0), |(x_sum, y_sum), (x, y)| (x_sum + x, y_sum + y));
        let (x_mean, y_mean) = (x_sum / count, y_sum / count);
        products += points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum::<f64>();
        squares += points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum::<f64>();
    }
    // Half a nanosecond more, for what a fraction loses.
    let mean = (products / f64::max(squares, 1.0) + 0.5) as u64;
    let unit = 10_u64.pow(mean.max(1).ilog10().saturating_sub(DIGITS - 1)).max(US);
    (mean / unit * unit).max(US)
}

/// The most by which a frame comes before the period of an earlier one has passed.
fn jitter(times: &[u64], period_ns: u64) -> u64 {
    // How late a frame is with regard to the first one at its place, and the latest so far.
    let mut latest = i128::MIN;
    let mut most = 0;
    for (number, time) in (0_i128..).zip(times) {
        let late = i128::from(*time) - number * i128::from(period_ns);
        latest = latest.max(late);
        most = most.max(latest - late);
    }
    u64::try_from(most).unwrap_or(u64::MAX - US)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;
    use crate::allow::observe;

    fn arrivals(logs: &[Vec<u64>]) -> Arrivals {
        let frame = |at_ns: &u64| Recorded { at_ns: *at_ns, id: 0x123, is_remote: false, payload: vec![0; 8] };
        let logs: Vec<Vec<Recorded>> = logs.iter().map(|times| times.iter().map(frame).collect()).collect();
        observe(&logs).first().map_or(Arrivals::Once, Arrivals::of)
    }

    /// Numbers below `below`, of which all tests have the same.
    struct Random(u64);

    impl Random {
        fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }
    }

    /// Every pair of frames, not only that which gives the jitter.
    fn explains(times: &[u64], period_ns: u64, jitter_ns: u64) -> bool {
        (0..times.len()).all(|first| {
            (first..times.len()).all(|last| {
                let periods = u64::try_from(last - first).unwrap();
                times[last] - times[first] + jitter_ns >= periods * period_ns
            })
        })
    }

    #[test]
    fn finds_periods_and_jitter_that_are_known() {
        let mut random = Random(1);
        for period_ns in [5_000_000, 10_000_000, 20_000_000, 100_000_000, 1_000_000_000] {
            // In parts per million: the oscillator of the sender.
            for drift in [0, 80] {
                for jitter in [1, period_ns / 50, period_ns / 3] {
                    let true_period = period_ns - period_ns / 1_000_000 * drift;
                    let mut times: Vec<u64> =
                        (0..600).map(|number| 1 + number * true_period + random.below(jitter)).collect();
                    // Frames that the log does not have.
                    for _ in 0..5 {
                        times.remove(usize::try_from(random.below(590)).unwrap() + 1);
                    }
                    let Arrivals::Cyclic { period_ns: found, jitter_ns } = arrivals(&[times.clone()]) else {
                        panic!("{period_ns} {jitter}: no period");
                    };
                    let share = |part: u64| part as f64 / true_period as f64;
                    assert!((share(found) - 1.0).abs() < 0.0015, "{found} is not {true_period}");
                    assert!(jitter_ns <= jitter + period_ns / 1000 * 6 + US, "{jitter_ns} is more than {jitter}");
                    assert!(explains(&times, found, jitter_ns));
                }
            }
        }
    }

    #[test]
    fn a_fast_oscillator_does_not_look_like_jitter() {
        // One hour at 10 ms less 50 ppm, and at 10 ms plus 50 ppm.
        let times = |period: u64| vec![(0..360_000).map(|number| number * period).collect::<Vec<u64>>()];
        assert_eq!(arrivals(&times(9_999_500)), Arrivals::Cyclic { period_ns: 9_999_000, jitter_ns: 0 });
        assert_eq!(arrivals(&times(10_000_500)), Arrivals::Cyclic { period_ns: 10_000_000, jitter_ns: 0 });
    }

    #[test]
    fn events_have_a_shortest_gap_and_rare_frames_nothing() {
        let mut random = Random(3);
        let mut at = 0;
        let times: Vec<u64> = (0..100)
            .map(|_| {
                at += 25_000_000 + random.below(900_000_000);
                at
            })
            .collect();
        let least = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        assert_eq!(arrivals(&[times]), Arrivals::Sporadic { min_gap_ns: least / US * US });
        assert_eq!(arrivals(&[vec![5]]), Arrivals::Once);
        assert_eq!(arrivals(&[vec![5], vec![7]]), Arrivals::Once, "time between two logs is no gap");
        assert_eq!(arrivals(&[vec![5, 5]]), Arrivals::Sporadic { min_gap_ns: 0 });
    }

    #[test]
    fn a_period_with_additional_frames_has_a_shortest_gap() {
        // Every tenth frame is sent again after 3 ms: more frames than the period explains.
        let mut times: Vec<u64> = (0..300).map(|number| number * 10_000_000).collect();
        times.extend((0..30).map(|number| number * 100_000_000 + 3_000_000));
        times.sort_unstable();
        assert_eq!(arrivals(&[times]), Arrivals::Sporadic { min_gap_ns: 3_000_000 });
    }
}
