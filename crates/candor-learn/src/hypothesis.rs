//! Verifies candidates on all frames, and orders them.

use candor_e2e::{Protection, Scheme, Settings};

use crate::candidate::{Ambiguity, Candidate};
use crate::counter::FoundCounter;
use crate::field::{self, Cover};
use crate::frames::{self, Frames};
use crate::gf2::Rank;

/// Schemes that are returned.
const MOST: usize = 5;
/// Candidates that are tried on all frames, the most usual ones.
const VERIFIED: usize = 400;
/// Others that agree with the same frames.
const ALTERNATIVES: usize = 4;
/// Evidence from which on a scheme is no accident, in bits.
pub(crate) const STRONG: f64 = 32.0;
/// Evidence below which a scheme is not returned, in bits.
const LEAST: f64 = 8.0;

/// A scheme that explains the log.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    /// The simplest of those that agree with the same frames.
    pub scheme: Scheme,
    /// If it is a profile. P01 also stands for P11, and P02 for P22: their bytes are the same.
    pub settings: Option<Settings>,
    /// Frames whose checksum and header are right.
    pub explained: usize,
    /// Frames.
    pub of: usize,
    /// Bits of evidence: the estimated probability that one of the schemes that were tried explains as much by chance is
    /// 2^-evidence. It is the width of the checksum times the number of independent payloads, less the bits that the search
    /// chose. Repeated payloads, bits that do not vary, payloads that are the XOR of others, and frames that fixed a constant
    /// are not independent.
    pub evidence: f64,
    /// What the log cannot decide.
    pub ambiguities: Vec<Ambiguity>,
    /// Other schemes that explain the same frames.
    pub alternatives: Vec<Scheme>,
}

impl Hypothesis {
    /// True if it is no accident: 32 bits of evidence.
    #[must_use]
    pub fn is_strong(&self) -> bool {
        self.evidence >= STRONG
    }
}

struct Verified {
    candidate: Candidate,
    cover: Cover,
    explained: usize,
    evidence: f64,
}

/// The best schemes. What agrees with the same frames as a better one in the same place becomes a part of that one.
pub(crate) fn ranked(frames: &Frames, mut candidates: Vec<Candidate>, counters: &[FoundCounter]) -> Vec<Hypothesis> {
    for candidate in &mut candidates {
        with_counter(candidate, counters);
    }
    candidates.sort_by(|one, other| one.penalty.total_cmp(&other.penalty));
    let mut verified: Vec<Verified> = Vec::new();
    for candidate in candidates.into_iter().take(VERIFIED) {
        verified.extend(verify(frames, candidate));
    }
    // More evidence than this makes no difference; damaged frames do, but less than a narrower field that misses the damage.
    let score = |one: &Verified| {
        let enough = 8.0 * f64::from(one.cover.place.bits);
        let missing = (frames.count() - one.explained) as f64 / frames.count() as f64;
        one.evidence.min(enough) - one.candidate.penalty - 200.0 * missing
    };
    verified.sort_by(|one, other| score(other).total_cmp(&score(one)));
    let varying = frames.varying();
    let mut kept: Vec<(Hypothesis, Cover)> = Vec::new();
    for one in verified {
        let place = one.cover.place;
        let is_full = kept.len() == MOST;
        let same = kept.iter_mut().find(|(best, cover)| {
            field::overlap(cover.place, place)
                || best.explained >= one.explained && cover.contains(place) && one.cover.contains(cover.place)
        });
        match same {
            Some((best, cover)) => {
                let is_equal = best.explained == one.explained;
                if cover.place == place && is_equal && best.alternatives.len() < ALTERNATIVES {
                    best.alternatives.push(one.candidate.scheme);
                } else if is_equal && !field::overlap(cover.place, place) && place.bits == cover.place.bits {
                    match best.ambiguities.iter_mut().find(|one| matches!(one, Ambiguity::Places(_))) {
                        Some(Ambiguity::Places(places)) if !places.contains(&place) => places.push(place),
                        Some(_) => {}
                        None => best.ambiguities.push(Ambiguity::Places([place].into())),
                    }
                }
            }
            None if is_full => {}
            None => kept.push((hypothesis(frames, &one, &varying, counters), one.cover)),
        }
    }
    kept.into_iter().map(|(one, _)| one).collect()
}

/// Adds the best counter that is not in the checksum, if the scheme has none.
fn with_counter(candidate: &mut Candidate, counters: &[FoundCounter]) {
    if candidate.scheme.counter.is_none() {
        let free = counters.iter().find(|one| !field::overlap(one.counter.place, candidate.scheme.place));
        candidate.scheme.counter = free.map(|one| one.counter);
    }
    // Both XOR and sums hold for their other fields as well, but a counter is no checksum.
    if counters.iter().any(|one| field::overlap(one.counter.place, candidate.scheme.place)) {
        candidate.penalty += 20.0;
    }
}

fn verify(frames: &Frames, candidate: Candidate) -> Option<Verified> {
    let protection = Protection::new(&candidate.scheme).ok()?;
    let mut copy = vec![0; frames.len];
    let mut holds = |frame: &[u8]| {
        copy.copy_from_slice(frame);
        protection.follow(&mut copy) && copy == *frame
    };
    // Many candidates agree with the sample only in part.
    let tried = frames.sample.iter().filter(|at| holds(frames.get(**at))).count();
    if !frames::is_most(tried, frames.sample.len()) {
        return None;
    }
    let over = (usize::from(candidate.scheme.over.0), candidate.scheme.over.1.map_or(frames.len - 1, usize::from));
    let cover = Cover::of_scheme(candidate.scheme.place, over, candidate.scheme.zeroed);
    let (mut explained, mut rank, mut idle) = (0, Rank::new(frames.len), 0);
    let mut firsts: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut covered = Vec::new();
    for frame in frames.iter() {
        if !holds(frame) {
            continue;
        }
        explained += 1;
        if idle > 2000 {
            continue;
        }
        cover.of(frame, &mut covered);
        let group = candidate.by.map_or(0, |place| field::value(place, frame));
        match firsts.iter().find(|(other, _)| *other == group) {
            Some((_, first)) => {
                covered.iter_mut().zip(first).for_each(|(byte, first)| *byte ^= first);
                let before = rank.rank;
                rank.add(&covered);
                idle = if rank.rank == before { idle + 1 } else { 0 };
            }
            None => firsts.push((group, covered.clone())),
        }
    }
    if !frames::is_most(explained, frames.count()) {
        return None;
    }
    let bits = f64::from(candidate.scheme.place.bits);
    let independent = rank.rank.min(frames.distinct.saturating_sub(candidate.constants)) as f64;
    let evidence = bits * independent - candidate.fitted - choices(frames, explained);
    (evidence >= LEAST).then_some(Verified { candidate, cover, explained, evidence })
}

/// Bits that choosing the unexplained frames is worth: log2 of the number of such choices.
fn choices(frames: &Frames, explained: usize) -> f64 {
    let (of, missing) = (frames.distinct as f64, (frames.count() - explained).min(frames.distinct) as f64);
    if missing == 0.0 || of == missing {
        return 0.0;
    }
    let part = missing / of;
    let entropy = -part * part.log2() - (1.0 - part) * (1.0 - part).log2();
    // No more frames are independent.
    entropy * of.min(8.0 * frames.len as f64)
}

fn hypothesis(frames: &Frames, one: &Verified, varying: &[u8], counters: &[FoundCounter]) -> Hypothesis {
    let scheme = one.candidate.scheme.clone();
    let mut ambiguities = one.candidate.ambiguities.clone();
    let (first, end) = field::bytes(scheme.place);
    let is_constant = |at: &usize| varying.get(*at) == Some(&0) && !(first..end).contains(at);
    let constant: Vec<u16> = (0..frames.len).filter(is_constant).filter_map(|at| u16::try_from(at).ok()).collect();
    if !constant.is_empty() {
        ambiguities.push(Ambiguity::ConstantBytes(constant));
    }
    let is_guess =
        |counter: &FoundCounter| Some(counter.counter.place) == scheme.counter.map(|one| one.place) && !counter.wraps;
    if one.candidate.settings.is_none() && counters.iter().any(is_guess) {
        ambiguities.push(Ambiguity::CounterRange);
    }
    Hypothesis {
        scheme,
        settings: one.candidate.settings.clone(),
        explained: one.explained,
        of: frames.count(),
        evidence: one.evidence,
        ambiguities,
        alternatives: Vec::new(),
    }
}
