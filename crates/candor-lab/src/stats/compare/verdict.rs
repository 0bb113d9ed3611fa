//! What a comparison comes to, in a sentence.

use super::super::{Confidence, Quantile};
use super::{Comparison, Estimate, Exact, NoiseFloor, NotCompared};

/// What is said of B beside A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// B differs by no more than A differs from itself.
    BelowNoise {
        /// The floor.
        floor: NoiseFloor,
    },
    /// The testbed counts, and this is the count.
    Exact(Exact),
    /// B takes less time.
    Faster(Change),
    /// They were not compared.
    NotCompared(NotCompared),
    /// B takes more time.
    Slower(Change),
    /// The interval holds both more and less time: more runs may tell.
    Unclear(Change),
}

/// By which share of A's time B's time is longer; negative where it is shorter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of which latencies.
    pub quantile: Quantile,
    /// How sure the interval is.
    pub confidence: Confidence,
    /// 0.032 for 3.2 % more.
    pub share: Estimate<f64>,
}

impl Verdict {
    /// Judges a comparison. Without a floor, any difference whose interval leaves out zero is one.
    #[must_use]
    pub fn of(comparison: Result<Comparison, NotCompared>, floor: Option<NoiseFloor>) -> Self {
        let Comparison { quantile, confidence, ratio, .. } = match comparison {
            Ok(comparison) => comparison,
            Err(reason) => return Self::NotCompared(reason),
        };
        let share = Estimate { value: ratio.value - 1.0, lower: ratio.lower - 1.0, upper: ratio.upper - 1.0 };
        let change = Change { quantile, confidence, share };
        match floor.filter(|floor| share.value.abs() <= floor.share) {
            Some(floor) => Self::BelowNoise { floor },
            None if share.lower > 0.0 => Self::Slower(change),
            None if share.upper < 0.0 => Self::Faster(change),
            None => Self::Unclear(change),
        }
    }

    /// The sentence, with what B is called.
    #[must_use]
    pub fn sentence(&self, b: &str) -> String {
        match self {
            Self::BelowNoise { floor } => {
                format!("~ no difference: below the noise floor of {}", percent(floor.share))
            }
            Self::Exact(exact) => exact.sentence(b),
            Self::Faster(Change { quantile, confidence, share }) => {
                let (least, most) = (percent_number(-share.upper), percent(-share.lower));
                format!("{b} is {} faster at {quantile} ({confidence}: {least} to {most})", percent(-share.value))
            }
            Self::NotCompared(reason) => reason.to_string(),
            Self::Slower(Change { quantile, confidence, share }) => {
                let (least, most) = (percent_number(share.lower), percent(share.upper));
                format!("{b} is {} slower at {quantile} ({confidence}: {least} to {most})", percent(share.value))
            }
            Self::Unclear(Change { quantile, confidence, share }) => {
                let (least, most) = (percent_number(share.lower), percent(share.upper));
                format!("~ no difference shown at {quantile} ({confidence}: {least} to {most}): more runs may tell")
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", percent_number(share))
}

/// With the places that a share of this size deserves.
fn percent_number(share: f64) -> String {
    let percent = share * 100.0;
    let places = if percent.abs() < 0.1 { 3 } else { usize::from(percent.abs() < 100.0) };
    let text = format!("{percent:.places$}");
    // What rounds to nothing has no sign.
    if text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::LatencyNs;

    fn verdict(value: f64, lower: f64, upper: f64, floor: Option<f64>) -> String {
        let none = LatencyNs(0);
        let comparison = Comparison {
            quantile: Quantile::P50,
            confidence: Confidence::P95,
            difference: Estimate { value: none, lower: none, upper: none },
            ratio: Estimate { value, lower, upper },
        };
        Verdict::of(Ok(comparison), floor.map(|share| NoiseFloor { share, pairs: 10 })).sentence("B")
    }

    #[test]
    fn each_verdict_is_a_sentence() {
        assert_eq!(verdict(1.032, 1.029, 1.036, Some(0.004)), "B is 3.2 % slower at p50 (95 %: 2.9 to 3.6 %)");
        assert_eq!(verdict(0.5, 0.4, 0.55, None), "B is 50.0 % faster at p50 (95 %: 45.0 to 60.0 %)");
        assert_eq!(verdict(1.003, 1.002, 1.006, Some(0.004)), "~ no difference: below the noise floor of 0.4 %");
        assert_eq!(
            verdict(1.02, 0.99, 1.03, Some(0.004)),
            "~ no difference shown at p50 (95 %: -1.0 to 3.0 %): more runs may tell"
        );
        let none = Verdict::of(Err(NotCompared::TooFewRuns { there: 2 }), None);
        assert_eq!(none.sentence("B"), "not enough runs: 5 needed, 2 there");
    }

    #[test]
    fn shares_have_the_places_that_they_deserve() {
        assert_eq!([0.0, -0.000_000_1, 0.000_512, 2.5].map(percent_number), ["0", "0", "0.051", "250"]);
    }
}
