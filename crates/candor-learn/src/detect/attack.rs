//! Attacks on recorded traffic.

use fastrand::Rng;

use super::Capture;
use super::car::protection;
use crate::traffic::Recorded;

const MS: u64 = 1_000_000;

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Attack {
    /// Frames with the identifier 000, 4 in each millisecond.
    Flood,
    /// Frames of the target, one in each millisecond.
    FloodOfTarget,
    /// A changed frame of the target in the middle between two usual ones.
    Injection,
    /// The target's frames are missing.
    Suspension,
    /// Older frames of the target, unchanged, between the usual ones.
    Replay,
    /// Changed frames in place of the usual ones, at their times, with a wrong checksum.
    Masquerade,
    /// The same with a valid counter and checksum.
    ValidMasquerade,
}

impl Attack {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Flood,
        Self::FloodOfTarget,
        Self::Injection,
        Self::Suspension,
        Self::Replay,
        Self::Masquerade,
        Self::ValidMasquerade,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flood => "flood with identifier 000",
            Self::FloodOfTarget => "flood with a known identifier",
            Self::Injection => "injection",
            Self::Suspension => "suspension",
            Self::Replay => "replay",
            Self::Masquerade => "masquerade, wrong checksum",
            Self::ValidMasquerade => "masquerade, valid checksum",
        }
    }

    /// The traffic with the attack on an identifier between these times. Of the identifier, replay needs frames before.
    #[must_use]
    pub fn on(self, traffic: &[Recorded], target: u32, (from_ns, to_ns): (u64, u64), seed: u64) -> Capture {
        let mut rng = Rng::with_seed(seed);
        let is_within = |one: &Recorded| (from_ns..to_ns).contains(&one.at_ns);
        let is_target = |one: &&Recorded| one.id == target && is_within(one);
        let hit: Vec<&Recorded> = traffic.iter().filter(is_target).collect();
        let at = |at_ns: u64, id: u32, payload: Vec<u8>| Recorded { at_ns, id, is_remote: false, payload };
        let middle = |one: &Recorded, next: &Recorded| u64::midpoint(one.at_ns, next.at_ns);
        let mut sent: Vec<Recorded> = Vec::new();
        match self {
            Self::Suspension => {}
            Self::Flood => {
                let times = (0..(to_ns - from_ns) * 4 / MS).map(|number| from_ns + number * MS / 4);
                sent.extend(times.map(|time| at(time, 0, vec![0; 8])));
            }
            Self::FloodOfTarget => {
                let payload = hit.first().map_or_else(Vec::new, |one| changed(&one.payload, &mut rng));
                let times = (0..(to_ns - from_ns) / MS).map(|number| from_ns + number * MS);
                sent.extend(times.map(|time| at(time, target, payload.clone())));
            }
            Self::Injection => {
                let pairs = hit.windows(2).filter_map(|pair| <[&Recorded; 2]>::try_from(pair).ok());
                sent.extend(pairs.map(|[one, next]| at(middle(one, next), target, changed(&one.payload, &mut rng))));
            }
            Self::Replay => {
                let older = traffic.iter().filter(|one| one.id == target && one.at_ns < from_ns);
                let pairs = hit.windows(2).filter_map(|pair| <[&Recorded; 2]>::try_from(pair).ok());
                sent.extend(
                    pairs.zip(older).map(|([one, next], older)| at(middle(one, next), target, older.payload.clone())),
                );
            }
            Self::Masquerade | Self::ValidMasquerade => {
                let valid = if self == Self::ValidMasquerade { protection(target) } else { None };
                for one in &hit {
                    let mut payload = changed(&one.payload, &mut rng);
                    if let Some(protection) = &valid {
                        let _is_protected = protection.follow(&mut payload);
                    }
                    sent.push(at(one.at_ns, target, payload));
                }
            }
        }
        let is_replaced = matches!(self, Self::Suspension | Self::Masquerade | Self::ValidMasquerade);
        let usual = traffic.iter().filter(|one| !(is_replaced && is_target(one))).map(|one| (one.clone(), false));
        let mut all: Vec<(Recorded, bool)> = usual.chain(sent.into_iter().map(|one| (one, true))).collect();
        all.sort_by_key(|(one, _)| one.at_ns);
        let (frames, is_attack) = all.into_iter().unzip();
        Capture { frames, is_attack, interval_ns: Some((from_ns, to_ns)) }
    }
}

/// Another value of a signal that varies: byte 7 of the target drifts over its whole range.
fn changed(payload: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(last) = payload.last_mut() {
        *last = last.wrapping_add(rng.u8(1..=255));
    }
    payload
}
