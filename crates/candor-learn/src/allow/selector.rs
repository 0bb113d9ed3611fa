//! Finds the field of a multiplexed message.

use std::collections::BTreeMap;

use crate::traffic::Recorded;

/// A field that selects what the other bits mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Its lowest bit, counted as in a DBC file with little-endian order.
    pub start: u16,
    /// Its bits: 4 or 8, in one byte.
    pub bits: u8,
    /// The values that were seen, in rising order.
    pub values: Vec<u8>,
}

impl Selector {
    fn of(start: u16, bits: u8, payload: &[u8]) -> Option<u8> {
        let byte = payload.get(usize::from(start / 8))?;
        Some(byte >> (start % 8) & if bits == 8 { 0xFF } else { 0x0F })
    }
}

/// Frames of each value, and values.
const FEWEST: usize = 8;
const MOST_VALUES: usize = 64;

/// The selector of a multiplexed message, if one is evident: a byte or half of one that changes with at least every other frame, has
/// few values, and for most of them fixes at least a quarter of the other bits that vary.
///
/// Multiplexers that are sent in bursts of one value, and those whose other bits vary for all values, are not found.
#[must_use]
pub fn selector(frames: &[&Recorded]) -> Option<Selector> {
    let payloads: Vec<&[u8]> = frames.iter().filter(|one| !one.is_remote).map(|one| &one.payload[..]).collect();
    let len = payloads.first()?.len().min(8);
    if payloads.iter().any(|one| one.len() < len) {
        return None;
    }
    let places = (0..len).flat_map(|byte| [(8 * byte, 8), (8 * byte, 4), (8 * byte + 4, 4)]);
    let mut best: Option<(f64, Selector)> = None;
    for (start, bits) in places {
        let start = u16::try_from(start).unwrap_or_default();
        if let Some((score, found)) = judged(&payloads, start, bits)
            && best.as_ref().is_none_or(|(other, _)| score > *other)
        {
            best = Some((score, found));
        }
    }
    best.map(|(_, found)| found)
}

fn judged(payloads: &[&[u8]], start: u16, bits: u8) -> Option<(f64, Selector)> {
    let value = |payload: &[u8]| Selector::of(start, bits, payload);
    let changes = payloads.windows(2).filter(|pair| value(pair[0]) != value(pair[1])).count();
    let mut groups: BTreeMap<u8, Vec<&[u8]>> = BTreeMap::new();
    for payload in payloads {
        groups.entry(value(payload)?).or_default().push(payload);
    }
    let is_even = (2..=MOST_VALUES).contains(&groups.len()) && groups.values().all(|one| one.len() >= FEWEST);
    if !is_even || 2 * changes < payloads.len() {
        return None;
    }
    let own = usize::from(start / 8);
    let varying = |group: &[&[u8]]| {
        let mut bits = 0;
        for at in (0..group.iter().map(|one| one.len()).min().unwrap_or_default()).filter(|at| *at != own) {
            bits += group.iter().fold(0, |bits, one| bits | one[at] ^ group[0][at]).count_ones();
        }
        f64::from(bits)
    };
    let all = varying(payloads);
    if all < 8.0 {
        return None;
    }
    let fixed = groups.values().map(|group| 1.0 - varying(group) / all).filter(|part| *part >= 0.25).count();
    let score = fixed as f64 / groups.len() as f64;
    (score > 0.5)
        .then(|| (score + f64::from(bits) / 100.0, Selector { start, bits, values: groups.into_keys().collect() }))
}
