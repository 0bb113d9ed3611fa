//! How many frames of a run are warm-up.
//!
//! The first runs through a path pay for page faults, cold caches and clocks that speed up. How many they are cannot be
//! known before; it can be seen: the frames are steady where one window of them is no longer different from the next.
//!
//! For reports, which say so of a record whose warm-up was too short.

mod mann_whitney;

use super::LatencyNs;
use mann_whitney::are_alike;

/// Frames of a window, and the fewest that are ever dropped.
pub const WINDOW: usize = 500;

/// Where a run becomes steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// So many frames come first and are to be dropped.
    Dropped {
        /// How many, a multiple of [`WINDOW`].
        frames: usize,
    },
    /// No two successive windows are alike, or there are no two.
    NeverSteady {
        /// How many frames there are.
        frames: usize,
    },
}

impl WarmUp {
    /// Looks for the first window that is like the one before it; everything before that window is dropped. Frames are in
    /// the order in which they were sent, and a lost one, `None`, took longer than all others.
    ///
    /// "Alike" is a rank test of two sides at 5 %: neither window has latencies that are mostly longer. Frames that are
    /// steady are found different once in twenty windows, and then the next window is looked at.
    #[must_use]
    pub fn of(frames: &[Option<LatencyNs>]) -> Self {
        let windows: Vec<_> = frames.chunks_exact(WINDOW).collect();
        match windows.windows(2).position(|pair| are_alike(pair[0], pair[1])) {
            Some(before) => Self::Dropped { frames: (before + 1) * WINDOW },
            None => Self::NeverSteady { frames: frames.len() },
        }
    }
}

impl std::fmt::Display for WarmUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dropped { frames } => write!(f, "{frames} frames dropped as warm-up"),
            Self::NeverSteady { frames } if *frames < 2 * WINDOW => {
                write!(f, "{frames} frames are too few to see a warm-up: {} are needed", 2 * WINDOW)
            }
            Self::NeverSteady { frames } => {
                write!(f, "never steady in {frames} frames: send more, or look what changes")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_core::random::SplitMix64;

    fn noisy(random: &mut SplitMix64, at_least: i64) -> Option<LatencyNs> {
        Some(LatencyNs(at_least + i64::try_from(random.below(1000)).unwrap()))
    }

    /// Frames that take less and less extra time, and none from this one on.
    fn warming(random: &mut SplitMix64, steady_from: usize, count: usize) -> Vec<Option<LatencyNs>> {
        let extra = |at: usize| i64::try_from(steady_from.saturating_sub(at)).unwrap();
        (0..count).map(|at| noisy(random, 8000 + extra(at))).collect()
    }

    #[test]
    fn a_steady_run_loses_one_window() {
        assert_eq!(WarmUp::of(&vec![Some(LatencyNs(5)); 1000]), WarmUp::Dropped { frames: 500 });
        assert_eq!(WarmUp::of(&vec![None; 1000]), WarmUp::Dropped { frames: 500 });
    }

    #[test]
    fn a_slope_is_dropped_whole() {
        let mut random = SplitMix64::new(3);
        for steady_from in [600, 1400, 2300] {
            let WarmUp::Dropped { frames } = WarmUp::of(&warming(&mut random, steady_from, 8000)) else {
                panic!("never steady from {steady_from}");
            };
            // A window that has the last few frames of the slope may be like the next one.
            assert!((steady_from - 100..steady_from + 1600).contains(&frames), "{frames}, not {steady_from}");
        }
    }

    #[test]
    fn a_run_that_never_settles_says_so() {
        let mut random = SplitMix64::new(4);
        let run = warming(&mut random, 6000, 4000);
        assert_eq!(WarmUp::of(&run), WarmUp::NeverSteady { frames: 4000 });
        let short = WarmUp::of(&run[..999]);
        assert_eq!(short.to_string(), "999 frames are too few to see a warm-up: 1000 are needed");
    }

    #[test]
    fn losses_at_the_start_are_warm_up() {
        let mut random = SplitMix64::new(5);
        let mut run = warming(&mut random, 0, 4000);
        run[..500].iter_mut().step_by(4).for_each(|frame| *frame = None);
        assert_eq!(WarmUp::of(&run), WarmUp::Dropped { frames: 1000 });
    }

    /// One window in twenty of a steady run is found different.
    #[test]
    fn steady_windows_are_seldom_found_different() {
        let mut random = SplitMix64::new(6);
        let at_once =
            (0..400).filter(|_| WarmUp::of(&warming(&mut random, 0, 1000)) == WarmUp::Dropped { frames: 500 });
        let at_once = at_once.count();
        assert!((364..=394).contains(&at_once), "{at_once} of 400");
    }
}
