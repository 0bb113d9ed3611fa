//! Length of the warm-up of a run.
//!
//! The first frames through a path pay for page faults, cold caches and rising clock frequencies. The run is steady as soon as
//! one window of frames does not differ from the next.

mod mann_whitney;

use super::LatencyNs;
use mann_whitney::are_alike;

/// Frames per window, and the smallest number dropped.
pub const WINDOW: usize = 500;

/// Frames to drop at the start, a multiple of [`WINDOW`]: everything before the first window that is like the one before.
/// `None` if no two successive windows are alike. Frames are in send order; a lost one, `None`, counts as the longest.
///
/// "Alike" is a two-sided rank test at 5 %. Steady windows differ by chance once in twenty, in which case the next one is
/// tried.
pub fn frames_to_drop(frames: &[Option<LatencyNs>]) -> Option<usize> {
    let windows: Vec<_> = frames.chunks_exact(WINDOW).collect();
    let before = windows.windows(2).position(|pair| are_alike(pair[0], pair[1]))?;
    Some((before + 1) * WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_core::random::SplitMix64;

    fn noisy(random: &mut SplitMix64, at_least: i64) -> Option<LatencyNs> {
        Some(LatencyNs(at_least + i64::try_from(random.below(1000)).unwrap()))
    }

    /// The additional time shrinks to zero at `steady_from`.
    fn warming(random: &mut SplitMix64, steady_from: usize, count: usize) -> Vec<Option<LatencyNs>> {
        let extra = |at: usize| i64::try_from(steady_from.saturating_sub(at)).unwrap();
        (0..count).map(|at| noisy(random, 8000 + extra(at))).collect()
    }

    #[test]
    fn steady_run_drops_one_window() {
        assert_eq!(frames_to_drop(&vec![Some(LatencyNs(5)); 1000]), Some(500));
        assert_eq!(frames_to_drop(&vec![None; 1000]), Some(500));
    }

    #[test]
    fn whole_slope_is_dropped() {
        let mut random = SplitMix64::new(3);
        for steady_from in [600, 1400, 2300] {
            let Some(frames) = frames_to_drop(&warming(&mut random, steady_from, 8000)) else {
                panic!("never steady from {steady_from}");
            };
            // A window that has the last few frames of the slope may be like the next one.
            assert!((steady_from - 100..steady_from + 1600).contains(&frames), "{frames}, not {steady_from}");
        }
    }

    #[test]
    fn run_that_never_settles_is_never_steady() {
        let mut random = SplitMix64::new(4);
        let run = warming(&mut random, 6000, 4000);
        assert_eq!(frames_to_drop(&run), None);
        assert_eq!(frames_to_drop(&run[..999]), None);
    }

    #[test]
    fn initial_losses_are_warm_up() {
        let mut random = SplitMix64::new(5);
        let mut run = warming(&mut random, 0, 4000);
        run[..500].iter_mut().step_by(4).for_each(|frame| *frame = None);
        assert_eq!(frames_to_drop(&run), Some(1000));
    }

    /// One window in twenty of a steady run differs by chance.
    #[test]
    fn steady_windows_rarely_differ() {
        let mut random = SplitMix64::new(6);
        let at_once = (0..400).filter(|_| frames_to_drop(&warming(&mut random, 0, 1000)) == Some(500));
        let at_once = at_once.count();
        assert!((364..=394).contains(&at_once), "{at_once} of 400");
    }
}
