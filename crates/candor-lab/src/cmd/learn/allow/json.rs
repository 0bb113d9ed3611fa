//! The output of `candor learn allow --json`.

use candor_learn::allow::{Difference, Range};
use candor_learn::{name, written};
use serde::Serialize;

use super::changes::{Changes, words};
use super::{Entry, Logs, Verdicts};
use crate::cmd::learn::hex;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View<'a> {
    files: &'a [String],
    /// The file of `--compare`.
    later: Option<&'a str>,
    duration_s: f64,
    frames: usize,
    would_drop: usize,
    violations: Vec<ViolationView>,
    /// Without `--compare`.
    identifiers: Vec<IdentifierView>,
    /// With `--compare`.
    differences: Vec<DifferenceView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ViolationView {
    id_hex: String,
    key: &'static str,
    count: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IdentifierView {
    id_hex: String,
    frames: usize,
    remote_frames: usize,
    distinct: usize,
    lengths_byte: Vec<usize>,
    constant_mask_hex: Option<String>,
    constant_value_hex: Option<String>,
    mux: Option<MuxView>,
    values: Vec<RangeView>,
    cyclic: Option<bool>,
    median_gap_ns: Option<u64>,
    mad_gap_ns: Option<u64>,
    min_gap_ns: Option<u64>,
    max_gap_ns: Option<u64>,
    rate_per_s: Option<u32>,
    burst: Option<u32>,
    guard_min_gap_ns: Option<u64>,
    guard_silent_ns: Option<u64>,
    check: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MuxView {
    start_bit: u16,
    len_bit: u8,
    values: Vec<u8>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RangeView {
    signal: String,
    /// Physical, as decimal numbers.
    min: String,
    max: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferenceView {
    id_hex: String,
    kind: &'static str,
    message: String,
}

pub(super) fn view<'a>(logs: &'a Logs, entries: &[Entry], verdicts: &Verdicts) -> View<'a> {
    View { identifiers: entries.iter().map(identifier).collect(), ..about(logs, verdicts) }
}

pub(super) fn changed<'a>(logs: &'a Logs, changes: &'a Changes, verdicts: &Verdicts) -> View<'a> {
    let differences = changes.found.iter().map(|(id, difference)| DifferenceView {
        id_hex: name(*id),
        kind: match difference {
            Difference::New(_) => "new",
            Difference::Gone(_) => "gone",
            Difference::Lengths(_) => "lengths",
            Difference::Constant(_) => "constant",
            Difference::Period(..) => "period",
            Difference::Cyclic(_) => "cyclic",
        },
        message: words(difference),
    });
    View { later: Some(&changes.name), differences: differences.collect(), ..about(logs, verdicts) }
}

fn about<'a>(logs: &'a Logs, verdicts: &Verdicts) -> View<'a> {
    let violation = |((id, key), count): (&(u32, candor_learn::allow::Key), &usize)| ViolationView {
        id_hex: name(*id),
        key: key.name(),
        count: *count,
    };
    View {
        files: &logs.names,
        later: None,
        duration_s: logs.seconds(),
        frames: verdicts.frames,
        would_drop: verdicts.bad,
        violations: verdicts.counts.iter().map(violation).collect(),
        identifiers: Vec::new(),
        differences: Vec::new(),
    }
}

fn range(from: &Range) -> RangeView {
    let (min, max) = from.physical.clone();
    RangeView { signal: from.name.clone(), min, max }
}

fn identifier(entry: &Entry) -> IdentifierView {
    let Entry { seen, guard, learned, mux } = entry;
    let best = learned.schemes.first().filter(|best| best.is_strong());
    let constant = guard.constant.as_ref();
    IdentifierView {
        id_hex: name(seen.id),
        frames: seen.frames,
        remote_frames: seen.remote,
        distinct: seen.distinct,
        lengths_byte: seen.lengths.keys().copied().collect(),
        constant_mask_hex: constant.map(|one| hex(&one.mask)),
        constant_value_hex: constant.map(|one| hex(&one.value)),
        mux: mux.as_ref().map(|mux| MuxView { start_bit: mux.start, len_bit: mux.bits, values: mux.values.clone() }),
        values: guard.values.iter().map(range).collect(),
        cyclic: seen.gaps.map(|gaps| gaps.is_cyclic()),
        median_gap_ns: seen.gaps.map(|gaps| gaps.median_ns),
        mad_gap_ns: seen.gaps.map(|gaps| gaps.mad_ns),
        min_gap_ns: seen.gaps.map(|gaps| gaps.min_ns),
        max_gap_ns: seen.gaps.map(|gaps| gaps.max_ns),
        rate_per_s: guard.rate.map(|(rate, _)| rate),
        burst: guard.rate.map(|(_, burst)| burst),
        guard_min_gap_ns: guard.min_gap_ns,
        guard_silent_ns: guard.silent_ns,
        check: best.and_then(|best| written(best, &learned.counters).ok()).map(|written| written.check),
    }
}
