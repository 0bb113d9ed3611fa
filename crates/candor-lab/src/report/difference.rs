//! A/B comparison of records that are equal in everything else.
//!
//! ```text
//!  runs of A, runs of B ─┬─ instructions are counted: each figure exactly, run by run
//!                        └─ otherwise: medians of runs, an interval, a noise floor from A/A ─▶ Verdict
//! ```
//!
//! Comparisons that the runs do not support are refused: quantiles of too few frames, verdicts on too few runs, timestamps of
//! different sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{HOST, Header, Record};
use crate::stats::compare::{Change, NoiseFloor, NotCompared, RUNS_NEEDED, Verdict};
use crate::stats::{CONFIDENCE, LatencyNs, Quantile, Series, TooFew};

/// Seed of the bootstrap; constant, so that the same records give the same text.
pub const SEED: u64 = 1;

#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The samples are equal byte by byte.
    Identical,
    Figures {
        /// p50, p90, p99 and max.
        figures: Box<[(&'static str, Figure); 4]>,
        /// Numbers of lost frames in A and B.
        lost: [usize; 2],
        /// ns per instruction, if they are counted.
        instruction_ns: Option<u32>,
        /// Differing conditions, with their values in A and B.
        notes: Vec<String>,
    },
    /// Not comparable, for this reason.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Instructions, which are reproducible.
    Counted {
        a: i64,
        b: i64,
        /// Every frame takes the same.
        is_identical: bool,
    },
    /// Times of several runs.
    Judged {
        /// Median of the runs.
        a: LatencyNs,
        b: LatencyNs,
        verdict: Verdict,
        /// `None` without pairs of equal runs.
        floor: Option<NoiseFloor>,
    },
    /// No verdict, for this reason.
    Refused { a: LatencyNs, b: LatencyNs, why: String },
}

/// Result of the comparison with the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    Worse,
    Unknown,
}

const QUANTILES: [(&str, Quantile); 3] = [("p50", Quantile::P50), ("p90", Quantile::P90), ("p99", Quantile::P99)];

impl Difference {
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

    /// True if B takes at most this share longer than A at p50, p90 and p99, and loses no more frames. The maximum does
    /// not count: it bounds nothing.
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

    /// p50 of B as a multiple of A's.
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
        let refused = |why: String| Self::Refused { a: in_a, b: in_b, why };
        // The maximum is one of these frames, however few there are, and bounds no others.
        if let Some(too_few) = TooFew::for_interval(fewest, quantile, CONFIDENCE).filter(|_| quantile != Quantile::MAX)
        {
            return refused(too_few.to_string());
        }
        // Where instructions are counted, the runs of one device are equal.
        let one = |runs: &'_ [Series]| runs.iter().all(|run| *run == runs[0]);
        if let Some(ns) = instruction_ns
            && one(a)
            && one(b)
        {
            let counted = |LatencyNs(time): LatencyNs| time / i64::from(ns.max(1));
            return Self::Counted { a: counted(in_a), b: counted(in_b), is_identical: a[0] == b[0] };
        }
        let pairs: Vec<[&Series; 2]> =
            a.chunks_exact(2).chain(b.chunks_exact(2)).map(|two| [&two[0], &two[1]]).collect();
        let floor = NoiseFloor::of(&pairs, quantile);
        match Change::of([a, b], quantile, CONFIDENCE, SEED) {
            Err(why @ NotCompared::TooFewRuns { .. }) => {
                refused(format!("{why}: repeats = {RUNS_NEEDED} in the plan makes them"))
            }
            Err(why) => refused(why.to_string()),
            Ok(change) => Self::Judged { a: in_a, b: in_b, verdict: Verdict::of(change, floor), floor },
        }
    }

    fn held_to(&self, tolerance: f64) -> Held {
        let worse = |is_worse: bool| if is_worse { Held::Worse } else { Held::Yes };
        match self {
            Self::Refused { .. } => Held::Unknown,
            Self::Judged { verdict: Verdict::Slower(change), .. } => worse(change.value > tolerance),
            Self::Judged { .. } => Held::Yes,
            Self::Counted { a, b, .. } => match LatencyNs(*b).ratio_to(LatencyNs(*a)) {
                Some(ratio) => worse(ratio > 1.0 + tolerance),
                None => worse(b > a),
            },
        }
    }
}

/// The lower one for an even number, so that it is a measured value.
fn median(runs: &[Series], quantile: Quantile) -> LatencyNs {
    let mut all: Vec<_> = runs.iter().map(|run| run.quantile(quantile)).collect();
    all.sort_unstable();
    all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The reason why these runs cannot be compared.
fn refusal(a: &[Record], b: &[Record]) -> Option<String> {
    let (Some(first), Some(other)) = (a.first(), b.first()) else { return Some("there is no run".to_owned()) };
    let (first, other) = (&first.header, &other.header);
    let all = || a.iter().chain(b).map(|run| &run.header);
    if all().any(|header| (&header.testbed, header.instruction_ns) != (&first.testbed, first.instruction_ns)) {
        return Some(format!("their times have different clocks: {} and {}", first.testbed, other.testbed));
    }
    if all().any(|header| header.stamps != first.stamps) {
        return Some(format!("their timestamps have different sources: {} and {}", first.stamps, other.stamps));
    }
    // Machines that seem to be equal are not.
    let hosts: BTreeSet<&String> = all().filter_map(|header| header.platform.get(HOST)).collect();
    if let [one, other, ..] = hosts.into_iter().collect::<Vec<_>>()[..] {
        return Some(format!("their times are of different hosts: {one} and {other}"));
    }
    None
}

/// Other conditions that differ; a missing value is a dash.
fn notes(a: &Header, b: &Header) -> Vec<String> {
    let (in_a, in_b) = (conditions(a), conditions(b));
    let keys: BTreeSet<&String> = in_a.keys().chain(in_b.keys()).collect();
    let differing = keys.into_iter().filter(|key| in_a.get(*key) != in_b.get(*key));
    let shown = |conditions: &BTreeMap<String, String>, key: &str| {
        conditions.get(key).map_or_else(|| "–".to_owned(), Clone::clone)
    };
    differing.map(|key| format!("{} {} → {}", key.replace('_', " "), shown(&in_a, key), shown(&in_b, key))).collect()
}

/// Conditions of a record as text; components of the testbed one by one.
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
mod tests {
    use super::super::summary::tests::record;
    use super::*;
    use crate::record::Disposition;

    fn run(latencies: impl Iterator<Item = i64>) -> Record {
        record("d", "kernel", &latencies.map(Some).collect::<Vec<_>>())
    }

    fn counted(add: i64) -> [Record; 1] {
        [run((0..400).map(|step| 8000 + step + add))]
    }

    /// Times of a real clock, around this value.
    fn times(around: i64, runs: i64) -> Vec<Record> {
        let one = |number: i64| {
            let mut record = run((0..400).map(|step| around + 10 * step + number));
            record.header.testbed = "host".to_owned();
            record.header.instruction_ns = None;
            record
        };
        (0..runs).map(one).collect()
    }

    fn figures(difference: &Difference) -> &[(&'static str, Figure); 4] {
        let Difference::Figures { figures, .. } = difference else { panic!("{difference:?}") };
        figures
    }

    #[test]
    fn equal_records_are_identical_and_differences_are_counted() {
        assert_eq!(Difference::of(&counted(0), &counted(0)), Difference::Identical);
        let more = Difference::of(&counted(0), &counted(12));
        for (name, a) in [("p50", 8199), ("p90", 8359), ("p99", 8395), ("max", 8399)] {
            let (_, figure) = figures(&more).iter().find(|(known, _)| *known == name).unwrap();
            let Figure::Counted { a: in_a, b: in_b, .. } = figure else { panic!("{figure:?}") };
            assert_eq!((*in_a, *in_b), (a, a + 12), "{name}");
        }
        assert_eq!([0.001, 0.002].map(|tolerance| more.held_to(tolerance)), [Held::Worse, Held::Yes]);
        assert_eq!(Difference::of(&counted(12), &counted(0)).held_to(0.0), Held::Yes);
    }

    /// Equal frames, but different records.
    #[test]
    fn other_version_of_candor_is_a_note_and_no_difference() {
        let mut other = counted(0);
        other[0].header.candor_version = "0.2.0".to_owned();
        other[0].header.platform.insert("kernel_command_line".to_owned(), "quiet".to_owned());
        let difference = Difference::of(&counted(0), &other);
        let Difference::Figures { notes, .. } = &difference else { panic!("{difference:?}") };
        assert_eq!(notes, &["candor version 0.1.0 → 0.2.0", "kernel command line – → quiet"]);
        let is_identical = |figure: &Figure| matches!(figure, Figure::Counted { is_identical: true, .. });
        assert!(figures(&difference).iter().all(|(_, figure)| is_identical(figure)));
    }

    #[test]
    fn lost_frames_are_worse_than_latency() {
        let mut other = counted(-100);
        other[0].samples[7].far_ns = None;
        other[0].samples[7].disposition = Disposition::Lost;
        let difference = Difference::of(&counted(0), &other);
        assert!(matches!(difference, Difference::Figures { lost: [0, 1], .. }), "{difference:?}");
        assert_eq!(difference.held_to(1.0), Held::Worse);
    }

    #[test]
    fn instructions_that_differ_between_runs_are_not_counted() {
        let two = [counted(0), counted(1)].concat();
        let difference = Difference::of(&two, &counted(0));
        assert!(matches!(figures(&difference)[0].1, Figure::Refused { .. }), "{difference:?}");
    }

    #[test]
    fn times_need_runs_and_runs_have_a_noise_floor() {
        let refused = Difference::of(&times(50_000, 4), &times(60_000, 5));
        let Figure::Refused { a, b, why } = &figures(&refused)[0].1 else { panic!("{refused:?}") };
        assert_eq!([a.0, b.0], [51_991, 61_992]);
        assert_eq!(why, "not enough runs: 5 needed, 4 there: repeats = 5 in the plan makes them");
        assert_eq!(refused.held_to(1.0), Held::Unknown);

        let slower = Difference::of(&times(50_000, 5), &times(60_000, 5));
        let Figure::Judged { verdict: Verdict::Slower(change), floor: Some(floor), .. } = &figures(&slower)[0].1 else {
            panic!("{slower:?}")
        };
        assert!((change.value - 0.192).abs() < 0.001 && floor.pairs == 4, "{change:?} {floor:?}");
        assert_eq!([0.1, 0.2].map(|tolerance| slower.held_to(tolerance)), [Held::Worse, Held::Yes]);

        let same = Difference::of(&times(50_000, 5), &times(50_001, 5));
        assert!(matches!(figures(&same)[0].1, Figure::Judged { verdict: Verdict::BelowNoise(_), .. }), "{same:?}");
        assert_eq!(same.held_to(0.0), Held::Yes);
    }

    #[test]
    fn quantiles_of_few_frames_are_refused_but_not_the_maximum() {
        let few = |add: i64| [run((0..100).map(|step| 8000 + step + add))];
        let difference = Difference::of(&few(0), &few(3));
        let [_, _, p99, max] = figures(&difference);
        let Figure::Refused { why, .. } = &p99.1 else { panic!("{p99:?}") };
        assert_eq!(why, "n too small: p99 needs 368 frames, there are 100");
        assert!(matches!(max.1, Figure::Counted { a: 8099, b: 8102, .. }), "{max:?}");
        assert_eq!(difference.held_to(1.0), Held::Unknown);
    }

    #[test]
    fn times_of_two_hosts_are_not_compared() {
        let on = |host: &str, around| {
            let mut runs = times(around, 6);
            runs.iter_mut().for_each(|run| drop(run.header.platform.insert(HOST.to_owned(), host.to_owned())));
            runs
        };
        assert!(matches!(Difference::of(&on("n1", 8000), &on("n1", 9000)), Difference::Figures { .. }));
        let Difference::Refused(why) = Difference::of(&on("n1", 8000), &on("n2", 9000)) else { panic!("compared") };
        assert_eq!(why, "their times are of different hosts: n1 and n2");
    }

    #[test]
    fn clocks_and_timestamp_sources_are_not_mixed() {
        let why = |change: fn(&mut Record)| {
            let mut other = counted(0);
            change(&mut other[0]);
            match Difference::of(&counted(0), &other) {
                Difference::Refused(why) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            why(|other| other.header.testbed = "uml".to_owned()),
            "their times have different clocks: icount and uml"
        );
        assert!(why(|other| other.header.instruction_ns = Some(8)).contains("different clocks"));
        assert!(why(|other| other.header.stamps = "taps".to_owned()).contains("different sources"));
        assert_eq!(
            why(|other| other.samples.iter_mut().for_each(|sample| sample.far_ns = None)),
            "no frame arrived in a run of B"
        );
    }
}
