//! Finds XOR and sums.

use candor_e2e::{Checksum, DataId, Place, Unit};

use crate::candidate::Ambiguity;
use crate::candidate::Candidate;
use crate::counter::FoundCounter;
use crate::field::{self, Cover};
use crate::frames::{self, Frames};
use crate::listed::{Grouped, grouped};
use crate::scheme;

/// How the checksum follows from the covered units.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Xor,
    /// The sum, then this XOR.
    Sum {
        xorout: u64,
    },
    Negated,
}

/// What a variant needs of each frame.
struct Values {
    observed: Vec<u64>,
    xor: Vec<u64>,
    sum: Vec<u64>,
}

impl Values {
    fn new(frames: &Frames, indices: &[usize], cover: &Cover, unit: Unit) -> Self {
        let count = indices.len();
        let mut values = Self {
            observed: Vec::with_capacity(count),
            xor: Vec::with_capacity(count),
            sum: Vec::with_capacity(count),
        };
        for at in indices {
            let frame = frames.get(*at);
            let (mut xor, mut sum) = (0, 0);
            for (at, used) in &cover.bytes {
                let byte = frame.get(*at).copied().unwrap_or_default() & used;
                let units = match unit {
                    Unit::Byte => [byte, 0],
                    Unit::Nibble => [byte >> 4, byte & 0xF],
                };
                for unit in units {
                    xor ^= u64::from(unit);
                    sum += u64::from(unit);
                }
            }
            values.observed.push(field::value(cover.place, frame));
            values.xor.push(xor);
            values.sum.push(sum);
        }
        values
    }

    /// The constants that explain each frame.
    fn constants(&self, kind: Kind, largest: u64) -> Vec<u64> {
        let pairs = self.observed.iter().zip(self.xor.iter().zip(&self.sum));
        let constant = |(observed, (xor, sum)): (&u64, (&u64, &u64))| {
            let constant = match kind {
                Kind::Xor => observed ^ xor,
                Kind::Sum { xorout } => (observed ^ xorout).wrapping_sub(*sum),
                Kind::Negated => observed.wrapping_add(*sum),
            };
            constant & largest
        };
        pairs.map(constant).collect()
    }
}

/// Candidates among XOR and sums at all places.
pub(crate) fn find(
    frames: &Frames,
    places: &[Place],
    counters: &[FoundCounter],
    identifier: Option<u32>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for place in places.iter().copied().filter(|place| place.bits <= 16) {
        let constant = at_place(frames, place, None, identifier);
        if constant.is_empty() {
            for counter in counters.iter().filter(|one| is_chooser(one, place)).take(2) {
                candidates.extend(at_place(frames, place, Some(counter), identifier));
            }
        }
        candidates.extend(constant);
    }
    candidates
}

/// True if the counter can choose Data-IDs of a checksum at this place.
pub(crate) fn is_chooser(one: &FoundCounter, place: Place) -> bool {
    one.counter.max - one.counter.min < 16 && !field::overlap(one.counter.place, place)
}

fn at_place(frames: &Frames, place: Place, counter: Option<&FoundCounter>, identifier: Option<u32>) -> Vec<Candidate> {
    let largest = field::largest(place);
    let mut candidates = Vec::new();
    for cover in Cover::all(place, frames.len) {
        // Bytes that are zero change nothing.
        if cover.bytes.iter().any(|(_, used)| *used == 0) {
            continue;
        }
        for unit in [Unit::Byte, Unit::Nibble] {
            let probed = Values::new(frames, &frames.probe, &cover, unit);
            let mut values: Option<Values> = None;
            for kind in kinds(place, counter.is_some()) {
                // Only 4 bits of it can vary: a whole byte would be no better than the half, and miss frames whose other half varies.
                if matches!(kind, Kind::Xor) && unit == Unit::Nibble && place.bits > 4 {
                    continue;
                }
                if counter.is_none() {
                    let constants = probed.constants(kind, largest);
                    if frames::majority(&constants).is_none() {
                        continue;
                    }
                }
                let values = values.get_or_insert_with(|| Values::new(frames, &frames.sample, &cover, unit));
                let constants = values.constants(kind, largest);
                let Some(constants) = grouped(frames, counter, &constants) else { continue };
                candidates.extend(candidate(frames, &cover, unit, kind, &constants, counter, identifier));
            }
        }
    }
    candidates
}

/// The kinds that differ. A complement is a negated sum, and the highest bit of a final XOR is a part of the start.
fn kinds(place: Place, is_listed: bool) -> Vec<Kind> {
    let sums = [Kind::Sum { xorout: 0 }, Kind::Negated];
    if place.bits > 8 {
        return sums.into();
    }
    let mut kinds = vec![Kind::Xor];
    kinds.extend(sums);
    if !is_listed {
        kinds.extend((1..field::largest(place) / 2).map(|xorout| Kind::Sum { xorout }));
    }
    kinds
}

fn candidate(
    frames: &Frames,
    cover: &Cover,
    unit: Unit,
    kind: Kind,
    constants: &Grouped,
    counter: Option<&FoundCounter>,
    identifier: Option<u32>,
) -> Option<Candidate> {
    let largest = field::largest(cover.place);
    let checksum = |init| match kind {
        Kind::Xor => Checksum::Xor { unit, init },
        Kind::Sum { xorout } => Checksum::Sum { unit, init, negated: false, xorout },
        Kind::Negated => Checksum::Sum { unit, init, negated: true, xorout: 0 },
    };
    let mut penalty = 2.0 + scheme::penalty(cover, frames);
    if unit == Unit::Nibble {
        penalty += 1.0;
    }
    let mut fitted = 14.0;
    if matches!(kind, Kind::Sum { xorout } if xorout != 0) {
        (penalty, fitted) = (penalty + 10.0, fitted + f64::from(cover.place.bits));
    }
    let mut ambiguities = Vec::new();
    let mut data_id = DataId::default();
    let (init, count) = match constants {
        Grouped::One(constant) => {
            let known = identifier.and_then(|id| with_identifier(*constant, id, frames.len, unit, kind, largest));
            if *constant != 0 {
                penalty += 2.0;
                ambiguities.push(Ambiguity::StartOrIdentifier);
            }
            match known {
                Some((before, init)) => {
                    data_id.before = [before].into();
                    (init, 1)
                }
                None => (*constant, 1),
            }
        }
        Grouped::List(list) => {
            if place_is_wide(cover.place) {
                return None;
            }
            let entry = |constant: &Option<u64>| {
                let value = constant.unwrap_or_default();
                let value = if matches!(kind, Kind::Negated) { value.wrapping_neg() & largest } else { value };
                vec![u8::try_from(value).unwrap_or_default()]
            };
            // Nibbles of the entry are added one by one.
            if unit == Unit::Nibble && cover.place.bits != 4 {
                return None;
            }
            let counter = counter?;
            let entries: Vec<Option<Vec<u8>>> = list.iter().map(|one| one.as_ref().map(|_| entry(one))).collect();
            let (entries, unseen) = scheme::listed(&entries, &counter.counter, 1);
            penalty += 3.0 * entries.len() as f64;
            if !unseen.is_empty() {
                ambiguities.push(Ambiguity::UnseenCounters(unseen));
            }
            data_id.before = entries;
            ambiguities.push(Ambiguity::StartOrDataId);
            (0, list.iter().flatten().count())
        }
    };
    let scheme = scheme::of(checksum(init), cover, data_id, counter, frames.len);
    let by = counter.map(|one| one.counter.place);
    Some(Candidate { scheme, settings: None, fitted, constants: count, penalty, ambiguities, by })
}

fn place_is_wide(place: Place) -> bool {
    place.bits > 8
}

/// The identifier's bytes before the payload, if what is left of the constant is 0, 8 or the length.
fn with_identifier(
    constant: u64,
    identifier: u32,
    len: usize,
    unit: Unit,
    kind: Kind,
    largest: u64,
) -> Option<(Vec<u8>, u64)> {
    let bytes: Vec<u8> = identifier.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    let units = bytes.iter().flat_map(|byte| match unit {
        Unit::Byte => [*byte, 0],
        Unit::Nibble => [byte >> 4, byte & 0xF],
    });
    let rest = match kind {
        Kind::Xor => units.fold(constant, |rest, unit| rest ^ u64::from(unit)),
        Kind::Sum { .. } => units.fold(constant, |rest, unit| rest.wrapping_sub(unit.into())),
        Kind::Negated => units.fold(constant, |rest, unit| rest.wrapping_add(unit.into())),
    } & largest;
    let is_plain = rest == 0 || rest == len as u64 & largest || largest == 0xF && rest == 8;
    // A constant of 0 needs no explanation.
    (is_plain && constant != 0 && !bytes.is_empty()).then_some((bytes, rest))
}
