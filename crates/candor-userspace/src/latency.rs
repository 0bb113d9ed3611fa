//! Latency histograms with fixed bounds.

use std::ops::AddAssign;
use std::time::Duration;

/// Enables latency measurement, which costs two clock readings per batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeasureLatency {
    #[default]
    No,
    /// On, if the receiver has timestamps.
    Yes,
}

/// Latencies of accepted frames: from the kernel receive timestamp to the return of the system call that passed the
/// frame to the outgoing interface. In an eBPF program: to the program, which hands the frame over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Frames above the previous bound and up to this one; the last class has no bound.
    pub classes: [u64; CLASSES],
    pub sum: Duration,
}

/// Upper bounds of the classes; the last class has none.
pub const LATENCY_BOUNDS: [Duration; CLASSES - 1] = {
    let mut bounds = [Duration::ZERO; CLASSES - 1];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = Duration::from_micros(BOUNDS_US[at]);
        at += 1;
    }
    bounds
};

pub const CLASSES: usize = BOUNDS_US.len() + 1;

const BOUNDS_US: [u64; 16] =
    [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];

pub fn class(latency: Duration) -> usize {
    // Linear from the shortest, where nearly all are.
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
