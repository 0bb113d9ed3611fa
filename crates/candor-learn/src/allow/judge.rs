//! The guards, interpreted slowly: the truth for faster ones.

use std::collections::BTreeMap;

use super::guard::Guard;
use crate::traffic::Recorded;

const SECOND: u128 = 1_000_000_000;

/// What a frame violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// No guard has its identifier, or it is the first remote frame of it.
    Unknown,
    /// `len`.
    Len,
    /// `constant`.
    Constant,
    /// `values`.
    Values,
    /// `min-gap`.
    MinGap,
    /// `rate` and `burst`.
    Rate,
    /// `silent`, which no frame violates.
    Silent,
}

impl Key {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Unknown, Self::Len, Self::Constant, Self::Values, Self::MinGap, Self::Rate, Self::Silent];

    /// Its name in gateway files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "identifier",
            Self::Len => "len",
            Self::Constant => "constant",
            Self::Values => "values",
            Self::MinGap => "min-gap",
            Self::Rate => "rate",
            Self::Silent => "silent",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Time of the last frame that violated nothing.
    good_ns: Option<u64>,
    /// Time of the last frame of any kind.
    any_ns: Option<u64>,
    /// What is in the bucket, in frames times 10^9, and when that was.
    tokens: Option<(u128, u64)>,
    /// Silence was reported, and no frame came since.
    is_silent: bool,
}

/// Judges frames one after the other, as guards do with `on-violation = "drop"`.
///
/// * Remote frames are no frames of the route. They pass if remote frames of the identifier were seen, and change nothing.
/// * A frame is judged by all keys. One that violates any of them takes no token and does not count for `min-gap`, so that
///   injected frames do not make the usual ones violations.
/// * The bucket is full at first. A frame takes a token if there is a whole one.
/// * Silence is counted from the last frame of any kind, and reported once.
#[derive(Clone, Debug)]
pub struct Judge<'a> {
    guards: BTreeMap<u32, (&'a Guard, State)>,
}

impl<'a> Judge<'a> {
    /// A judge before its first frame.
    pub fn new(guards: impl IntoIterator<Item = &'a Guard>) -> Self {
        Self { guards: guards.into_iter().map(|guard| (guard.id, (guard, State::default()))).collect() }
    }

    /// The keys that this frame violates. Times must not go back.
    pub fn frame(&mut self, frame: &Recorded) -> Vec<Key> {
        let Some((guard, state)) = self.guards.get_mut(&frame.id) else { return vec![Key::Unknown] };
        if frame.is_remote {
            return if guard.has_remote { Vec::new() } else { vec![Key::Unknown] };
        }
        let mut violated = Vec::new();
        let payload = &frame.payload[..];
        let mut check = |key, holds: bool| violated.extend((!holds).then_some(key));
        check(Key::Len, guard.len.is_empty() || guard.len.contains(&payload.len()));
        check(Key::Constant, guard.constant.as_ref().is_none_or(|one| one.holds(payload)));
        check(Key::Values, guard.values.iter().all(|one| one.holds(payload)));
        let gap = state.good_ns.map(|last| frame.at_ns - last);
        if guard.min_gap_ns.is_some_and(|least| gap.is_some_and(|gap| gap < least)) {
            violated.push(Key::MinGap);
        }
        let tokens = guard.rate.map(|(rate, burst)| {
            let full = u128::from(burst) * SECOND;
            let refilled = |(tokens, at): (u128, u64)| tokens + u128::from(frame.at_ns - at) * u128::from(rate);
            state.tokens.map_or(full, |one| refilled(one).min(full))
        });
        if tokens.is_some_and(|tokens| tokens < SECOND) {
            violated.push(Key::Rate);
        }
        (state.any_ns, state.is_silent) = (Some(frame.at_ns), false);
        let taken = if violated.is_empty() { SECOND } else { 0 };
        state.tokens = tokens.map(|tokens| (tokens - taken, frame.at_ns));
        if violated.is_empty() {
            state.good_ns = Some(frame.at_ns);
        }
        violated
    }

    /// Identifiers that have been silent for too long at this time, and were not reported before. Each must have had a frame.
    pub fn silent(&mut self, now_ns: u64) -> Vec<u32> {
        let mut found = Vec::new();
        for (id, (guard, state)) in &mut self.guards {
            let since = state.any_ns.map(|last| now_ns.saturating_sub(last));
            let is_over = guard.silent_ns.is_some_and(|most| since.is_some_and(|since| since > most));
            if is_over && !state.is_silent {
                state.is_silent = true;
                found.push(*id);
            }
        }
        found
    }
}
