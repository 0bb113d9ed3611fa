//! Finds counters.

use candor_e2e::{ByteOrder, Counter, Place};

use crate::field;
use crate::frames::Frames;

/// Frames in which every field is tried.
const WINDOW: usize = 1000;
/// Parts of the frames that must make the step.
const LEAST: f64 = 0.7;

/// Bits of the choice of a field, a range and a step, and 8 more.
const SEARCHED: f64 = 24.0;

/// A field that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundCounter {
    /// Its place, smallest and largest value. `max_delta` is [`step`](Self::step).
    pub counter: Counter,
    /// What most frames add to it, modulo the number of its values.
    pub step: u32,
    /// Frames whose counter is that of the frame before plus the step.
    pub steps: usize,
    /// Frames after the first, without repeated ones.
    pub of: usize,
    /// It was seen to start again. Otherwise its range is a guess: all values of its field.
    pub wraps: bool,
}

impl FoundCounter {
    fn fraction(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.steps as f64 / self.of as f64 }
    }
}

/// The counters of these frames, the best first. None shares bits with another.
pub(crate) fn find(frames: &Frames) -> Vec<FoundCounter> {
    let window = frames.count().min(WINDOW);
    if window < 8 {
        return Vec::new();
    }
    let varying = often_varying(frames, window);
    let mut found: Vec<FoundCounter> = fields(frames.len)
        .filter(|place| varies(*place, &varying))
        .filter_map(|place| judge(frames, place, window))
        .collect();
    let mut best: Vec<FoundCounter> = Vec::new();
    while let Some(mut one) = found.iter().copied().max_by(|one, other| rank(one).total_cmp(&rank(other))) {
        // A wider field that holds this one is better, unless its other bits are no part of the counter.
        while let Some(wider) = found.iter().copied().find(|wider| is_wider(wider, &one)) {
            one = wider;
        }
        found.retain(|other| !field::overlap(other.counter.place, one.counter.place));
        best.push(judge(frames, one.counter.place, frames.count()).unwrap_or(one));
    }
    best
}

/// Prefers wide fields only between equals.
fn rank(one: &FoundCounter) -> f64 {
    one.fraction() + f64::from(one.counter.place.bits) * 1e-6
}

fn is_wider(wider: &FoundCounter, one: &FoundCounter) -> bool {
    let (first, end) = field::bytes(one.counter.place);
    let holds = (first..end).all(|at| field::mask(one.counter.place, at) & !field::mask(wider.counter.place, at) == 0);
    // A bit above that is no part of it costs one frame per turn.
    let lost = 0.4 / f64::from(1_u32 << one.counter.place.bits.min(16));
    wider.counter.place.bits > one.counter.place.bits && holds && wider.fraction() >= one.fraction() - lost
}

/// All fields of 2 to 8 bits, and whole bytes of 16 and 32 bits.
fn fields(len: usize) -> impl Iterator<Item = Place> {
    let bits = u16::try_from(8 * len).unwrap_or(u16::MAX);
    let narrow = (0..bits).flat_map(move |start| {
        (2..=8_u8).flat_map(move |width| {
            let little = Place { start, bits: width, order: ByteOrder::Little };
            // Fields in one byte are the same in both orders.
            let crosses = start % 8 + u16::from(width) > 8;
            let big = Place { start: (start ^ 7), bits: width, order: ByteOrder::Big };
            [Some(little), crosses.then_some(big)]
        })
    });
    let wide = (0..bits / 8).flat_map(|byte| {
        [2, 4].into_iter().flat_map(move |count| {
            [ByteOrder::Little, ByteOrder::Big].map(|order| Some(Place::bytes(byte, count, order)))
        })
    });
    narrow.chain(wide).flatten().filter(move |place| field::bytes(*place).1 <= len)
}

/// Bits that have each value in at least 3 of 100 frames: damage is rarer.
fn often_varying(frames: &Frames, window: usize) -> Vec<u8> {
    let mut ones = vec![[0_usize; 8]; frames.len];
    for frame in frames.iter().take(window) {
        for (ones, byte) in ones.iter_mut().zip(frame) {
            ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += usize::from(byte >> bit & 1));
        }
    }
    let least = (3 * window / 100).max(1);
    let varies = |ones: usize| ones.min(window - ones) >= least;
    let byte = |ones: &[usize; 8]| (0..8).filter(|bit| varies(ones[*bit])).fold(0, |byte, bit| byte | 1 << bit);
    ones.iter().map(byte).collect()
}

/// True if every bit of a field varies.
fn varies(place: Place, varying: &[u8]) -> bool {
    let (first, end) = field::bytes(place);
    (first..end).all(|at| field::mask(place, at) & !varying.get(at).copied().unwrap_or_default() == 0)
}

fn judge(frames: &Frames, place: Place, window: usize) -> Option<FoundCounter> {
    let values: Vec<u32> =
        (0..window).map(|at| u32::try_from(field::value(place, frames.get(at))).unwrap_or_default()).collect();
    let largest = u32::try_from(field::largest(place)).unwrap_or(u32::MAX);
    let pairs = || values.windows(2).filter_map(|pair| <[u32; 2]>::try_from(pair).ok()).filter(|[one, two]| one != two);
    let of = pairs().count();
    // Most frames must change it; 2 steps are no evidence.
    if of < 6 || 5 * of < 3 * values.len() {
        return None;
    }
    let (seen_min, seen_max) = seen(&values, largest);
    let ranges = [(0, largest), (0, largest - 1), (1, largest), (seen_min, seen_max)];
    let mut best: Option<FoundCounter> = None;
    for (min, max) in ranges {
        if min >= max {
            continue;
        }
        let size = u64::from(max - min) + 1;
        let delta = |one: u32, two: u32| {
            let (one, two) = (u64::from(one.wrapping_sub(min)), u64::from(two.wrapping_sub(min)));
            (one < size && two < size).then(|| (size + two - one) % size)
        };
        let step = most(pairs().filter_map(|[one, two]| delta(one, two)).take(200))?;
        // With another step, its lowest bits do not count.
        if !(if size.is_power_of_two() { step % 2 == 1 } else { step == 1 || step + 1 == size }) {
            continue;
        }
        let steps = pairs().filter(|[one, two]| delta(*one, *two) == Some(step)).count();
        let wraps =
            pairs().filter(|[one, two]| delta(*one, *two) == Some(step) && (two < one) == (step <= size / 2)).count();
        // A range that is only that of the log is no range.
        // One turn is enough if nothing else is odd: otherwise a frame was lost just then.
        let is_usual = (min == 0 && max >= largest - 1 || min == 1 && max == largest) && wraps == 1 && steps == of;
        if (min, max) == (seen_min, seen_max) && (min, max) != (0, largest) && wraps < 2 && !is_usual {
            continue;
        }
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let max_delta = step.clamp(1, max - min);
        let counter = Counter { min, max, first: min, max_delta, ..Counter::new(place) };
        let one = FoundCounter { counter, step, steps, of, wraps: wraps > 0 };
        if best.is_none_or(|best| one.steps > best.steps) {
            best = Some(one);
        }
    }
    let least = if place.bits <= 2 { 0.8 } else { LEAST };
    best.filter(|best| best.fraction() >= least && evidence(best) >= SEARCHED)
}

/// The smallest and the largest value that is no accident.
fn seen(values: &[u32], largest: u32) -> (u32, u32) {
    if largest > 0xFF {
        return (values.iter().copied().min().unwrap_or_default(), values.iter().copied().max().unwrap_or_default());
    }
    let mut counts = [0_usize; 256];
    for value in values {
        if let Some(count) = counts.get_mut(*value as usize) {
            *count += 1;
        }
    }
    let least = (values.len() / (4 * (largest as usize + 1))).max(1);
    let is_used = |count: &usize| *count >= least;
    let min = counts.iter().position(is_used).unwrap_or_default();
    let max = counts.iter().rposition(is_used).unwrap_or_default();
    (u32::try_from(min).unwrap_or_default(), u32::try_from(max).unwrap_or_default())
}

/// Bits of evidence against a field of this many values at random.
fn evidence(one: &FoundCounter) -> f64 {
    let size = f64::from(one.counter.max - one.counter.min) + 1.0;
    let (steps, others) = (one.steps as f64, (one.of - one.steps) as f64);
    let choices = if others == 0.0 {
        0.0
    } else {
        let part = one.fraction();
        -steps * part.log2() - others * (1.0 - part).log2()
    };
    steps * size.log2() + others * (size / (size - 1.0)).log2() - choices
}

/// The most frequent of a few values.
fn most(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.chunk_by(|one, other| one == other).max_by_key(|chunk| chunk.len()).and_then(|chunk| chunk.first().copied())
}
