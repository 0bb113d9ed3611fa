//! What is odd in a database, whatever its file format.

use std::collections::HashMap;

use crate::database::{Database, Kind, Message, Signal, mirrored};
use crate::oddity::{Oddity, OddityKind, Refusal};
use crate::scale::Scale;

/// Finds oddities, refuses signals that cannot be used, and sorts all oddities by line.
pub(crate) fn check(database: &mut Database) {
    let mut odd = std::mem::take(&mut database.oddities);
    let mut names: HashMap<String, u32> = HashMap::new();
    let mut ids = HashMap::new();
    for message in &mut database.messages {
        let mut note = |kind| odd.push(Oddity { line: message.line, subject: Some(message.name.clone()), kind });
        if let Some(line) = names.get(&message.name) {
            note(OddityKind::SameMessageName(*line));
        } else {
            names.insert(message.name.clone(), message.line);
        }
        if let Some(id) = message.id {
            match ids.get(&id) {
                Some(other) => note(OddityKind::SameId(String::clone(other))),
                None => drop(ids.insert(id, message.name.clone())),
            }
        }
        if !matches!(message.len, 0..=8 | 12 | 16 | 20 | 24 | 32 | 48 | 64) {
            note(OddityKind::Length(message.len));
        }
        self::message(message, &mut odd);
    }
    odd.sort_by_key(|one| one.line);
    database.oddities = odd;
}

fn message(message: &mut Message, odd: &mut Vec<Oddity>) {
    let mut lines: HashMap<String, u32> = HashMap::new();
    for at in 0..message.signals.len() {
        let refusal = refusal(message, at).or_else(|| {
            let signal = &message.signals[at];
            lines.get(&signal.name).map(|line| Refusal::SameName(*line))
        });
        let signal = &mut message.signals[at];
        signal.refusal = signal.refusal.take().or(refusal);
        lines.entry(signal.name.clone()).or_insert(signal.line);
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
    let mut owners: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for (at, signal) in message.signals.iter().enumerate().filter(|(_, signal)| signal.refusal.is_none()) {
        let mut with: Vec<usize> = Vec::new();
        for position in signal.positions() {
            let owners = owners.entry(mirrored(position)).or_default();
            with.extend(owners.iter());
            owners.push(at);
        }
        with.sort_unstable();
        with.dedup();
        pairs.extend(with.into_iter().filter(|other| are_together(message, at, *other)).map(|other| (at, other)));
    }
    pairs
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
