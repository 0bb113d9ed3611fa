//! A claim of a paper, and its verdict on each kernel.

pub(super) use candor_lab::report::Judgement as Verdict;
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

use super::measurement::Measurement;
use super::quantity::Quantity;

/// One sentence of a paper that a number can confirm or refute.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    /// In our words.
    pub(super) claim: String,
    /// With the paper's numbers.
    pub(super) published: String,
    quantity: Spanned<Quantity>,
    pub(super) unit: Unit,
    /// Values with which it is true.
    holds: Bounds,
    holds_because: Option<String>,
    /// The reason may be the laboratory.
    differs_because: Option<String>,
    /// The kernel has changed.
    no_longer_true_because: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Bounds {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    /// A multiple.
    Times,
    Microseconds,
    Percent,
    Nanoseconds,
    Frames,
    /// Without a unit.
    Number,
}

/// A claim on one kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// `None` for a claim that names its kernels.
    pub(super) kernel: Option<String>,
    pub(super) value: Option<f64>,
    pub(super) verdict: Verdict,
}

impl Judged {
    /// Real-time kernels are listed, and decide only claims that name them.
    pub(super) fn is_realtime(&self) -> bool {
        self.kernel.as_ref().is_some_and(|kernel| kernel.ends_with("-rt"))
    }
}

impl Claim {
    #[cfg(test)]
    pub(super) fn terms(&self) -> Vec<&super::quantity::Term> {
        self.quantity.get_ref().terms()
    }

    pub(super) fn check(&self, measured: &Measurement) -> Result<(), (Range<usize>, String)> {
        let terms = self.quantity.get_ref().terms().into_iter().try_for_each(|term| measured.check(term));
        terms.map_err(|message| (self.quantity.span(), message))
    }

    /// On each of the kernels, or once if it names them itself.
    pub(super) fn judge(&self, measurement: &Measurement, kernels: &[&str]) -> Vec<Judged> {
        let one = |kernel: Option<&str>| {
            let value = self.quantity.get_ref().value(measurement, kernel);
            let verdict = match value {
                None => Verdict::NotMeasured,
                Some(value) if self.holds.contain(value) => Verdict::Holds,
                Some(_) if self.no_longer_true_because.is_some() => Verdict::NoLongerTrue,
                Some(_) => Verdict::Differs,
            };
            Judged { kernel: kernel.map(str::to_owned), value, verdict }
        };
        match &self.quantity.get_ref().kernels()[..] {
            [] => kernels.iter().map(|kernel| one(Some(kernel))).collect(),
            named if named.iter().all(|kernel| kernels.contains(kernel)) => vec![one(None)],
            _ => Vec::new(),
        }
    }

    /// The reason for a verdict.
    pub(super) fn because(&self, verdict: Verdict) -> String {
        let text = match verdict {
            Verdict::Holds => &self.holds_because,
            Verdict::Differs => &self.differs_because,
            Verdict::NoLongerTrue => &self.no_longer_true_because,
            Verdict::NotMeasured => &self.holds_because,
        };
        text.clone().unwrap_or_default()
    }
}

impl Bounds {
    fn contain(self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least) && self.at_most.is_none_or(|most| value <= most)
    }
}

impl Unit {
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2} times"),
            Self::Microseconds => format!("{value:.1} µs"),
            Self::Percent => format!("{value:.1} %"),
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Frames => format!("{value:.0} frames"),
            Self::Number => format!("{value:.5}"),
        }
    }
}
