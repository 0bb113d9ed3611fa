//! What B takes beside A, where everything else is equal: an A/B comparison of records.
//!
//! ```text
//!  runs of A, runs of B ─┬─ instructions are counted: each figure exactly, run by run
//!                        └─ otherwise: medians of runs, an interval, a noise floor from A/A ─▶ Verdict
//! ```
//!
//! What the runs cannot support is refused in words: quantiles of too few frames, verdicts of too few runs, stamps of different
//! sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::stats::compare::{Comparison, Exact, NoiseFloor, NotCompared, RUNS_NEEDED, Runs, Verdict};
use crate::stats::{LatencyNs, Quantile, Series, TooFew};

use super::CONFIDENCE;
use crate::record::{Header, Record};

/// Seed of what is drawn for intervals; a constant, so that the same records give the same words.
pub const SEED: u64 = 1;

/// What differs between two sets of runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Each record of A is the one of B, in every byte.
    Identical,
    /// Figure by figure.
    Figures {
        /// p50, p90, p99 and max.
        figures: Box<[(&'static str, Figure); 4]>,
        /// Frames that did not come through, of A and of B.
        lost: [usize; 2],
        /// What an instruction lasts, if they are counted.
        instruction_ns: Option<u32>,
        /// Conditions that differ, with what they are in A and in B.
        notes: Vec<String>,
    },
    /// They are not compared, for this reason.
    Refused(String),
}

/// A figure of A and of B.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Instructions, which repeat.
    Counted {
        /// Of A.
        a: i64,
        /// Of B.
        b: i64,
        /// That in words.
        exact: Exact,
    },
    /// Times of several runs.
    Judged {
        /// Median of the runs of A.
        a: LatencyNs,
        /// Median of the runs of B.
        b: LatencyNs,
        /// What is said of them.
        verdict: Verdict,
        /// By how much equal runs differ, if there are two.
        floor: Option<NoiseFloor>,
    },
    /// There is no verdict, for this reason; but times, if any frame arrived.
    Refused {
        /// Of A and of B.
        times: Option<[LatencyNs; 2]>,
        /// Why.
        why: String,
    },
}

/// Whether B is worse than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is not.
    Yes,
    /// It is.
    Worse,
    /// Nobody can say.
    Unknown,
}

const QUANTILES: [(&str, Quantile); 3] = [("p50", Quantile::P50), ("p90", Quantile::P90), ("p99", Quantile::P99)];

impl Difference {
    /// Compares runs of A with runs of B.
    #[must_use]
    pub fn of(a: &[Record], b: &[Record]) -> Self {
        if !a.is_empty() && a == b {
            return Self::Identical;
        }
        if let Some(why) = refusal(a, b) {
            return Self::Refused(why);
        }
        let lost = [a, b].map(|runs| {
            let all = runs.iter().flat_map(|run| &run.samples);
            all.filter(|sample| sample.disposition.is_lost()).count()
        });
        let series = |runs: &[Record]| -> Option<Vec<Series>> { runs.iter().map(Record::series).collect() };
        let (Some(in_a), Some(in_b)) = (series(a), series(b)) else {
            let which = if series(a).is_none() { "A" } else { "B" };
            return Self::Refused(format!("no frame arrived in a run of {which}"));
        };
        let instruction_ns = a[0].header.instruction_ns;
        let figure = |quantile| Figure::of(&in_a, &in_b, quantile, instruction_ns);
        let [p50, p90, p99] = QUANTILES.map(|(name, quantile)| (name, figure(quantile)));
        let figures = [p50, p90, p99, ("max", Figure::of(&in_a, &in_b, Quantile::MAX, instruction_ns))];
        Self::Figures { figures: Box::new(figures), lost, instruction_ns, notes: notes(&a[0].header, &b[0].header) }
    }

    /// Whether B takes at most this share more than A at p50, p90 and p99, and loses no more frames. Of max nothing is
    /// asked: it bounds nothing.
    #[must_use]
    pub fn held_to(&self, tolerance: f64) -> Held {
        match self {
            Self::Identical => Held::Yes,
            Self::Refused(_) => Held::Unknown,
            Self::Figures { lost: [a, b], .. } if b > a => Held::Worse,
            Self::Figures { figures, .. } => {
                let [p50, p90, p99, _max] = &**figures;
                let all = [p50, p90, p99].map(|(_, figure)| figure.held_to(tolerance));
                let worst = [Held::Worse, Held::Unknown].into_iter().find(|held| all.contains(held));
                worst.unwrap_or(Held::Yes)
            }
        }
    }

    /// How many times as long as A B takes at p50, where that is known.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Self::Identical => Some(1.0),
            Self::Refused(_) => None,
            Self::Figures { figures, .. } => {
                let [a, b] = match &figures[0].1 {
                    Figure::Counted { a, b, .. } => [LatencyNs(*a), LatencyNs(*b)],
                    Figure::Judged { a, b, .. } => [*a, *b],
                    Figure::Refused { .. } => return None,
                };
                b.ratio_to(a)
            }
        }
    }
}

impl Figure {
    fn of(a: &[Series], b: &[Series], quantile: Quantile, instruction_ns: Option<u32>) -> Self {
        let [in_a, in_b] = [a, b].map(|runs| median(runs, quantile));
        let fewest = a.iter().chain(b).map(Series::count).min().unwrap_or_default();
        let refused = |why: String| Self::Refused { times: Some([in_a, in_b]), why };
        // The longest frame is what it is, however few there are; it is said of these frames and of no others.
        if let Some(too_few) = TooFew::for_interval(fewest, quantile, CONFIDENCE).filter(|_| quantile != Quantile::MAX)
        {
            return refused(too_few.to_string());
        }
        if let Some(ns) = instruction_ns
            && let Some(exact) = Exact::of(a, b, quantile, ns)
        {
            let counted = |LatencyNs(time): LatencyNs| time / i64::from(ns.max(1));
            return Self::Counted { a: counted(in_a), b: counted(in_b), exact };
        }
        let floor = NoiseFloor::of(&[pairs_of_equals(a), pairs_of_equals(b)].concat(), quantile);
        match Comparison::of(Runs::Apart { a, b }, quantile, CONFIDENCE, SEED) {
            Err(why @ NotCompared::TooFewRuns { .. }) => {
                refused(format!("{why}: repeats = {RUNS_NEEDED} in the plan makes them"))
            }
            Err(why) => refused(why.to_string()),
            Ok(comparison) => Self::Judged { a: in_a, b: in_b, verdict: Verdict::of(Ok(comparison), floor), floor },
        }
    }

    fn held_to(&self, tolerance: f64) -> Held {
        let worse = |is_worse: bool| if is_worse { Held::Worse } else { Held::Yes };
        match self {
            Self::Refused { .. } => Held::Unknown,
            Self::Judged { verdict: Verdict::Slower(change), .. } => worse(change.share.value > tolerance),
            Self::Judged { .. } => Held::Yes,
            Self::Counted { a, b, .. } => match LatencyNs(*b).ratio_to(LatencyNs(*a)) {
                Some(ratio) => worse(ratio > 1.0 + tolerance),
                None => worse(b > a),
            },
        }
    }
}

/// Runs of one device beside each other, each in one pair.
fn pairs_of_equals(runs: &[Series]) -> Vec<(Series, Series)> {
    runs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Of an even number the lower one, so that it is one that was measured.
fn median(runs: &[Series], quantile: Quantile) -> LatencyNs {
    let mut all: Vec<_> = runs.iter().map(|run| run.quantile(quantile)).collect();
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// Why nothing is said of these runs.
fn refusal(a: &[Record], b: &[Record]) -> Option<String> {
    let (Some(first), Some(other)) = (a.first(), b.first()) else { return Some("there is no run of it".to_owned()) };
    let (first, other) = (&first.header, &other.header);
    let all = || a.iter().chain(b).map(|run| &run.header);
    if all().any(|header| (&header.testbed, header.instruction_ns) != (&first.testbed, first.instruction_ns)) {
        return Some(format!("their times are of different clocks: {} and {}", first.testbed, other.testbed));
    }
    if all().any(|header| header.stamps != first.stamps) {
        return Some(format!("their stamps are of different sources: {}; and {}", first.stamps, other.stamps));
    }
    None
}

/// What else is not the same. What one of them does not have is a dash.
fn notes(a: &Header, b: &Header) -> Vec<String> {
    let (in_a, in_b) = (conditions(a), conditions(b));
    let keys: BTreeSet<&String> = in_a.keys().chain(in_b.keys()).collect();
    let differing = keys.into_iter().filter(|key| in_a.get(*key) != in_b.get(*key));
    let shown = |conditions: &BTreeMap<String, String>, key: &str| {
        conditions.get(key).map_or_else(|| "–".to_owned(), Clone::clone)
    };
    differing.map(|key| format!("{} {} → {}", key.replace('_', " "), shown(&in_a, key), shown(&in_b, key))).collect()
}

/// The conditions of a record as texts; what its testbed is made of, one by one.
fn conditions(header: &Header) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(all)) = serde_json::to_value(header.conditions()) else { return BTreeMap::new() };
    let shown = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut conditions = BTreeMap::new();
    for (key, value) in &all {
        match value {
            serde_json::Value::Object(parts) => {
                conditions.extend(parts.iter().map(|(part, value)| (part.clone(), shown(value))));
            }
            value => drop(conditions.insert(key.clone(), shown(value))),
        }
    }
    conditions
}

#[cfg(test)]
mod tests;
