//! Search for the highest rate at which frames pass.
//!
//! ```text
//!  Bounds ──▶ Search ──step()──▶ Step::Trial(rate) ──frames are sent──▶ Trial { sent, lost } ──record()──▶ Search …
//!                       └──────▶ Step::Done(Found { ndr, pdr })
//! ```
//!
//! In software, loss is random and not a function of the rate: a rate may pass once and fail once, and a higher rate may pass
//! where a lower one failed. So the majority of several trials decides about a rate, and the result is the highest rate that
//! passes below all that fail.
//!
//! # Source
//! The idea, two goals and the width are those of
//! [MLRsearch](https://datatracker.ietf.org/doc/draft-ietf-bmwg-mlrsearch/) (FD.io CSIT); its trial durations and exceed
//! ratios are not here.

use std::fmt;

use candor_egress::policy::FrameRate;

/// 0.5 %.
const PARTIAL_LOSS_PPM: u64 = 5_000;
/// The search ends when a passing and a failing rate differ by at most 0.5 %.
const WIDTH_PPM: u64 = 5_000;
/// Trials that decide about a rate: two of at most three.
const MAJORITY: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    lower: FrameRate,
    upper: FrameRate,
}

impl Bounds {
    /// `None` unless `lower < upper`.
    pub fn new(lower: FrameRate, upper: FrameRate) -> Option<Self> {
        (lower < upper).then_some(Self { lower, upper })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Due frames. One that the tester could not send on time counts as lost: otherwise a rate that was never sent
    /// could pass.
    pub sent: u64,
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Done(Found),
    /// Send at this rate and record the result.
    Trial(FrameRate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Non-drop rate: the highest without loss.
    pub ndr: Throughput,
    /// Partial drop rate: the highest with at most 0.5 % loss.
    pub pdr: Throughput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// The upper bound passes.
    AtLeast(FrameRate),
    /// The lower bound fails.
    Below(FrameRate),
    /// The two differ by at most 0.5 % or one frame/s.
    Between {
        /// Highest passing rate below all failing ones.
        passes: FrameRate,
        fails: FrameRate,
    },
}

/// A search in progress; the same results give the same rates.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    trials: Vec<(FrameRate, Trial)>,
}

impl Search {
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, trials: Vec::new() }
    }

    /// The next step; unchanged until a result is recorded.
    pub fn step(&self) -> Step {
        match (self.find(Goal::Ndr), self.find(Goal::Pdr)) {
            (Ok(ndr), Ok(pdr)) => Step::Done(Found { ndr, pdr }),
            (Err(rate), _) | (_, Err(rate)) => Step::Trial(rate),
        }
    }

    /// Accepts any rate.
    pub fn record(&mut self, rate: FrameRate, trial: Trial) {
        self.trials.push((rate, trial));
    }

    /// `Err` is the rate to try next.
    fn find(&self, goal: Goal) -> Result<Throughput, FrameRate> {
        let Bounds { lower, upper } = self.bounds;
        if self.judge(upper, goal)? == Judgement::Passes && self.lowest_that_fails(goal).is_none() {
            return Ok(Throughput::AtLeast(upper));
        }
        if self.judge(lower, goal)? == Judgement::Fails {
            return Ok(Throughput::Below(lower));
        }
        let fails = self.lowest_that_fails(goal).unwrap_or(upper);
        let passes = self.highest_that_passes(goal, fails).unwrap_or(lower);
        match between(passes, fails) {
            None => Ok(Throughput::Between { passes, fails }),
            // It is between the two, so no majority has decided about it yet.
            Some(middle) => Err(middle),
        }
    }

    fn lowest_that_fails(&self, goal: Goal) -> Option<FrameRate> {
        self.decided(goal, Judgement::Fails).min()
    }

    fn highest_that_passes(&self, goal: Goal, below: FrameRate) -> Option<FrameRate> {
        self.decided(goal, Judgement::Passes).filter(|&rate| rate < below).max()
    }

    fn decided(&self, goal: Goal, judgement: Judgement) -> impl Iterator<Item = FrameRate> {
        self.trials.iter().map(|&(rate, _)| rate).filter(move |&rate| self.judge(rate, goal) == Ok(judgement))
    }

    /// Majority of the trials, `Err(rate)` without one. A tie fails.
    fn judge(&self, rate: FrameRate, goal: Goal) -> Result<Judgement, FrameRate> {
        let results: Vec<Trial> =
            self.trials.iter().filter(|(tried, _)| *tried == rate).map(|(_, trial)| *trial).collect();
        let passed = results.iter().filter(|trial| goal.is_reached(**trial)).count();
        let failed = results.len() - passed;
        if passed >= MAJORITY && passed > failed {
            Ok(Judgement::Passes)
        } else if failed >= MAJORITY {
            Ok(Judgement::Fails)
        } else {
            Err(rate)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Non-drop rate: no frame is lost.
    Ndr,
    /// At most [`PARTIAL_LOSS_PPM`] lost.
    Pdr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Fails,
    Passes,
}

impl Goal {
    /// False without any frame sent.
    const fn is_reached(self, Trial { sent, lost }: Trial) -> bool {
        let most = match self {
            Self::Ndr => 0,
            Self::Pdr => PARTIAL_LOSS_PPM,
        };
        sent > 0 && lost as u128 * 1_000_000 <= sent as u128 * most as u128
    }
}

impl Throughput {
    /// `None` if no rate passes.
    pub const fn rate(self) -> Option<FrameRate> {
        match self {
            Self::AtLeast(rate) | Self::Between { passes: rate, .. } => Some(rate),
            Self::Below(_) => None,
        }
    }

    /// The rate to measure at: the highest that passes, or the lowest tried.
    pub const fn tried(&self) -> FrameRate {
        match self {
            Self::AtLeast(rate) | Self::Below(rate) | Self::Between { passes: rate, .. } => *rate,
        }
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, rate) = match self {
            Self::AtLeast(rate) => ("at least ", rate),
            Self::Below(rate) => ("below ", rate),
            Self::Between { passes, .. } => ("", passes),
        };
        write!(f, "{word}{} frames/s", rate.frames_per_second())
    }
}

/// `None` if the two are close enough.
fn between(passes: FrameRate, fails: FrameRate) -> Option<FrameRate> {
    let (passes, fails) = (passes.frames_per_second(), fails.frames_per_second());
    let width = fails.saturating_sub(passes);
    let is_near = width <= 1 || u64::from(width) * 1_000_000 <= u64::from(fails) * WIDTH_PPM;
    if is_near { None } else { FrameRate::new(u32::midpoint(passes, fails)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use candor_core::random::SplitMix64;

    const SENT: u64 = 10_000;

    fn rate(frames_per_second: u32) -> FrameRate {
        FrameRate::new(frames_per_second).unwrap()
    }

    fn bounds(lower: u32, upper: u32) -> Bounds {
        Bounds::new(rate(lower), rate(upper)).unwrap()
    }

    /// Searches with a device that loses `lost(rate)` frames.
    fn search(bounds: Bounds, mut lost: impl FnMut(u32) -> u64) -> (Found, Search) {
        let mut search = Search::new(bounds);
        for _ in 0..300 {
            match search.step() {
                Step::Done(found) => return (found, search),
                Step::Trial(rate) => search.record(rate, Trial { sent: SENT, lost: lost(rate.frames_per_second()) }),
            }
        }
        panic!("no end after 300 trials: {search:?}");
    }

    /// Losses of a device that passes at most `limit` frames/s.
    fn over(limit: u32, rate: u32) -> u64 {
        SENT * u64::from(rate.saturating_sub(limit)) / u64::from(rate)
    }

    fn ends(throughput: Throughput) -> (u32, u32) {
        match throughput {
            Throughput::Between { passes, fails } => (passes.frames_per_second(), fails.frames_per_second()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lossless_device_is_tried_twice() {
        let (found, search) = search(bounds(100, 8000), |_| 0);
        assert_eq!(found, Found { ndr: Throughput::AtLeast(rate(8000)), pdr: Throughput::AtLeast(rate(8000)) });
        assert_eq!((search.trials.len(), found.ndr.to_string()), (2, "at least 8000 frames/s".to_owned()));
    }

    #[test]
    fn device_that_loses_everything_is_below_the_bounds() {
        let (found, _) = search(bounds(100, 8000), |_| SENT);
        assert_eq!(found, Found { ndr: Throughput::Below(rate(100)), pdr: Throughput::Below(rate(100)) });
        assert_eq!((found.pdr.rate(), found.pdr.to_string()), (None, "below 100 frames/s".to_owned()));
    }

    #[test]
    fn small_loss_is_partial() {
        let (found, _) = search(bounds(100, 8000), |rate| if rate > 1000 { 50 } else { 0 });
        assert_eq!(found.pdr, Throughput::AtLeast(rate(8000)));
        let (passes, fails) = ends(found.ndr);
        assert!(passes <= 1000 && 1000 < fails, "{passes} {fails}");
        let (found, _) = search(bounds(100, 8000), |rate| if rate > 1000 { 51 } else { 0 });
        assert_eq!(found.ndr, found.pdr);
    }

    #[test]
    fn trial_without_frames_fails() {
        let mut search = Search::new(bounds(1, 2));
        (0..2).for_each(|_| search.record(rate(2), Trial { sent: 0, lost: 0 }));
        assert_eq!(search.step(), Step::Trial(rate(1)));
    }

    /// An occasional loss does not lower the rate.
    #[test]
    fn occasional_loss_is_outvoted() {
        let right = (0..200).filter(|&seed| {
            let mut random = SplitMix64::new(seed);
            let (found, _) = search(bounds(100, 8000), |rate| over(5000, rate).max(u64::from(random.below(100) < 3)));
            matches!(found.ndr, Throughput::Between { passes, .. } if passes.frames_per_second() > 4950)
        });
        let right = right.count();
        assert!(right >= 185, "{right} of 200");
    }

    /// None, a few, and more than allowed.
    fn some_loss() -> impl Strategy<Value = u64> {
        prop::sample::select(vec![0, 0, 1, 51])
    }

    proptest! {
        #[test]
        fn limit_is_found(limit in 200u32..1_000_000) {
            let (found, search) = search(bounds(100, 2_000_000), |rate| over(limit, rate));
            // The first loss of one frame of the trial.
            let (passes, fails) = ends(found.ndr);
            prop_assert!(over(limit, passes) == 0 && over(limit, fails) > 0);
            prop_assert!(passes >= limit - limit / 200 - 1 && fails <= limit + limit / 100 + 1, "{} {}", passes, fails);
            prop_assert!(fails - passes <= 1.max(fails / 200));
            let (passes, fails) = ends(found.pdr);
            prop_assert!(over(limit, passes) <= 50 && over(limit, fails) > 50);
            prop_assert!(fails - passes <= 1.max(fails / 200));
            prop_assert!(search.trials.len() <= 100, "{}", search.trials.len());
        }

        /// Between the rates at which frames are never and always lost, chance decides.
        #[test]
        fn noisy_limit_is_found_within_its_noise(never in 1000u32..50_000, wide in 0u32..5000, seed: u64) {
            let always = never + wide;
            let mut random = SplitMix64::new(seed);
            let (found, _) = search(bounds(100, 100_000), |rate| match rate {
                _ if rate <= never => 0,
                _ if rate > always => SENT / 100,
                _ => u64::from(u32::try_from(random.below(wide as usize + 1)).unwrap() < rate - never) * (SENT / 100),
            });
            for throughput in [found.ndr, found.pdr] {
                let (passes, fails) = ends(throughput);
                prop_assert!(passes <= always && never < fails && passes < fails, "{} {}", passes, fails);
                prop_assert!(fails - passes <= 1.max(fails / 200));
            }
        }

        /// For any device the search ends, and its result agrees with the trials.
        #[test]
        fn random_device_gets_a_consistent_result(losses in prop::collection::vec(some_loss(), 1..60), lower in 1u32..1000,
                                                       range in 1u32..1_000_000) {
            let mut losses = losses.into_iter().cycle();
            let (found, search) = search(bounds(lower, lower + range), |_| losses.next().unwrap());
            for (throughput, most) in [(found.ndr, 0), (found.pdr, 50)] {
                let votes = |rate: FrameRate| {
                    let of_rate = search.trials.iter().filter(|(tried, _)| *tried == rate);
                    of_rate.fold((0, 0), |(pass, fail), (_, trial)| if trial.lost <= most { (pass + 1, fail) } else { (pass, fail + 1) })
                };
                let fail_below = |end: u32| {
                    let tried = search.trials.iter().map(|(tried, _)| *tried);
                    tried.filter(|tried| tried.frames_per_second() < end && votes(*tried).1 >= 2).count()
                };
                match throughput {
                    Throughput::AtLeast(rate) => prop_assert!(votes(rate).0 >= 2 && fail_below(u32::MAX) == 0),
                    Throughput::Below(rate) => prop_assert!(votes(rate).1 >= 2),
                    Throughput::Between { passes, fails } => {
                        prop_assert!(votes(passes).0 >= 2 && votes(fails).1 >= 2 && passes < fails);
                        prop_assert_eq!(fail_below(fails.frames_per_second()), 0);
                    }
                }
            }
            prop_assert!(found.ndr.rate() <= found.pdr.rate());
        }
    }
}
