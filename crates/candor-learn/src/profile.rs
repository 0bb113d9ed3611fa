//! Tries the profiles of AUTOSAR E2E with an unknown Data-ID.

use candor_e2e::{IdMode, Profile, Protection, Scheme, Settings};

use crate::candidate::Ambiguity;
use crate::candidate::Candidate;
use crate::counter::FoundCounter;
use crate::field;
use crate::frames::{self, Frames};
use crate::gf2;

/// Profiles with bytes of their own: P11 has those of P01, and P22 those of P02.
const PROFILES: [(Profile, &[IdMode]); 6] = [
    (Profile::P01, &[IdMode::Both, IdMode::Low, IdMode::Alternating, IdMode::Nibble]),
    (Profile::P02, &[IdMode::Both]),
    (Profile::P04, &[IdMode::Both]),
    (Profile::P05, &[IdMode::Both]),
    (Profile::P06, &[IdMode::Both]),
    (Profile::P07, &[IdMode::Both]),
];

pub(crate) fn find(frames: &Frames, counters: &[FoundCounter]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (profile, modes) in PROFILES {
        let last = frames.len.saturating_sub(profile.header());
        for offset in 0..=last {
            for mode in modes {
                let offset = u16::try_from(offset).unwrap_or(u16::MAX);
                let ids = vec![0; profile.data_ids()];
                let settings = Settings { mode: *mode, offset, ..Settings::new(profile, ids, frames.len) };
                candidates.extend(candidate(frames, settings, counters));
            }
        }
    }
    candidates
}

fn candidate(frames: &Frames, mut settings: Settings, counters: &[FoundCounter]) -> Option<Candidate> {
    let scheme = settings.scheme().ok()?;
    let place = scheme.counter?.place;
    // The long counters of P04 and P07 may not have gone through their values.
    if place.bits <= 8 && !counters.iter().any(|one| one.counter.place == place && one.step <= 3) {
        return None;
    }
    let mut constants = 1;
    let mut ambiguities = Vec::new();
    if let Some((place, _)) = scheme.constants.first() {
        let values: Vec<u64> = frames.sample.iter().map(|at| field::value(*place, frames.get(*at))).collect();
        let (id, count) = frames::majority(&values)?;
        if !frames::is_most(count, values.len()) {
            return None;
        }
        let id = u32::try_from(id).ok()?;
        settings.data_ids = [if settings.mode == IdMode::Nibble { id << 8 } else { id }].into();
    }
    match settings.profile {
        Profile::P04 | Profile::P07 => {}
        Profile::P02 => {
            for value in 0..16 {
                match solved(frames, &settings, value as usize, 8, |counter| counter == value) {
                    Some(id) => *settings.data_ids.get_mut(value as usize)? = id,
                    None if has_counter(frames, &scheme, value) => return None,
                    None => ambiguities.push(value),
                }
            }
            constants = 16 - ambiguities.len();
        }
        _ if settings.mode == IdMode::Alternating => {
            let even = solved(frames, &settings, 0, 16, |counter| counter % 2 == 0)?;
            let odd = solved(frames, &settings, 0, 16, |counter| counter % 2 == 1)?;
            settings.data_ids = [even | odd].into();
            constants = 2;
        }
        _ => {
            let bits = if settings.mode == IdMode::Nibble { 8 } else { 16 };
            let id = solved(frames, &settings, 0, bits, |_| true)?;
            *settings.data_ids.first_mut()? |= id;
        }
    }
    let mut ambiguities =
        if ambiguities.is_empty() { Vec::new() } else { vec![Ambiguity::UnseenCounters(ambiguities)] };
    let scheme = settings.scheme().ok()?;
    ambiguities.push(match (settings.profile, settings.mode) {
        (Profile::P01, IdMode::Both) => Ambiguity::DataIdHighByte,
        (Profile::P01, IdMode::Low | IdMode::Nibble) => Ambiguity::Mode,
        _ => Ambiguity::StartOrFinalOrDataId,
    });
    let penalty = match settings.mode {
        _ if settings.offset > 0 => 8.0,
        IdMode::Low => 4.0,
        IdMode::Nibble => 4.5,
        _ => 5.0,
    };
    let by = (constants > 1).then_some(scheme.counter?.place);
    Some(Candidate { scheme, settings: Some(settings), fitted: 8.0, constants, penalty, ambiguities, by })
}

fn has_counter(frames: &Frames, scheme: &Scheme, value: u32) -> bool {
    let is_it =
        |at: &usize| scheme.counter.is_some_and(|one| field::value(one.place, frames.get(*at)) == u64::from(value));
    frames.sample.iter().filter(|at| is_it(at)).count() > 1
}

/// The bits of a Data-ID, if those of most frames of the sample with such a counter are the same.
fn solved(
    frames: &Frames,
    settings: &Settings,
    entry: usize,
    bits: usize,
    is_meant: impl Fn(u32) -> bool,
) -> Option<u32> {
    let compiled = |settings: &Settings| Protection::new(&settings.scheme().ok()?).ok();
    let protection = compiled(settings)?;
    let place = settings.scheme().ok()?.place;
    let with = |protection: &Protection, frame: &[u8]| {
        let mut copy = frame.to_vec();
        protection.follow(&mut copy).then(|| field::value(place, &copy))
    };
    let mut meant = None;
    let mut residuals = Vec::new();
    for at in &frames.sample {
        let frame = frames.get(*at);
        if !protection.counter(frame).is_some_and(&is_meant) {
            continue;
        }
        if let Some(computed) = with(&protection, frame) {
            residuals.push(computed ^ field::value(place, frame));
            meant = Some(frame);
        }
    }
    let (residual, count) = frames::majority(&residuals)?;
    if !frames::is_most(count, residuals.len()) {
        return None;
    }
    let frame = meant?;
    let base = with(&protection, frame)?;
    let mut columns = Vec::with_capacity(bits);
    for bit in 0..bits {
        let mut other = settings.clone();
        *other.data_ids.get_mut(entry)? ^= 1 << bit;
        columns.push(with(&compiled(&other)?, frame)? ^ base);
    }
    u32::try_from(gf2::solve(&columns, residual)?).ok()
}
