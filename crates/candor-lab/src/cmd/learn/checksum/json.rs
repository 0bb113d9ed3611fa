//! The output of `candor learn checksum --json`.

use candor_e2e::ByteOrder;
use candor_learn::{FoundCounter, Outcome};
use serde::Serialize;

use super::Found;
use super::text::undecided;
use crate::cmd::learn::hex;
use crate::cmd::learn::log::Log;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View<'a> {
    file: &'a str,
    interface: &'a str,
    identifiers: Vec<IdentifierView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IdentifierView {
    id_hex: String,
    frames: usize,
    remote_frames: usize,
    lengths: Vec<LengthView>,
    /// The length that was searched.
    len_byte: usize,
    distinct: usize,
    result: &'static str,
    reason: Option<String>,
    check: Option<String>,
    protect: Option<String>,
    note: Option<String>,
    evidence_bit: Option<f64>,
    explained: Option<usize>,
    of: Option<usize>,
    unexplained: Vec<UnexplainedView>,
    counters: Vec<CounterView>,
    undecided: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LengthView {
    len_byte: usize,
    frames: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnexplainedView {
    line: usize,
    data_hex: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CounterView {
    start_bit: u16,
    len_bit: u8,
    order: &'static str,
    min: u32,
    max: u32,
    step: u32,
    steps: usize,
    of: usize,
    wraps: bool,
}

pub(super) fn view<'a>(log: &'a Log, found: &[Found]) -> View<'a> {
    View { file: &log.name, interface: &log.interface, identifiers: found.iter().map(identifier).collect() }
}

fn identifier(found: &Found) -> IdentifierView {
    let best = found.best();
    let written = found.written();
    let note = match &written {
        Some(Ok(written)) => written.follows.map(|why| why.to_string()),
        Some(Err(why)) => Some(why.to_string()),
        None => None,
    };
    let [check, protect] = match written {
        Some(Ok(written)) => [Some(written.check), Some(written.protect)],
        _ => [None, None],
    };
    let unexplained = |(line, payload): &(usize, Vec<u8>)| UnexplainedView { line: *line, data_hex: hex(payload) };
    IdentifierView {
        id_hex: found.id.to_string(),
        frames: found.frames,
        remote_frames: found.remote,
        lengths: found.lengths.iter().map(|(len, frames)| LengthView { len_byte: *len, frames: *frames }).collect(),
        len_byte: found.learned.len,
        distinct: found.learned.distinct,
        result: match found.learned.outcome {
            Outcome::Constant => "constant",
            Outcome::Found => "found",
            Outcome::Length => "length",
            Outcome::Nothing => "nothing",
            Outcome::TooFew => "too-few",
            Outcome::Weak => "weak",
        },
        reason: found.reason(),
        check,
        protect,
        note,
        evidence_bit: best.map(|best| best.evidence),
        explained: best.map(|best| best.explained),
        of: best.map(|best| best.of),
        unexplained: found.unexplained.iter().map(unexplained).collect(),
        counters: found.learned.counters.iter().map(counter).collect(),
        undecided: best.map_or_else(Vec::new, |best| best.ambiguities.iter().map(undecided).collect()),
    }
}

fn counter(from: &FoundCounter) -> CounterView {
    let counter = from.counter;
    CounterView {
        start_bit: counter.place.start,
        len_bit: counter.place.bits,
        order: match counter.place.order {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        },
        min: counter.min,
        max: counter.max,
        step: from.step,
        steps: from.steps,
        of: from.of,
        wraps: from.wraps,
    }
}
