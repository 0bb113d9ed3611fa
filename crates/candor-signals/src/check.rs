//! What is odd in a database, whatever its file format.

use crate::database::{Database, Kind, Message, Signal, mirrored};
use crate::index::{self, Index};
use crate::oddity::{Oddity, OddityKind, Refusal};
use crate::scale::Scale;

/// Finds oddities, refuses signals that cannot be used, and sorts all oddities by line.
pub(crate) fn check(database: &mut Database) {
    let mut odd = std::mem::take(&mut database.oddities);
    let names = Index::new(database.messages.iter().map(|one| index::of_name(&one.name)));
    let ids = Index::new(database.messages.iter().map(|one| one.id.map_or(u64::MAX, |id| id.raw().0.into())));
    for (at, message) in database.messages.iter().enumerate() {
        let mut note = |kind| odd.push(Oddity { line: message.line, subject: Some(message.name.clone()), kind });
        let earlier = |index: &Index, key| index.at(key).next().filter(|first| *first < at);
        if let Some(first) = earlier(&names, index::of_name(&message.name)) {
            note(OddityKind::SameMessageName(database.messages[first].line));
        }
        if let Some(first) = message.id.and_then(|id| earlier(&ids, id.raw().0.into())) {
            note(OddityKind::SameId(database.messages[first].name.clone()));
        }
        if !matches!(message.len, 0..=8 | 12 | 16 | 20 | 24 | 32 | 48 | 64) {
            note(OddityKind::Length(message.len));
        }
    }
    for message in &mut database.messages {
        self::message(message, &mut odd);
    }
    let order = Index::new(odd.iter().map(|one| one.line.into()));
    database.oddities = order.sorted().map(|at| odd[at].clone()).collect();
}

fn message(message: &mut Message, odd: &mut Vec<Oddity>) {
    let names = Index::new(message.signals.iter().map(|one| index::of_name(&one.name)));
    for at in 0..message.signals.len() {
        let refusal = refusal(message, at).or_else(|| {
            let first = names.at(index::of_name(&message.signals[at].name)).next().filter(|first| *first < at)?;
            Some(Refusal::SameName(message.signals[first].line))
        });
        let signal = &mut message.signals[at];
        signal.refusal = signal.refusal.take().or(refusal);
    }
    // A signal needs its switches. Chains are short, and a circle is not one.
    for at in 0..message.signals.len() {
        if message.signals[at].refusal.is_none()
            && switches(message, at).any(|switch| message.signals[switch].refusal.is_some())
        {
            message.signals[at].refusal = Some(Refusal::SwitchRefused);
        }
    }
    for signal in &mut message.signals {
        if signal.min.zip(signal.max).is_some_and(|(min, max)| min.compare(max).is_gt()) {
            (signal.min, signal.max) = (None, None);
            let subject = Some(format!("{}.{}", message.name, signal.name));
            odd.push(Oddity { line: signal.line, subject, kind: OddityKind::RangeReversed });
        }
    }
    let overlaps = overlaps(message);
    for (at, signal) in message.signals.iter().enumerate() {
        let mut note = |kind| {
            odd.push(Oddity { line: signal.line, subject: Some(format!("{}.{}", message.name, signal.name)), kind })
        };
        if let Some(refusal) = &signal.refusal {
            // The message has its own oddity.
            if *refusal != Refusal::Message {
                note(OddityKind::Refused(refusal.clone()));
            }
            continue;
        }
        values(signal, &mut note);
        for (_, other) in overlaps.iter().filter(|(one, _)| *one == at) {
            note(OddityKind::Overlap(message.signals[*other].name.clone()));
        }
    }
}

/// Why the signal cannot be used, without regard to others.
fn refusal(message: &Message, at: usize) -> Option<Refusal> {
    let signal = &message.signals[at];
    if message.id.is_none() {
        return Some(Refusal::Message);
    }
    if !(1..=64).contains(&signal.bits) {
        return Some(Refusal::Width(signal.bits));
    }
    if matches!((signal.kind, signal.bits), (Kind::Float32, bits) if bits != 32)
        || matches!((signal.kind, signal.bits), (Kind::Float64, bits) if bits != 64)
    {
        return Some(Refusal::FloatWidth(signal.bits));
    }
    let needs = signal.positions().max().unwrap_or(0) / 8 + 1;
    if needs > u32::from(message.len) {
        return Some(Refusal::OutsideFrame { needs, len: message.len });
    }
    if switches(message, at).count() > message.signals.len() {
        return Some(Refusal::SwitchCircle);
    }
    Scale::new(signal).is_none().then_some(Refusal::TooPrecise(signal.bits))
}

/// The switches that select a signal, one after the other; more than there are signals if there is a circle.
pub(crate) fn switches(message: &Message, at: usize) -> impl Iterator<Item = usize> {
    let next = |at: &usize| message.signals[*at].present.as_ref().map(|presence| presence.switch);
    std::iter::successors(next(&at), next).take(message.signals.len() + 1)
}

fn values(signal: &Signal, note: &mut impl FnMut(OddityKind)) {
    if signal.factor.is_zero() {
        note(OddityKind::FactorZero);
    }
    let Some((smallest, largest)) = signal.raw_range() else { return };
    let fits = |raw: &i128| (smallest..=largest).contains(raw);
    for value in signal.values.iter().filter(|value| !fits(&value.raw)) {
        note(OddityKind::ValueOutside(value.raw));
    }
    if let Some(start) = signal.start_value.filter(|start| !fits(start)) {
        note(OddityKind::StartOutside(start));
    }
    let (Some(min), Some(max)) = (signal.min, signal.max) else { return };
    let physical = |raw: i128| signal.factor.checked_mul(crate::Ratio::integer(raw))?.checked_add(signal.offset);
    let (Some(first), Some(last)) = (physical(smallest), physical(largest)) else { return };
    let (low, high) = if first.compare(last).is_gt() { (last, first) } else { (first, last) };
    // A range that ends less than one step later is only rounded.
    let step = |value: crate::Ratio| value.checked_div(signal.factor).map(crate::Ratio::round);
    let beyond = |limit, end: crate::Ratio| step(limit) != step(end);
    if (min.compare(low).is_lt() && beyond(min, low)) || (max.compare(high).is_gt() && beyond(max, high)) {
        note(OddityKind::RangeTooWide(signal.bits));
    }
}

/// Pairs of signals, the later one first, that share bits and can be in one frame.
fn overlaps(message: &Message) -> Vec<(usize, usize)> {
    // Bits in the order of the wire, each with its signal.
    let usable = || (0..message.signals.len()).filter(|at| message.signals[*at].refusal.is_none());
    let bits: Vec<_> = usable().flat_map(|at| message.signals[at].positions().map(move |bit| (bit, at))).collect();
    let by_position = Index::new(bits.iter().map(|(bit, _)| mirrored(*bit).into()));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for at in usable() {
        let mut last = at;
        for position in message.signals[at].positions() {
            for other in by_position.at(mirrored(position).into()).map(|one| bits[one].1).take_while(|one| *one < at) {
                // Neighbours mostly overlap with the same signal.
                let is_known = || pairs.iter().rev().take_while(|(one, _)| *one == at).any(|(_, one)| *one == other);
                if other != last && !is_known() && are_together(message, at, other) {
                    pairs.push((at, other));
                }
                last = other;
            }
        }
    }
    pairs
}

/// True if two signals of a message share bits, and can be in one frame.
#[must_use]
pub fn overlap(message: &Message, one: &Signal, other: &Signal) -> bool {
    let at = |signal: &Signal| message.signals.iter().position(|known| known == signal);
    let (Some(left), Some(right)) = (at(one), at(other)) else { return false };
    are_together(message, left, right) && one.positions().any(|bit| other.positions().any(|of_other| bit == of_other))
}

/// False if one switch must have different values for the two.
fn are_together(message: &Message, left: usize, right: usize) -> bool {
    let conditions = |at: usize| {
        let chain = std::iter::once(at).chain(switches(message, at));
        chain.filter_map(|one| message.signals[one].present.as_ref())
    };
    let is_possible = |left: &crate::database::Presence, right: &crate::database::Presence| {
        left.switch != right.switch
            || left.ranges.iter().any(|one| right.ranges.iter().any(|other| one.0 <= other.1 && other.0 <= one.1))
    };
    conditions(left).all(|one| conditions(right).all(|other| is_possible(one, other)))
}
