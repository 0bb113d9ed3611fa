//! What frames that arrived say about order and rate.

use std::collections::{BTreeMap, BTreeSet};

use candor_core::frame::RawId;

/// Frames that arrived, numbered in the order in which they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub arrived: u64,
    /// After a later one of their identifier.
    pub out_of_order: u64,
    /// After a later one of another identifier.
    pub between_identifiers: u64,
    /// Arrived again. They are not counted as out of order.
    pub duplicated: u64,
}

impl Counted {
    pub fn of(arrived: impl IntoIterator<Item = (RawId, u32)>) -> Self {
        let (mut counted, mut seen) = (Self::default(), BTreeSet::new());
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for (RawId(id), number) in arrived {
            counted.arrived += 1;
            if !seen.insert(number) {
                counted.duplicated += 1;
                continue;
            }
            let is_later = |same: bool| last.iter().any(|(of, last)| (*of == id) == same && *last > number);
            counted.out_of_order += u64::from(is_later(true));
            counted.between_identifiers += u64::from(is_later(false));
            let last = last.entry(id).or_default();
            *last = number.max(*last);
        }
        counted
    }

    /// Different frames that arrived.
    pub const fn different(self) -> u64 {
        self.arrived - self.duplicated
    }
}

/// The most of these times, which ascend, that are in a window of this length.
pub fn fullest_window(times_ns: &[i64], window_ns: i64) -> usize {
    let in_window = |(first, begin): (usize, &i64)| {
        times_ns[first..].partition_point(|time| *time < begin.saturating_add(window_ns))
    };
    times_ns.iter().enumerate().map(in_window).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_counted_within_and_between_identifiers() {
        let [a, b] = [RawId(1), RawId(2)];
        let counted = |frames: &[(RawId, u32)]| Counted::of(frames.iter().copied());
        let fine = counted(&[(a, 0), (b, 1), (a, 2), (b, 5)]);
        assert_eq!(fine, Counted { arrived: 4, ..Counted::default() });
        let between = counted(&[(b, 1), (a, 0)]);
        assert_eq!((between.out_of_order, between.between_identifiers), (0, 1));
        let within = counted(&[(a, 2), (b, 3), (a, 0), (a, 2)]);
        assert_eq!(within, Counted { arrived: 4, out_of_order: 1, between_identifiers: 1, duplicated: 1 });
        assert_eq!(within.different(), 3);
    }

    #[test]
    fn fullest_window_is_at_any_place() {
        assert_eq!(fullest_window(&[], 10), 0);
        assert_eq!(fullest_window(&[0, 10, 20], 10), 1);
        assert_eq!(fullest_window(&[0, 6, 11, 14, 30], 10), 3);
    }
}
