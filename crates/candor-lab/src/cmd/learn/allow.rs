//! `candor learn allow`.

mod changes;
mod json;
mod list;
mod signals;

use std::collections::BTreeMap;

use candor_cli::{Exit, Outcome, render};
use candor_learn::allow::{Guard, Judge, Key, Observed, Selector, observe, selector};
use candor_learn::{Learned, Recorded, learn};
#[cfg(test)]
pub(in crate::cmd) use json::View;

use super::log::{Log, identifier};
use crate::cli::LearnAllowArgs;
use crate::cmd::patience;

/// Frames of an identifier in which a checksum is looked for.
const SEARCHED: usize = 2000;

/// What was learned of an identifier.
#[derive(Debug)]
struct Entry {
    seen: Observed,
    guard: Guard,
    learned: Learned,
    mux: Option<Selector>,
}

/// What the list says about logs.
#[derive(Debug, Default)]
struct Verdicts {
    frames: usize,
    /// Frames that would be dropped.
    bad: usize,
    /// By identifier and key; a frame may violate several.
    counts: BTreeMap<(u32, Key), usize>,
}

/// Recorded logs with the interface of the first one.
#[derive(Debug)]
struct Logs {
    names: Vec<String>,
    interface: String,
    frames: Vec<Vec<Recorded>>,
}

impl Logs {
    fn seconds(&self) -> f64 {
        let spans = self.frames.iter().filter_map(|log| Some(log.last()?.at_ns - log.first()?.at_ns));
        spans.map(|span| span as f64 / 1e9).sum()
    }
}

pub(crate) fn run(args: &LearnAllowArgs) -> Outcome {
    let mut logs = Logs { names: Vec::new(), interface: String::new(), frames: Vec::new() };
    for path in &args.logs {
        let log = Log::read(path, args.interface.as_deref())?;
        if logs.interface.is_empty() {
            logs.interface.clone_from(&log.interface);
        }
        logs.frames.push(wanted(&log, args));
        logs.names.push(log.name);
    }
    let (from, to) = list::buses(&logs, args);
    if from == to {
        return Err(format!("the buses of --from and --to are both {from}; a route needs two").into());
    }
    let later = match &args.compare {
        Some(path) => {
            let log = Log::read(path, args.interface.as_deref())?;
            Some((wanted(&log, args), log.name))
        }
        None => None,
    };
    let database = args.database.as_deref().map(crate::cmd::database::read).transpose()?;
    let mut entries = entries(&logs, later.is_none());
    if let Some(database) = database {
        entries.iter_mut().for_each(|one| one.guard.values = signals::ranges(&database, one.seen.id, &logs.frames));
    }
    let (shown, is_equal) = match later {
        Some((frames, name)) => {
            let verdicts = judged(&entries, std::slice::from_ref(&frames));
            let changes = changes::Changes::of(&entries, &[frames], name);
            let shown = match args.json {
                true => render::object(&json::changed(&logs, &changes, &verdicts)),
                false => changes::text(&logs, &changes, &verdicts),
            };
            (shown, changes.found.is_empty() && verdicts.counts.is_empty())
        }
        None => {
            let verdicts = judged(&entries, &logs.frames);
            let shown = match args.json {
                true => render::object(&json::view(&logs, &entries, &verdicts)),
                false => list::text(&logs, &entries, &verdicts, args),
            };
            (shown, verdicts.counts.is_empty())
        }
    };
    render::answer(&shown, if is_equal { Exit::Fine } else { Exit::No })
}

fn wanted(log: &Log, args: &LearnAllowArgs) -> Vec<Recorded> {
    let ids: Vec<u32> = args.id.iter().map(|id| id.0.0).collect();
    let is_wanted = |id: u32| ids.is_empty() || ids.contains(&id);
    let frames = log.frames.iter().map(|one| Recorded {
        at_ns: one.at_ns,
        id: identifier(one.frame.id).0,
        is_remote: one.frame.id.is_rtr(),
        payload: if one.frame.id.is_rtr() { Vec::new() } else { one.frame.payload().to_vec() },
    });
    frames.filter(|one| is_wanted(one.id)).collect()
}

/// The identifiers of the logs in their order. Checksums take most of the time.
fn entries(logs: &Logs, with_checksums: bool) -> Vec<Entry> {
    let mut by_id: BTreeMap<u32, Vec<&Recorded>> = BTreeMap::new();
    for frame in logs.frames.iter().flatten() {
        by_id.entry(frame.id).or_default().push(frame);
    }
    let seen = observe(&logs.frames);
    patience::each("searched identifiers", &seen, |seen| {
        let frames = by_id.get(&seen.id).map(Vec::as_slice).unwrap_or_default();
        let data = frames.iter().filter(|one| with_checksums && !one.is_remote).take(SEARCHED);
        let learned = learn(data.map(|one| &one.payload[..]), Some(seen.id & !candor_learn::EXTENDED));
        Entry { seen: seen.clone(), guard: Guard::of(seen), learned, mux: selector(frames) }
    })
}

fn judged(entries: &[Entry], logs: &[Vec<Recorded>]) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for log in logs {
        let mut judge = Judge::new(entries.iter().map(|one| &one.guard));
        for frame in log {
            for id in judge.silent(frame.at_ns) {
                *verdicts.counts.entry((id, Key::Silent)).or_default() += 1;
            }
            let violated = judge.frame(frame);
            verdicts.frames += 1;
            verdicts.bad += usize::from(!violated.is_empty());
            for key in violated {
                *verdicts.counts.entry((frame.id, key)).or_default() += 1;
            }
        }
    }
    verdicts
}
