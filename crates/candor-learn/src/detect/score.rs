//! Which rule raises an alarm, and whether it is right.

use std::collections::HashMap;
use std::sync::Arc;

use candor_e2e::{Protection, Receiver, Scheme};

use super::Capture;
use crate::allow::{Guard, Judge, Key, observe};
use crate::traffic::Recorded;
use crate::{EXTENDED, learn};

/// Frames of an identifier in which a checksum is looked for.
const SEARCHED: usize = 2000;
/// Bad frames after which a receiver begins again, as in gateway files.
const RESYNC: u32 = 3;
/// How often silence is looked for.
const TICK_NS: u64 = 1_000_000;

/// What raises an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A key of a guard.
    Guard(Key),
    /// A check: wrong checksum or counter.
    Check,
}

impl Rule {
    /// Those that can be learned, in the order of tables.
    pub const ALL: [Self; 7] = [
        Self::Guard(Key::Unknown),
        Self::Guard(Key::Len),
        Self::Guard(Key::Constant),
        Self::Guard(Key::MinGap),
        Self::Guard(Key::Rate),
        Self::Guard(Key::Silent),
        Self::Check,
    ];

    /// Its name in gateway files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guard(key) => key.name(),
            Self::Check => "check",
        }
    }
}

/// What is known of a bus.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// For each identifier.
    pub guards: Vec<Guard>,
    /// For identifiers with a checksum.
    pub checks: Vec<(u32, Scheme)>,
}

impl Rules {
    /// The guards of all identifiers in these logs, and the checks of those whose checksum was found in the first one.
    #[must_use]
    pub fn learn(logs: &[Vec<Recorded>]) -> Self {
        let guards = observe(logs).iter().map(Guard::of).collect();
        let mut by_id: HashMap<u32, Vec<&[u8]>> = HashMap::new();
        for frame in logs.first().into_iter().flatten().filter(|frame| !frame.is_remote) {
            let payloads = by_id.entry(frame.id).or_default();
            if payloads.len() < SEARCHED {
                payloads.push(&frame.payload);
            }
        }
        let mut checks: Vec<(u32, Scheme)> = Vec::new();
        for (id, payloads) in by_id {
            let learned = learn(payloads, Some(id & !EXTENDED));
            if let Some(best) = learned.schemes.first().filter(|best| best.is_strong()) {
                let mut scheme = best.scheme.clone();
                if let Some(counter) = &mut scheme.counter {
                    counter.resync = RESYNC;
                }
                checks.push((id, scheme));
            }
        }
        checks.sort_by_key(|(id, _)| *id);
        Self { guards, checks }
    }
}

/// How a rule did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Time from the begin of the attack to the first alarm in it, in ns. `None`: not detected, or no attack.
    pub delay_ns: Option<u64>,
    /// Frames of the attacker that it found.
    pub caught: usize,
    /// Alarms outside attacks, and for frames of others during an attack.
    pub false_alarms: usize,
}

/// Judges all frames, and returns what each rule of [`Rule::ALL`] did. Silence counts as an alarm of the attack if it is in its
/// interval.
#[must_use]
pub fn judged(capture: &Capture, rules: &Rules) -> [Score; Rule::ALL.len()] {
    let mut scores = [Score::default(); Rule::ALL.len()];
    let mut judge = Judge::new(&rules.guards);
    let compiled = rules.checks.iter().filter_map(|(id, scheme)| {
        Protection::new(scheme).ok().map(|protection| (*id, Receiver::new(Arc::new(protection))))
    });
    let mut receivers: HashMap<u32, Receiver> = compiled.collect();
    let mut alarm = |rule: Rule, at_ns: u64, is_attack: bool| {
        let Some(score) = Rule::ALL.iter().position(|one| *one == rule).and_then(|at| scores.get_mut(at)) else {
            return;
        };
        if is_attack {
            score.caught += usize::from(rule != Rule::Guard(Key::Silent));
            let begin = capture.interval_ns.map_or(0, |(from, _)| from);
            score.delay_ns.get_or_insert_with(|| at_ns.saturating_sub(begin));
        } else {
            score.false_alarms += 1;
        }
    };
    let mut tick = capture.frames.first().map_or(0, |first| first.at_ns);
    for (frame, is_attack) in capture.frames.iter().zip(&capture.is_attack) {
        while tick < frame.at_ns {
            // Long pauses need no ticks, but the next one.
            tick = if frame.at_ns - tick > 3_600 * 1_000_000_000 { frame.at_ns } else { tick + TICK_NS };
            let is_within = capture.interval_ns.is_some_and(|(from, to)| (from..=to).contains(&tick));
            judge.silent(tick).into_iter().for_each(|_id| alarm(Rule::Guard(Key::Silent), tick, is_within));
        }
        for key in judge.frame(frame) {
            alarm(Rule::Guard(key), frame.at_ns, *is_attack);
        }
        if let Some(receiver) = receivers.get_mut(&frame.id).filter(|_| !frame.is_remote)
            && !receiver.check(&frame.payload).is_valid()
        {
            alarm(Rule::Check, frame.at_ns, *is_attack);
        }
    }
    scores
}
