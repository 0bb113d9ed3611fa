//! What became of the urgent frames of a run.

use std::collections::BTreeMap;

use candor_bus::BusNs;
use candor_io::clock::MonotonicNs;
use candor_lab::stats::LatencyNs;

/// An urgent frame as its program knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) number: u16,
    /// Right before the system call that sent it.
    pub(super) at: MonotonicNs,
    /// There was no room for it.
    pub(super) is_refused: bool,
}

/// What became of them all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Latencies {
    /// From the system call to the last bit on the wire, in the order in which they were sent.
    pub(super) latencies: Vec<LatencyNs>,
    /// The queue was full.
    pub(super) refused: usize,
    /// The queue was not, and no bus has carried it.
    pub(super) lost: usize,
}

/// Finds each frame again by its number. The time of the buses began at a moment of the clock that programs read.
pub(super) fn of(sent: &[Sent], ends: &[(u16, BusNs)], MonotonicNs(started_at): MonotonicNs) -> Latencies {
    let ends: BTreeMap<u16, BusNs> = ends.iter().copied().collect();
    let mut all = Latencies::default();
    for Sent { number, at: MonotonicNs(at), is_refused } in sent {
        let end = ends.get(number).and_then(|end| i64::try_from(end.0).ok());
        match end {
            Some(end) => all.latencies.push(LatencyNs(started_at.saturating_add(end).saturating_sub(*at))),
            None if *is_refused => all.refused += 1,
            None => all.lost += 1,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_by_their_number_and_told_when_not() {
        let sent = |number, at, is_refused| Sent { number, at: MonotonicNs(at), is_refused };
        let sent = [sent(0, 1000, false), sent(1, 2000, false), sent(2, 3000, true), sent(3, 4000, false)];
        let of = of(&sent, &[(1, BusNs(2500)), (0, BusNs(900))], MonotonicNs(500));
        assert_eq!(of, Latencies { latencies: vec![LatencyNs(400), LatencyNs(1000)], refused: 1, lost: 1 });
    }
}
