//! `candor learn checksum`.

mod json;
mod text;

use std::collections::{BTreeMap, HashMap};

use candor_cli::{Exit, Outcome, render};
use candor_core::frame::RawId;
use candor_e2e::Protection;
use candor_learn::{FEWEST, Hypothesis, Learned, NotWritable, Written, learn, written};
#[cfg(test)]
pub(in crate::cmd) use json::View;

use super::log::{Log, Recorded, identifier};
use crate::cli::{Identifier, LearnChecksumArgs};
use crate::cmd::patience;

/// Frames that are shown although no scheme explains them.
const SHOWN: usize = 5;

#[derive(Debug, thiserror::Error)]
enum WantedError {
    #[error("{name} has no frames with the identifier {id}; it has {known}")]
    Missing { name: String, id: Identifier, known: String },
    #[error("{name} has no frame of {id} with {len} bytes; their lengths are {known}")]
    Length { name: String, id: Identifier, len: usize, known: String },
}

/// What was learned of an identifier.
#[derive(Debug)]
struct Found {
    id: Identifier,
    /// Data frames.
    frames: usize,
    remote: usize,
    /// Data frames by length.
    lengths: BTreeMap<usize, usize>,
    learned: Learned,
    /// Line and payload of the first frames that the best scheme does not explain.
    unexplained: Vec<(usize, Vec<u8>)>,
}

impl Found {
    fn best(&self) -> Option<&Hypothesis> {
        self.learned.schemes.first()
    }

    fn is_found(&self) -> bool {
        self.best().is_some_and(Hypothesis::is_strong)
    }

    fn written(&self) -> Option<Result<Written, NotWritable>> {
        self.best().map(|best| written(best, &self.learned.counters))
    }

    /// Why there is no scheme, or no certain one.
    fn reason(&self) -> Option<String> {
        use candor_learn::Outcome::{Constant, Found, Length, Nothing, TooFew, Weak};
        let Learned { len, distinct, .. } = self.learned;
        Some(match self.learned.outcome {
            Found => return None,
            _ if self.frames == 0 => "only remote frames, which have no payload".into(),
            Constant => format!("all {} payloads are equal: nothing to learn from", self.learned.frames),
            Length => format!("payloads of {len} bytes; 1 to 64 can be searched"),
            Nothing => "no CRC, XOR, sum or profile explains the payloads".into(),
            TooFew => format!(
                "only {distinct} different payloads: at least {FEWEST} are needed, and some hundred for a CRC; record longer, \
                 while the signals change"
            ),
            Weak => format!(
                "explained, but {distinct} different payloads are too few to be sure; record longer, while the signals change"
            ),
        })
    }
}

pub(crate) fn run(args: &LearnChecksumArgs) -> Outcome {
    let log = Log::read(&args.log, args.interface.as_deref())?;
    let groups = groups(&log, args)?;
    let what = format!("{}: searched identifiers", log.name);
    let found = patience::each(&what, &groups, |(id, frames)| search(*id, frames, args.len));
    let exit = if found.iter().any(Found::is_found) { Exit::Fine } else { Exit::No };
    let shown = match (args.json, &args.id, &found[..]) {
        (true, ..) => render::object(&json::view(&log, &found)),
        (false, Some(_), [one]) => text::one(&log.name, one),
        _ => text::all(&log.name, &found),
    };
    render::answer(&shown, exit)
}

/// The frames of each identifier, in the order of identifiers.
fn groups<'a>(log: &'a Log, args: &LearnChecksumArgs) -> Result<Vec<(Identifier, Vec<&'a Recorded>)>, WantedError> {
    let mut by_id: HashMap<u32, Vec<&Recorded>> = HashMap::new();
    let is_wanted = |one: &&Recorded| args.id.is_none_or(|wanted| wanted.0 == identifier(one.frame.id));
    for one in log.frames.iter().filter(is_wanted) {
        by_id.entry(identifier(one.frame.id).0).or_default().push(one);
    }
    let mut groups: Vec<_> = by_id.into_iter().map(|(id, frames)| (Identifier(RawId(id)), frames)).collect();
    groups.sort_unstable_by_key(|(id, _)| id.0.0);
    let name = || log.name.clone();
    match (args.id, groups.first()) {
        (Some(id), None) => {
            return Err(WantedError::Missing { name: name(), id, known: known(log) });
        }
        (Some(id), Some((_, frames))) => {
            let lengths = lengths(frames);
            if let Some(len) = args.len.filter(|len| !lengths.contains_key(len)) {
                return Err(WantedError::Length { name: name(), id, len, known: text::lengths(&lengths) });
            }
        }
        (None, _) => {}
    }
    Ok(groups)
}

/// The identifiers of a log, the first ones by name.
fn known(log: &Log) -> String {
    const NAMED: usize = 12;
    let mut ids: Vec<u32> = log.frames.iter().map(|one| identifier(one.frame.id).0).collect();
    ids.sort_unstable();
    ids.dedup();
    let names: Vec<_> = ids.iter().take(NAMED).map(|id| Identifier(RawId(*id)).to_string()).collect();
    let more = if ids.len() > NAMED { format!(" and {} more", ids.len() - NAMED) } else { String::new() };
    names.join(", ") + &more
}

fn lengths(frames: &[&Recorded]) -> BTreeMap<usize, usize> {
    let mut lengths = BTreeMap::new();
    for one in frames.iter().filter(|one| !one.frame.id.is_rtr()) {
        *lengths.entry(one.frame.payload().len()).or_default() += 1;
    }
    lengths
}

fn search(id: Identifier, frames: &[&Recorded], len: Option<usize>) -> Found {
    let is_data = |one: &&&Recorded| !one.frame.id.is_rtr();
    let is_meant = |one: &&&Recorded| len.is_none_or(|len| one.frame.payload().len() == len);
    let data: Vec<&Recorded> = frames.iter().filter(is_data).copied().collect();
    let payloads = data.iter().filter(is_meant).map(|one| one.frame.payload());
    let learned = learn(payloads, Some(id.0.bits()));
    let unexplained = learned.schemes.first().map_or_else(Vec::new, |best| unexplained(best, learned.len, &data));
    Found { id, frames: data.len(), remote: frames.len() - data.len(), lengths: lengths(frames), learned, unexplained }
}

fn unexplained(best: &Hypothesis, len: usize, frames: &[&Recorded]) -> Vec<(usize, Vec<u8>)> {
    let Ok(protection) = Protection::new(&best.scheme) else { return Vec::new() };
    let is_wrong = |payload: &[u8]| {
        let mut copy = payload.to_vec();
        !(protection.follow(&mut copy) && copy == payload)
    };
    let of_len = frames.iter().filter(|one| one.frame.payload().len() == len);
    let wrong = of_len.filter(|one| is_wrong(one.frame.payload())).take(SHOWN);
    wrong.map(|one| (one.line, one.frame.payload().to_vec())).collect()
}
