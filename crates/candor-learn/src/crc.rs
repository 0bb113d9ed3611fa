//! Finds CRCs of any polynomial.
//!
//! A payload followed by its CRC is a multiple of the polynomial, but for start and final values. The XOR of two payloads of one
//! length has neither, so it is a multiple; the largest common divisor of a few such XORs is the polynomial, or a small multiple
//! of it.

use std::collections::HashSet;

use candor_e2e::{Algorithm, ByteOrder, CATALOGUE, Checksum, Crc, DataId, Place};

use crate::candidate::Ambiguity;
use crate::candidate::Candidate;
use crate::counter::FoundCounter;
use crate::field::{self, Cover};
use crate::frames::Frames;
use crate::gf2::{self, Poly};
use crate::listed::{Grouped, grouped};
use crate::plain::is_chooser;
use crate::scheme;

/// Pairs of frames of which a common divisor is made, and how often others are tried: a damaged frame spoils one set.
const PAIRS: usize = 6;
const SETS: usize = 8;
/// Bytes of a Data-ID after the payload.
const AFTER: [u8; 4] = [0, 1, 2, 4];

/// The bits of the search: range, order of bits, bytes after the payload.
const SEARCHED: f64 = 16.0;

/// What is assumed before a polynomial is known.
#[derive(Clone, Copy, Debug)]
struct Layout<'a> {
    cover: &'a Cover,
    reflect_in: bool,
    reflect_out: bool,
    after: u8,
}

/// Candidates among CRCs at all places.
pub(crate) fn find(frames: &Frames, places: &[Place], counters: &[FoundCounter]) -> Vec<Candidate> {
    match frames.len {
        0 => Vec::new(),
        1..=8 => find_with::<2>(frames, places, counters),
        9..=18 => find_with::<4>(frames, places, counters),
        _ => find_with::<10>(frames, places, counters),
    }
}

fn find_with<const N: usize>(frames: &Frames, places: &[Place], counters: &[FoundCounter]) -> Vec<Candidate> {
    let content = content(frames, counters);
    let constant = sets(frames, &content, None);
    let choosers: Vec<_> = counters.iter().map(|one| (one, sets(frames, &content, Some(one)))).collect();
    let mut candidates = Vec::new();
    for place in places {
        let found = at_place::<N>(frames, *place, None, &constant);
        if found.is_empty() {
            for (counter, sets) in choosers.iter().filter(|(one, _)| is_chooser(one, *place)).take(2) {
                candidates.extend(at_place::<N>(frames, *place, Some(*counter), sets));
            }
        }
        candidates.extend(found);
    }
    candidates
}

/// The frames of the sample without their counters: frames that differ in a counter only, also in one that the checksum does not
/// cover, say nothing.
fn content(frames: &Frames, counters: &[FoundCounter]) -> Vec<Vec<u8>> {
    let mut used = vec![0xFF; frames.len];
    for counter in counters {
        used.iter_mut().enumerate().for_each(|(at, used)| *used &= !field::mask(counter.counter.place, at));
    }
    let masked = |at: &usize| frames.get(*at).iter().zip(&used).map(|(byte, used)| byte & used).collect();
    frames.sample.iter().map(masked).collect()
}

/// Sets of pairs of frames with different content, and with the same value of the counter.
fn sets(frames: &Frames, content: &[Vec<u8>], counter: Option<&FoundCounter>) -> Vec<Vec<(usize, usize)>> {
    let mut waiting: Vec<(u64, usize)> = Vec::new();
    let mut pairs = Vec::new();
    let mut known = HashSet::new();
    for (at, content) in frames.sample.iter().copied().zip(content) {
        let value = counter.map_or(0, |one| field::value(one.counter.place, frames.get(at)));
        if !known.insert((value, content)) {
            continue;
        }
        match waiting.iter().position(|(other, _)| *other == value) {
            Some(found) => {
                let (_, first) = waiting.swap_remove(found);
                pairs.push((first, at));
            }
            None => waiting.push((value, at)),
        }
    }
    // Few frames: the same ones in other pairs.
    let count = pairs.len();
    if (4..2 * PAIRS).contains(&count) {
        let again: Vec<_> = (0..count)
            .filter_map(|at| {
                let ((one, _), (_, other)) = (pairs.get(at)?, pairs.get((at + 1) % count)?);
                let value = |at: usize| counter.map_or(0, |one| field::value(one.counter.place, frames.get(at)));
                (value(*one) == value(*other) && frames.get(*one) != frames.get(*other)).then_some((*one, *other))
            })
            .collect();
        pairs.extend(again);
    }
    let mut sets: Vec<Vec<(usize, usize)>> =
        pairs.chunks(PAIRS).filter(|set| set.len() >= 4.min(count)).take(SETS).map(Into::into).collect();
    // If little varies, a few pairs have more than the polynomial in common.
    sets.insert(0, pairs.iter().copied().take(PAIRS * SETS / 2).collect());
    sets
}

fn at_place<const N: usize>(
    frames: &Frames,
    place: Place,
    counter: Option<&FoundCounter>,
    sets: &[Vec<(usize, usize)>],
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let is_whole = place.bits >= 8;
    let is_long = frames.len > 16;
    let orders = [(false, false), (true, true), (false, true), (true, false)];
    let orders = if is_long { &orders[..2] } else { &orders[..] };
    let sets = sets.get(..if is_long { 4 } else { SETS + 1 }.min(sets.len())).unwrap_or_default();
    if is_long && (place.bits < 8 || place.bits == 24) {
        return candidates;
    }
    for cover in Cover::all(place, frames.len) {
        for after in AFTER {
            // A checksum that counts as zero at the end of the range is one that is left out, with bytes after it.
            if after > 0 && (cover.zeroed == is_whole || place.bits < 8) {
                continue;
            }
            for (reflect_in, reflect_out) in orders.iter().copied() {
                let layout = Layout { cover: &cover, reflect_in, reflect_out, after };
                let mut known: Vec<u64> = Vec::new();
                for set in sets {
                    for polynomial in polynomials::<N>(frames, layout, set) {
                        if !known.contains(&polynomial) {
                            known.push(polynomial);
                            candidates.extend(candidate(frames, layout, polynomial, counter));
                        }
                    }
                }
                if candidates.len() > 300 {
                    return candidates;
                }
            }
        }
    }
    candidates
}

/// The difference of two frames as a polynomial.
fn difference<const N: usize>(one: &[u8], other: &[u8], layout: Layout<'_>) -> Poly<N> {
    let mut poly = Poly::ZERO;
    for (at, used) in &layout.cover.bytes {
        let byte = |frame: &[u8]| frame.get(*at).copied().unwrap_or_default() & used;
        let byte = byte(one) ^ byte(other);
        poly.push(8, u64::from(if layout.reflect_in { byte.reverse_bits() } else { byte }));
    }
    for _ in 0..layout.after {
        poly.push(8, 0);
    }
    let place = layout.cover.place;
    let value = field::value(place, one) ^ field::value(place, other);
    let value = if layout.reflect_out { value.reverse_bits() >> (64 - u32::from(place.bits)) } else { value };
    if place.bits == 64 {
        poly.push(32, value >> 32);
        poly.push(32, value & 0xFFFF_FFFF);
    } else {
        poly.push(place.bits.into(), value);
    }
    poly
}

/// Polynomials, without the highest term, of which all differences are multiples.
fn polynomials<const N: usize>(frames: &Frames, layout: Layout<'_>, set: &[(usize, usize)]) -> Vec<u64> {
    let width = layout.cover.place.bits;
    let mut common = Poly::<N>::ZERO;
    let mut used = 0;
    for (one, other) in set {
        let difference = difference(frames.get(*one), frames.get(*other), layout);
        if difference == Poly::ZERO {
            continue;
        }
        used += 1;
        common = difference.gcd(common);
        if common.degree().is_none_or(|degree| degree < width.into()) {
            return Vec::new();
        }
    }
    let Some(degree) = common.degree().filter(|_| used >= 3) else { return Vec::new() };
    let more = degree - usize::from(width);
    let mut found = Vec::new();
    if more == 0 {
        found.push(common.below(width));
    } else if more <= 8 {
        // The other factor has the highest and the lowest term.
        for between in 0..1_u64 << (more - 1) {
            let (quotient, rest) = common.divided(&Poly::new(1 << more | between << 1 | 1));
            if rest == Poly::ZERO {
                found.push(quotient.below(width));
            }
        }
    } else {
        for known in CATALOGUE.iter().filter(|known| known.algorithm.width == width) {
            let polynomial = known.algorithm.polynomial;
            if common.divided(&Poly::monic(width, polynomial)).1 == Poly::ZERO && !found.contains(&polynomial) {
                found.push(polynomial);
            }
        }
    }
    // x^8 + 1 and x^4 + 1 are XOR.
    found.retain(|polynomial| width > 8 || *polynomial != 1);
    found
}

fn candidate(
    frames: &Frames,
    layout: Layout<'_>,
    polynomial: u64,
    counter: Option<&FoundCounter>,
) -> Option<Candidate> {
    let Layout { cover, reflect_in, reflect_out, after } = layout;
    let place = cover.place;
    let width = place.bits;
    let linear = Algorithm { width, polynomial, init: 0, reflect_in, reflect_out, xorout: 0 };
    let crc = Crc::new(&linear).ok()?;
    let mut covered = Vec::new();
    let tail = [0; 8];
    let tail = tail.get(..after.into())?;
    let mut residual = |frame: &[u8]| {
        cover.of(frame, &mut covered);
        covered.extend(tail);
        field::value(place, frame) ^ crc.of(&covered)
    };
    let residuals: Vec<u64> = frames.sample.iter().map(|at| residual(frames.get(*at))).collect();
    let constants = grouped(frames, counter, &residuals)?;
    let known: Vec<Algorithm> = CATALOGUE
        .iter()
        .map(|named| named.algorithm)
        .filter(|one| Algorithm { init: 0, xorout: 0, ..*one } == linear)
        .collect();
    // What start and final value alone give.
    let length = cover.bytes.len() + usize::from(after);
    let start = |algorithm: &Algorithm, length: usize| Crc::new(algorithm).map_or(0, |crc| crc.of(&vec![0; length]));
    let base = known.first().copied().unwrap_or(linear);

    let mut penalty = 2.0 + scheme::penalty(cover, frames);
    if known.is_empty() {
        penalty += f64::from(width.min(16)) + if reflect_in { 1.0 } else { 0.0 };
    }
    if reflect_in != reflect_out {
        penalty += 6.0;
    }
    if after > 0 {
        penalty += 4.0 + f64::from(after);
    }
    if width > 8 && place.order == ByteOrder::Little && !reflect_in {
        penalty += 1.0;
    }
    let mut ambiguities = vec![Ambiguity::StartOrFinalOrDataId];
    let mut data_id = DataId::default();
    let (algorithm, fixed) = match &constants {
        Grouped::One(constant) => {
            let matching = known.iter().find(|one| after == 0 && start(one, length) == *constant);
            // The effects of the Data-ID's bits, if it is after the payload.
            let columns = effects(&crc, 0, after.into());
            let solved = gf2::solve(&columns, constant ^ start(&base, length)).filter(|_| after > 0);
            match (matching, solved) {
                (Some(known), _) => (*known, 1),
                (None, Some(bits)) => {
                    data_id.after = [id_bytes(bits, after.into())].into();
                    (base, 1)
                }
                (None, None) => {
                    penalty += 4.0;
                    if after > 0 {
                        data_id.after = [tail.to_vec()].into();
                    }
                    (Algorithm { xorout: *constant, ..linear }, 1)
                }
            }
        }
        Grouped::List(list) => {
            let counter = counter?;
            let size = if after > 0 { usize::from(after) } else { usize::from(width).div_ceil(8) };
            let behind = if after > 0 { 0 } else { cover.bytes.len() };
            let columns = effects(&crc, behind, size);
            let total = cover.bytes.len() + size;
            let offset = start(&base, total);
            let mut entries = Vec::with_capacity(list.len());
            for constant in list {
                let entry = match constant {
                    Some(constant) => Some(id_bytes(gf2::solve(&columns, constant ^ offset)?, size)),
                    None => None,
                };
                entries.push(entry);
            }
            let (entries, unseen) = scheme::listed(&entries, &counter.counter, size);
            penalty += 3.0 * entries.len() as f64;
            if !unseen.is_empty() {
                ambiguities.push(Ambiguity::UnseenCounters(unseen));
            }
            if after > 0 {
                data_id.after = entries;
            } else {
                data_id.before = entries;
            }
            (base, list.iter().flatten().count())
        }
    };
    let scheme = scheme::of(Checksum::Crc(algorithm), cover, data_id, counter, frames.len);
    let fitted = SEARCHED + f64::from(width) - 1.0;
    let by = counter.map(|one| one.counter.place);
    Some(Candidate { scheme, settings: None, fitted, constants: fixed, penalty, ambiguities, by })
}

/// What each bit of these bytes, the first in bits 0 to 7, adds to the CRC with this many bytes behind them.
fn effects(crc: &Crc, behind: usize, size: usize) -> Vec<u64> {
    let effect = |bit: usize| {
        let mut bytes = vec![0; size + behind];
        if let Some(byte) = bytes.get_mut(bit / 8) {
            *byte = 1 << (bit % 8);
        }
        crc.of(&bytes)
    };
    (0..8 * size).map(effect).collect()
}

fn id_bytes(bits: u64, size: usize) -> Vec<u8> {
    bits.to_le_bytes().into_iter().take(size).collect()
}
