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
//! The idea, two goals and the width are those of MLRsearch (FD.io CSIT); its trial durations and exceed ratios are not
//! here.

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
    /// No loss.
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
mod tests;
