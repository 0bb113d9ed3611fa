//! Signals of several groups.

use crate::database::Signal;
use crate::index::{self, Index};

/// Makes one signal of those that are the same in several groups of a multiplexer.
pub(super) fn groups(signals: &mut Vec<Signal>) {
    let names = Index::new(signals.iter().map(|one| index::of_name(&one.name)));
    let mut joined: Vec<Signal> = Vec::with_capacity(signals.len());
    // The new number of each.
    let mut numbers: Vec<usize> = Vec::with_capacity(signals.len());
    for (at, mut signal) in signals.drain(..).enumerate() {
        if let Some(presence) = &mut signal.present {
            // A multiplexer is before its groups.
            presence.switch = numbers[presence.switch];
        }
        let first =
            names.at(index::of_name(&signal.name)).next().filter(|first| *first < at).map(|first| numbers[first]);
        if let Some(first) = first.filter(|first| is_same(&mut joined[*first], &mut signal)) {
            let ranges = signal.present.map(|presence| presence.ranges);
            if let (Some(of_first), Some(ranges)) = (&mut joined[first].present, ranges) {
                of_first.ranges.extend_from_slice(&ranges);
            }
            numbers.push(first);
        } else {
            numbers.push(joined.len());
            joined.push(signal);
        }
    }
    *signals = joined;
}

/// True if two signals differ in nothing but their lines and the group of one multiplexer.
fn is_same(one: &mut Signal, other: &mut Signal) -> bool {
    let switch = |signal: &Signal| signal.present.as_ref().map(|presence| presence.switch);
    if switch(one).is_none() || switch(one) != switch(other) || one.is_switch {
        return false;
    }
    let take = |signal: &mut Signal| (signal.present.take(), std::mem::take(&mut signal.line));
    let (of_one, of_other) = (take(one), take(other));
    let is_same = one == other;
    (one.present, one.line) = of_one;
    (other.present, other.line) = of_other;
    is_same
}
