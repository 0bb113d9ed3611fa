//! What a later log has that earlier ones had not.

use std::collections::BTreeMap;

use super::constant::Constant;
use super::observed::{Gaps, Observed};

/// A difference of an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is new, with this number of frames.
    New(usize),
    /// It is gone, after this number of frames.
    Gone(usize),
    /// Lengths in bytes that are new, with their frames.
    Lengths(Vec<(usize, usize)>),
    /// Bits that were constant and no longer are, and their former value.
    Constant(Constant),
    /// The median of the gaps before and now, in ns: they differ by more than a tenth and by 3 median deviations.
    Period(u64, u64),
    /// It was cyclic and is not any more, or the other way round: true now.
    Cyclic(bool),
}

/// The differences of a later log, in the order of identifiers.
#[must_use]
pub fn differences(before: &[Observed], later: &[Observed]) -> Vec<(u32, Difference)> {
    let mut ids: BTreeMap<u32, [Option<&Observed>; 2]> = BTreeMap::new();
    for (at, seen) in [before, later].into_iter().enumerate() {
        for one in seen {
            ids.entry(one.id).or_default()[at] = Some(one);
        }
    }
    let mut found = Vec::new();
    for (id, pair) in ids {
        match pair {
            [None, Some(now)] => found.push((id, Difference::New(now.frames + now.remote))),
            [Some(then), None] => found.push((id, Difference::Gone(then.frames + then.remote))),
            [Some(then), Some(now)] => found.extend(of_both(then, now).into_iter().map(|one| (id, one))),
            [None, None] => {}
        }
    }
    found
}

fn of_both(then: &Observed, now: &Observed) -> Vec<Difference> {
    let mut found = Vec::new();
    let is_new = |(len, _): &(&usize, &usize)| !then.lengths.contains_key(len);
    let lengths: Vec<_> = now.lengths.iter().filter(is_new).map(|(len, frames)| (*len, *frames)).collect();
    if !lengths.is_empty() {
        found.push(Difference::Lengths(lengths));
    }
    // A bit is still constant only if it has the same value.
    let still = |at: usize| match (now.constant.mask.get(at), now.constant.value.get(at), then.constant.value.get(at)) {
        (Some(mask), Some(value), Some(before)) => mask & !(value ^ before),
        _ => 0xFF,
    };
    let mask: Vec<u8> = then.constant.mask.iter().enumerate().map(|(at, mask)| mask & !still(at)).collect();
    if mask.iter().any(|byte| *byte != 0) {
        let value = mask.iter().zip(&then.constant.value).map(|(mask, value)| mask & value).collect();
        found.push(Difference::Constant(Constant { mask, value }));
    }
    if let (Some(before), Some(later)) = (then.gaps, now.gaps) {
        match [before, later].map(|one| one.is_cyclic()) {
            [true, true] if is_other(before, later) => {
                found.push(Difference::Period(before.median_ns, later.median_ns));
            }
            [one, other] if one != other && before.count.min(later.count) >= 30 => {
                found.push(Difference::Cyclic(other));
            }
            _ => {}
        }
    }
    found
}

fn is_other(before: Gaps, later: Gaps) -> bool {
    let apart = before.median_ns.abs_diff(later.median_ns);
    apart > before.median_ns / 10 && apart > 3 * before.mad_ns.max(later.mad_ns)
}
