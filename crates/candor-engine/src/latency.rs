//! How long frames were under way in candor, counted in fixed classes.

use std::ops::AddAssign;
use std::time::Duration;

/// Whether the latency of each frame is measured, which costs two readings of a clock for each hand-over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeasureLatency {
    /// No, and it costs nothing.
    #[default]
    No,
    /// Yes, where frames have receive stamps.
    Yes,
}

/// Latencies of frames that the outgoing interface took: from the kernel's receive stamp to the return of the system call
/// that handed the frame to the outgoing interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// How many frames took longer than the bound before and at most this one; the last are above all bounds.
    pub classes: [u64; CLASSES],
    /// The sum of all.
    pub sum: Duration,
}

/// Upper bounds of the classes, of which the last has none.
pub const LATENCY_BOUNDS: [Duration; CLASSES - 1] = {
    let mut bounds = [Duration::ZERO; CLASSES - 1];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = Duration::from_micros(BOUNDS_US[at]);
        at += 1;
    }
    bounds
};

/// Classes of latency.
pub(crate) const CLASSES: usize = BOUNDS_US.len() + 1;

const BOUNDS_US: [u64; 16] =
    [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

/// The class of a latency.
pub(crate) fn class(latency: Duration) -> usize {
    // From the short ones on, where nearly all are.
    LATENCY_BOUNDS.iter().position(|bound| latency <= *bound).unwrap_or(CLASSES - 1)
}

impl AddAssign for Latencies {
    fn add_assign(&mut self, other: Self) {
        self.classes.iter_mut().zip(other.classes).for_each(|(sum, more)| *sum += more);
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_class_below_it() {
        let us = Duration::from_micros;
        for (latency, expected) in [(0, 0), (10, 0), (11, 1), (20, 1), (1_000_000, 15), (1_000_001, 16)] {
            assert_eq!(class(us(latency)), expected, "{latency} µs");
        }
        assert!(LATENCY_BOUNDS.is_sorted());
    }

    #[test]
    fn latencies_add_up() {
        let mut sum = Latencies::default();
        for (at, micros) in [(0, 7), (2, 40)] {
            let mut one = Latencies { sum: Duration::from_micros(micros), ..Latencies::default() };
            one.classes[at] = 1;
            sum += one;
        }
        assert_eq!((sum.classes[0], sum.classes[2], sum.sum), (1, 1, Duration::from_micros(47)));
    }
}
