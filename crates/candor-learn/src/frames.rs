//! The payloads of one length, and which of them are looked at first.

use std::collections::{HashMap, HashSet};

/// Frames that hypotheses are tried on before all frames are: with 16 values of a counter, 24 for each. Half of them if they are
/// long.
const SAMPLE: usize = 384;
/// Different frames that a wrong hypothesis must not agree with.
const PROBE: usize = 8;

/// Payloads of one length, in the order of reception.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) len: usize,
    bytes: Vec<u8>,
    /// Payloads of other lengths.
    pub(crate) others: usize,
    /// Different payloads.
    pub(crate) distinct: usize,
    /// Indices of frames at random, from all over the log.
    pub(crate) sample: Vec<usize>,
    /// The first different ones of the sample.
    pub(crate) probe: Vec<usize>,
}

impl Frames {
    /// Takes the most frequent length; of two, the larger one.
    pub(crate) fn new<'a>(payloads: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let payloads: Vec<&[u8]> = payloads.into_iter().collect();
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for payload in payloads.iter().filter(|payload| !payload.is_empty()) {
            *lengths.entry(payload.len()).or_default() += 1;
        }
        let len = lengths.iter().max_by_key(|(len, count)| (**count, **len)).map_or(0, |(len, _)| *len);
        let bytes: Vec<u8> =
            payloads.iter().filter(|one| one.len() == len).flat_map(|one| one.iter().copied()).collect();
        let count = bytes.len().checked_div(len).unwrap_or(0);
        let mut frames =
            Self { len, bytes, others: payloads.len() - count, distinct: 0, sample: Vec::new(), probe: Vec::new() };
        frames.distinct = frames.iter().collect::<HashSet<_>>().len();
        frames.sample = sample(count, if len > 16 { SAMPLE / 2 } else { SAMPLE });
        let mut known = HashSet::new();
        frames.probe = frames.sample.iter().copied().filter(|at| known.insert(frames.get(*at))).take(PROBE).collect();
        frames
    }

    pub(crate) fn count(&self) -> usize {
        self.bytes.len().checked_div(self.len).unwrap_or(0)
    }

    pub(crate) fn get(&self, at: usize) -> &[u8] {
        self.bytes.get(at * self.len..(at + 1) * self.len).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.len.max(1))
    }

    /// Bits of each byte that differ between any two frames.
    pub(crate) fn varying(&self) -> Vec<u8> {
        let first = self.get(0).to_vec();
        let mut varying = vec![0; self.len];
        for frame in self.iter() {
            for ((bits, byte), first) in varying.iter_mut().zip(frame).zip(&first) {
                *bits |= byte ^ first;
            }
        }
        varying
    }
}

/// Indices without regularity: a fixed distance could hit one value of a counter only.
fn sample(count: usize, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let taken = count.min(most);
    for at in 0..taken {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let left = (count - at) as u64;
        let other = at + usize::try_from((state >> 11) % left).unwrap_or_default();
        order.swap(at, other);
    }
    order.truncate(taken);
    order
}

/// The value of more than half, if there is one, and how often it is there.
pub(crate) fn majority(values: &[u64]) -> Option<(u64, usize)> {
    let (mut candidate, mut lead) = (0, 0_usize);
    for value in values {
        match lead {
            0 => (candidate, lead) = (*value, 1),
            _ if *value == candidate => lead += 1,
            _ => lead -= 1,
        }
    }
    let count = values.iter().filter(|value| **value == candidate).count();
    (2 * count > values.len()).then_some((candidate, count))
}

/// True if this part of the frames is enough to go on with: damaged frames are tolerated.
pub(crate) fn is_most(explained: usize, of: usize) -> bool {
    10 * explained >= 7 * of
}
