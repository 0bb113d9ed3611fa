//! What a paper says, how the same is seen here, and whether it still is so.

pub(super) use candor_lab::report::Judgement as Verdict;
use candor_lab::report::{Cell, Measured};
use candor_lab::stats::LatencyNs;

use super::method::at;
use super::sheet::Measurement;

/// Levels of factors by which a cell is found; all others have the level of the first cell of the plan.
pub(super) type Levels = &'static [(&'static str, &'static str)];

/// One sentence of a paper that can be put to the test.
#[derive(Debug)]
pub(super) struct Claim {
    /// In our words.
    pub(super) says: &'static str,
    /// With the paper's numbers.
    pub(super) published: &'static str,
    /// What we look at.
    pub(super) ours: Ours,
    /// What that is called.
    pub(super) unit: Unit,
    /// Between which values it holds, both included.
    pub(super) holds: (f64, f64),
    /// What it is otherwise.
    pub(super) otherwise: Verdict,
    /// Why it is as it was when this was written.
    pub(super) because: &'static str,
}

/// What is computed from cells, or was said by another method.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ours {
    /// One figure.
    Is(Of),
    /// The first as a multiple of the second.
    Ratio(Of, Of),
    /// How much of the first is beyond the second.
    Beyond(Of, Of),
    /// The largest of these cells as a multiple of the smallest.
    Spread(Figure, &'static [Levels]),
    /// A number in the answer of a method.
    Said(Said),
    /// A number in that answer as a multiple of another one.
    SaidRatio(Said, Said),
    /// How much of the first such number is beyond the second.
    SaidBeyond(Said, Said),
}

/// Where a number stands in the answer of a method ([`at`]).
pub(super) type Said = &'static [&'static str];

/// A figure of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of(pub(super) Figure, pub(super) Levels);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    Min,
    P50,
    P90,
    P99,
    Max,
    /// Frames that did not arrive, in percent.
    LostPercent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A multiple.
    Times,
    Microseconds,
    Percent,
    Nanoseconds,
    /// So many of the frames.
    Frames,
    /// Without a unit.
    Number,
}

/// A claim on one kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// `None` for a claim that compares kernels.
    pub(super) kernel: Option<String>,
    pub(super) value: Option<f64>,
    pub(super) verdict: Verdict,
}

impl Judged {
    /// Whether it is of a real-time kernel. What the papers say of them they say expressly.
    pub(super) fn is_realtime(&self) -> bool {
        self.kernel.as_ref().is_some_and(|kernel| kernel.ends_with("-rt"))
    }
}

impl Claim {
    /// On each of the kernels, or once if it names them itself.
    pub(super) fn judge(&self, measurement: &Measurement, kernels: &[&str]) -> Vec<Judged> {
        let one = |kernel: Option<&str>| {
            let value = self.ours.value(measurement, kernel);
            let (least, most) = self.holds;
            let verdict = match value {
                None => Verdict::NotMeasured,
                Some(value) if (least..=most).contains(&value) => Verdict::Holds,
                Some(_) => self.otherwise,
            };
            Judged { kernel: kernel.map(str::to_owned), value, verdict }
        };
        if self.ours.names_kernels() {
            return if self.ours.kernels().all(|kernel| kernels.contains(&kernel)) {
                vec![one(None)]
            } else {
                Vec::new()
            };
        }
        kernels.iter().map(|kernel| one(Some(kernel))).collect()
    }
}

impl Ours {
    pub(super) fn cells(&self) -> Vec<Levels> {
        match *self {
            Self::Is(Of(_, one)) => vec![one],
            Self::Ratio(Of(_, one), Of(_, other)) | Self::Beyond(Of(_, one), Of(_, other)) => vec![one, other],
            Self::Spread(_, all) => all.to_vec(),
            Self::Said(_) | Self::SaidRatio(..) | Self::SaidBeyond(..) => Vec::new(),
        }
    }

    fn kernels(&self) -> impl Iterator<Item = &'static str> {
        let all = self.cells().into_iter().flatten();
        all.filter(|(factor, _)| *factor == "kernel").map(|(_, level)| *level)
    }

    fn names_kernels(&self) -> bool {
        self.kernels().next().is_some()
    }

    fn value(&self, measurement: &Measurement, kernel: Option<&str>) -> Option<f64> {
        let of = |Of(figure, levels): Of| figure.of(measurement.cell(levels, kernel)?);
        let said = |path: Said| at(measurement.said(kernel)?, path)?.as_f64();
        let ratio = |one: f64, other: f64| (other != 0.0).then(|| one / other);
        match *self {
            Self::Is(one) => of(one),
            Self::Ratio(one, other) => ratio(of(one)?, of(other)?),
            Self::Beyond(one, other) => Some(of(one)? - of(other)?),
            Self::Spread(figure, all) => {
                let values = all.iter().map(|levels| of(Of(figure, levels))).collect::<Option<Vec<_>>>()?;
                ratio(values.iter().copied().reduce(f64::max)?, values.iter().copied().reduce(f64::min)?)
            }
            Self::Said(path) => said(path),
            Self::SaidRatio(one, other) => ratio(said(one)?, said(other)?),
            Self::SaidBeyond(one, other) => Some(said(one)? - said(other)?),
        }
    }
}

impl Figure {
    /// In µs, or in percent. `None` if no frame arrived, or the cell cannot be believed.
    pub(super) fn of(self, cell: &Cell) -> Option<f64> {
        let measured = cell.measured.as_ref()?;
        if self == Self::LostPercent {
            return percent(measured);
        }
        let figures = measured.figures?;
        let latency: LatencyNs = match self {
            Self::Min => figures.min,
            Self::P50 => figures.p50,
            Self::P90 => figures.p90,
            Self::P99 => figures.p99,
            Self::Max | Self::LostPercent => figures.max,
        };
        Some(latency.microseconds())
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::LostPercent => "lost",
        }
    }
}

fn percent(measured: &Measured) -> Option<f64> {
    let number = |count: usize| u32::try_from(count).ok().map(f64::from);
    Some(100.0 * number(measured.lost())? / number(measured.frames).filter(|frames| *frames > 0.0)?)
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
