//! What the frames of an identifier have in common.

use std::collections::{BTreeMap, HashSet};

use super::constant::Constant;
use crate::traffic::Recorded;

/// Gaps below which nothing is said about a period.
const FEWEST_GAPS: usize = 10;

/// Times between two frames of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Number of gaps.
    pub count: usize,
    /// Median in ns.
    pub median_ns: u64,
    /// Median absolute deviation from the median, in ns.
    pub mad_ns: u64,
    /// The shortest, in ns.
    pub min_ns: u64,
    /// The longest, in ns.
    pub max_ns: u64,
}

impl Gaps {
    fn of(mut gaps: Vec<u64>) -> Option<Self> {
        let median_ns = median(&mut gaps)?;
        let mut deviations: Vec<u64> = gaps.iter().map(|gap| gap.abs_diff(median_ns)).collect();
        Some(Self {
            count: gaps.len(),
            median_ns,
            mad_ns: median(&mut deviations)?,
            min_ns: gaps.first().copied()?,
            max_ns: gaps.last().copied()?,
        })
    }

    /// True if the identifier has a period: at least 10 gaps, and most are within a fifth of the median.
    #[must_use]
    pub fn is_cyclic(&self) -> bool {
        self.count >= FEWEST_GAPS && self.mad_ns <= self.median_ns / 5 && self.median_ns > 0
    }
}

/// Sorts, and returns the value in the middle.
fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// What was seen of an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// As [`Recorded::id`].
    pub id: u32,
    /// Data frames.
    pub frames: usize,
    /// Remote frames.
    pub remote: usize,
    /// Data frames by length in bytes.
    pub lengths: BTreeMap<usize, usize>,
    /// Different payloads.
    pub distinct: usize,
    /// Bits that never changed, in the bytes that all data frames have.
    pub constant: Constant,
    /// Of data frames. `None` with fewer than two.
    pub gaps: Option<Gaps>,
    /// The most data frames in any second.
    pub most_per_s: usize,
    /// The time of each data frame in ns, by log.
    pub times: Vec<Vec<u64>>,
    /// The longest time from the last data frame to the end of a log, in ns.
    pub ended_before_ns: u64,
}

/// What was seen of each identifier in logs, each of which begins at its own time.
#[must_use]
pub fn observe(logs: &[Vec<Recorded>]) -> Vec<Observed> {
    let mut by_id: BTreeMap<u32, Vec<Vec<&Recorded>>> = BTreeMap::new();
    for (at, log) in logs.iter().enumerate() {
        for frame in log {
            let of_id = by_id.entry(frame.id).or_default();
            of_id.resize(at + 1, Vec::new());
            if let Some(last) = of_id.last_mut() {
                last.push(frame);
            }
        }
    }
    let ends: Vec<u64> = logs.iter().map(|log| log.last().map_or(0, |last| last.at_ns)).collect();
    by_id.into_iter().map(|(id, logs)| of_id(id, &logs, &ends)).collect()
}

fn of_id(id: u32, logs: &[Vec<&Recorded>], ends: &[u64]) -> Observed {
    let data = || logs.iter().flat_map(|log| data_of(log)).map(|one| one.payload.as_slice());
    let mut lengths = BTreeMap::new();
    for payload in data() {
        *lengths.entry(payload.len()).or_default() += 1;
    }
    let times: Vec<Vec<u64>> = logs.iter().map(|log| data_of(log).map(|one| one.at_ns).collect()).collect();
    let gaps = times.iter().flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let ended = times.iter().zip(ends).filter_map(|(times, end)| Some(end - times.last()?));
    Observed {
        id,
        ended_before_ns: ended.max().unwrap_or_default(),
        frames: data().count(),
        remote: logs.iter().flatten().filter(|one| one.is_remote).count(),
        lengths,
        distinct: data().collect::<HashSet<_>>().len(),
        constant: Constant::of(data()),
        gaps: Gaps::of(gaps),
        most_per_s: times.iter().map(|times| most_per_s(times)).max().unwrap_or_default(),
        times,
    }
}

fn data_of<'a>(log: &'a [&'a Recorded]) -> impl Iterator<Item = &'a Recorded> + Clone {
    log.iter().copied().filter(|one| !one.is_remote)
}

fn most_per_s(times: &[u64]) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (at, time) in times.iter().enumerate() {
        while times.get(first).is_some_and(|begin| time - begin >= 1_000_000_000) {
            first += 1;
        }
        most = most.max(at + 1 - first);
    }
    most
}
