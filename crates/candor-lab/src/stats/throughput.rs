//! The highest rate at which frames pass, searched with trials.
//!
//! ```text
//!  Bounds ──▶ Search ──step()──▶ Step::Trial(rate) ──somebody sends──▶ Trial { sent, lost } ──record()──▶ Search …
//!                       └──────▶ Step::Done(Found { ndr, pdr })
//! ```
//!
//! In software whether a frame is lost is chance, not a function of the rate: a rate may pass once and fail once, and a
//! higher rate may pass where a lower one failed. So a rate is judged by the majority of several trials, and what counts is
//! the highest rate that passes below all that fail.
//!
//! For the traffic `throughput` of plans.
//!
//! # Source
//! The idea, two goals and the width are those of MLRsearch (FD.io CSIT); its trial durations and exceed ratios are not
//! here.

use std::fmt;

use candor_egress::policy::FrameRate;

/// Half a percent.
const PARTIAL_LOSS_PPM: u64 = 5_000;
/// How near each other the rates that pass and that fail must be: half a percent of the latter, in parts per million.
const WIDTH_PPM: u64 = 5_000;
/// Trials that agree decide about a rate: two of at most three.
const MAJORITY: usize = 2;

/// Between which rates to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    lower: FrameRate,
    upper: FrameRate,
}

impl Bounds {
    /// `None` unless the lower rate is below the upper one.
    #[must_use]
    pub fn new(lower: FrameRate, upper: FrameRate) -> Option<Self> {
        (lower < upper).then_some(Self { lower, upper })
    }
}

/// What became of the frames of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// How many were to be sent in that time. A frame that the tester could not send on time counts as lost: else a rate
    /// that nobody sent would pass.
    pub sent: u64,
    /// How many of them did not arrive.
    pub lost: u64,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Both rates are known.
    Done(Found),
    /// Frames are to be sent at this rate, and the result is to be recorded.
    Trial(FrameRate),
}

/// What the search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The highest rate without loss.
    pub ndr: Throughput,
    /// The highest rate with no more than 0.5 % loss.
    pub pdr: Throughput,
}

/// A highest rate that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// The upper bound of the search passes.
    AtLeast(FrameRate),
    /// Even the lower bound of the search fails.
    Below(FrameRate),
    /// One rate passes, and one that is no more than 0.5 % (or one frame per second) above it fails.
    Between {
        /// The highest that passes below those that fail.
        passes: FrameRate,
        /// The lowest that fails.
        fails: FrameRate,
    },
}

/// A search under way. The same results give the same rates.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    trials: Vec<(FrameRate, Trial)>,
}

impl Search {
    /// A search between these rates.
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, trials: Vec::new() }
    }

    /// What is to be done next; the same until a result is recorded.
    #[must_use]
    pub fn step(&self) -> Step {
        match (self.find(Goal::Ndr), self.find(Goal::Pdr)) {
            (Ok(ndr), Ok(pdr)) => Step::Done(Found { ndr, pdr }),
            (Err(rate), _) | (_, Err(rate)) => Step::Trial(rate),
        }
    }

    /// Takes the result of a trial at this rate. Any rate will do, also one that was not asked for.
    pub fn record(&mut self, rate: FrameRate, trial: Trial) {
        self.trials.push((rate, trial));
    }

    /// How many trials were made.
    #[must_use]
    pub const fn trials(&self) -> usize {
        self.trials.len()
    }

    /// The highest rate that reaches a goal, or the rate to try next.
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

    /// What the majority of trials says of a rate, or the rate itself if there is none yet. As many that fail as that pass
    /// are a failure.
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

/// What a rate must do to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Lose nothing.
    Ndr,
    /// Lose no more than [`PARTIAL_LOSS_PPM`].
    Pdr,
}

/// What is thought of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Fails,
    Passes,
}

impl Goal {
    /// Nothing sent is nothing reached.
    const fn is_reached(self, Trial { sent, lost }: Trial) -> bool {
        let most = match self {
            Self::Ndr => 0,
            Self::Pdr => PARTIAL_LOSS_PPM,
        };
        sent > 0 && lost as u128 * 1_000_000 <= sent as u128 * most as u128
    }
}

impl Throughput {
    /// The highest rate that passes; `None` if none did.
    #[must_use]
    pub const fn rate(self) -> Option<FrameRate> {
        match self {
            Self::AtLeast(rate) | Self::Between { passes: rate, .. } => Some(rate),
            Self::Below(_) => None,
        }
    }

    /// The rate to measure at: the highest that passes, or the lowest that was tried.
    #[must_use]
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

/// The rate in the middle, unless the two are near enough.
fn between(passes: FrameRate, fails: FrameRate) -> Option<FrameRate> {
    let (passes, fails) = (passes.frames_per_second(), fails.frames_per_second());
    let width = fails.saturating_sub(passes);
    let is_near = width <= 1 || u64::from(width) * 1_000_000 <= u64::from(fails) * WIDTH_PPM;
    if is_near { None } else { FrameRate::new(u32::midpoint(passes, fails)) }
}

#[cfg(test)]
mod tests;
