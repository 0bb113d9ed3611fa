//! How late frames were.

use candor_lab::stats::{LatencyNs, Series};

/// Samples in memory; of more frames, every second, fourth and so on.
const MOST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Late {
    samples: Vec<LatencyNs>,
    /// One of so many frames is a sample.
    every: u64,
    pub(super) frames: u64,
    max: LatencyNs,
}

impl Late {
    pub(super) const fn new() -> Self {
        Self { samples: Vec::new(), every: 1, frames: 0, max: LatencyNs(i64::MIN) }
    }

    pub(super) fn add(&mut self, late: LatencyNs) {
        self.max = self.max.max(late);
        if self.frames.is_multiple_of(self.every) {
            if self.samples.len() == MOST {
                let mut is_even = false;
                self.samples.retain(|_sample| {
                    is_even = !is_even;
                    is_even
                });
                self.every *= 2;
            }
            // After MOST samples, an even number, this is a multiple of the doubled distance.
            self.samples.push(late);
        }
        self.frames += 1;
    }

    /// The samples, with the largest lateness of all frames.
    pub(super) fn series(mut self) -> Option<Series> {
        if self.samples.iter().max().is_some_and(|max| *max < self.max) {
            self.samples.push(self.max);
        }
        Series::new(self.samples)
    }
}

#[cfg(test)]
mod tests {
    use candor_lab::stats::Quantile;

    use super::*;

    #[test]
    fn many_frames_are_thinned_out() {
        let mut late = Late::new();
        let count = 5 * (1_i64 << 20);
        for ns in 0..count {
            late.add(LatencyNs(ns));
        }
        late.add(LatencyNs(count));
        assert!(late.samples.len() <= MOST && late.samples.len() > MOST / 2 && late.every == 8);
        assert!(late.samples.iter().zip(0..).all(|(late, at)| late.0 == 8 * at));
        let series = late.series().unwrap();
        assert_eq!(series.max(), LatencyNs(count));
        assert!((series.quantile(Quantile::P50).0 - count / 2).abs() <= 8);
        assert_eq!(Late::new().series(), None);
    }
}
