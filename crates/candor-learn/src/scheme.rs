//! Makes schemes of what was found.

use candor_e2e::{Checksum, Counter, DataId, Scheme};

use crate::counter::FoundCounter;
use crate::field::{self, Cover};
use crate::frames::Frames;

/// Frames in which changes are counted.
const CHANGES: usize = 1000;

/// A scheme with these parts.
pub(crate) fn of(
    checksum: Checksum,
    cover: &Cover,
    data_id: DataId,
    counter: Option<&FoundCounter>,
    len: usize,
) -> Scheme {
    let at = |byte: usize| u16::try_from(byte).unwrap_or(u16::MAX);
    let (first, last) = cover.over;
    Scheme {
        over: (at(first), (last + 1 != len).then(|| at(last))),
        zeroed: cover.zeroed,
        data_id,
        counter: counter.map(|one| one.counter),
        ..Scheme::new(checksum, cover.place, len)
    }
}

/// How unusual a place and a range are: the last byte, all bytes, and a checksum that changes with every other payload are
/// usual.
pub(crate) fn penalty(cover: &Cover, frames: &Frames) -> f64 {
    let (first, end) = field::bytes(cover.place);
    let mut penalty = match () {
        () if end == frames.len => 0.0,
        () if first == 0 => 0.5,
        () => 4.0,
    };
    let is_whole = (first..end).all(|at| field::mask(cover.place, at) == 0xFF);
    if cover.place.bits < 8 {
        penalty += 1.0;
    }
    if cover.zeroed == is_whole {
        penalty += 4.0;
    }
    let (from, to) = cover.over;
    penalty += if from > 0 { 3.0 } else { 0.0 } + if to + 1 < frames.len { 3.0 } else { 0.0 };
    penalty + idleness(cover, frames)
}

/// How far the checksum is from changing with every other payload, half of its bits, and by any distance: signals drift.
fn idleness(cover: &Cover, frames: &Frames) -> f64 {
    let (mut of, mut changed, mut bits, mut distance) = (0.0, 0.0, 0.0, 0.0);
    let largest = field::largest(cover.place);
    for at in 1..frames.count().min(CHANGES) {
        let (one, other) = (frames.get(at - 1), frames.get(at));
        if one == other {
            continue;
        }
        let (before, after) = (field::value(cover.place, one), field::value(cover.place, other));
        let step = after.wrapping_sub(before) & largest;
        distance += step.min(largest - step + 1) as f64 / largest as f64;
        let differing = before ^ after;
        of += 1.0;
        changed += f64::from(differing.count_ones().min(1));
        bits += f64::from(differing.count_ones());
    }
    if of == 0.0 {
        return 0.0;
    }
    let width = f64::from(cover.place.bits);
    let usual = 1.0 - 0.5_f64.powf(width);
    let missing = |usual: f64, sum: f64| (usual - sum / of).max(0.0);
    40.0 * missing(usual, changed) + 30.0 * missing(0.5, bits / width) + 80.0 * missing(0.25, distance)
}

/// The shortest list from which the counter chooses these entries, and the values of the counter that the log does not have.
/// Entries are for the values from the smallest on; those of a scheme are chosen by (value modulo length).
pub(crate) fn listed(entries: &[Option<Vec<u8>>], counter: &Counter, size: usize) -> (Vec<Vec<u8>>, Vec<u32>) {
    let value = |at: usize| counter.min.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
    let known = || entries.iter().enumerate().filter_map(|(at, entry)| Some((value(at) as usize, entry.as_ref()?)));
    let full = |count: usize| {
        let mut list: Vec<Option<&Vec<u8>>> = vec![None; count];
        for (number, entry) in known() {
            let slot = list.get_mut(number % count)?;
            if slot.is_some_and(|other| other != entry) {
                return None;
            }
            *slot = Some(entry);
        }
        Some(list)
    };
    let most = entries.len();
    let (count, list) = (1..=most).find_map(|count| Some((count, full(count)?))).unwrap_or_else(|| (1, vec![None]));
    let unseen = (0..most).map(value).filter(|number| matches!(list.get(*number as usize % count), Some(None)));
    let unseen = unseen.collect();
    (list.into_iter().map(|entry| entry.cloned().unwrap_or_else(|| vec![0; size])).collect(), unseen)
}
