//! The keys of a guard.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::constant::Constant;
use super::observed::Observed;
use super::range::Range;
use crate::written::Hex;

const SECOND: u64 = 1_000_000_000;
/// Data frames below which bits that never changed say nothing.
const FEWEST_FOR_BITS: usize = 100;
/// Frames below which nothing is said about time.
const FEWEST_FOR_TIME: usize = 10;

/// What frames of an identifier may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// As [`Recorded::id`](crate::Recorded::id).
    pub id: u32,
    /// Remote frames were seen. They need a route of their own, and are not judged.
    pub has_remote: bool,
    /// Lengths of payloads in bytes. Empty: any.
    pub len: BTreeSet<usize>,
    /// Bits of the payload.
    pub constant: Option<Constant>,
    /// Signals of a database.
    pub values: Vec<Range>,
    /// Frames per second and the depth of the bucket in frames.
    pub rate: Option<(u32, u32)>,
    /// The shortest time between two frames, in ns.
    pub min_gap_ns: Option<u64>,
    /// The longest time without a frame, in ns.
    pub silent_ns: Option<u64>,
}

impl Guard {
    /// A guard that all that was seen satisfies.
    ///
    /// * Time: with a period, the rate is 1.2 times that of the median, the shortest gap is half of it, or 0.8 times the shortest
    ///   one that was seen, and silence is 5 periods, or twice the longest gap, unless the frames ended that long before a log. Without a period, the rate is 1.5 times the most
    ///   frames in a second.
    /// * The bucket is one frame deeper than the logs need, and at least 2.
    /// * Constant bits need 100 data frames.
    /// * [`values`](Self::values) are empty.
    #[must_use]
    pub fn of(seen: &Observed) -> Self {
        let mut guard = Self {
            id: seen.id,
            has_remote: seen.remote > 0,
            len: seen.lengths.keys().copied().collect(),
            constant: None,
            values: Vec::new(),
            rate: None,
            min_gap_ns: None,
            silent_ns: None,
        };
        if seen.frames >= FEWEST_FOR_BITS && seen.constant.bits() > 0 {
            guard.constant = Some(seen.constant.clone());
        }
        let Some(gaps) = seen.gaps.filter(|gaps| gaps.count + 1 >= FEWEST_FOR_TIME) else { return guard };
        let rate = if gaps.is_cyclic() {
            let half = gaps.median_ns / 2;
            let shortest = if gaps.min_ns > half { half } else { gaps.min_ns / 5 * 4 };
            guard.min_gap_ns = Some(two_digits(shortest, false)).filter(|_| shortest > gaps.median_ns / 10);
            guard.silent_ns = Some(two_digits((5 * gaps.median_ns).max(2 * gaps.max_ns), true))
                .filter(|silent| seen.ended_before_ns <= *silent);
            (6 * SECOND / 5).div_ceil(gaps.median_ns)
        } else {
            (3 * seen.most_per_s as u64).div_ceil(2)
        };
        let rate = u32::try_from(two_digits(rate.max(1), true)).unwrap_or(u32::MAX);
        let depth = seen.times.iter().map(|times| depth(times, rate)).max().unwrap_or_default();
        guard.rate = Some((rate, u32::try_from(depth + 1).unwrap_or(u32::MAX).max(2)));
        guard
    }

    /// The keys as lines of a route.
    #[must_use]
    pub fn written(&self) -> String {
        let mut text = String::new();
        let lengths: Vec<_> = self.len.iter().map(ToString::to_string).collect();
        let _infallible = match &lengths[..] {
            [] => Ok(()),
            [one] => writeln!(text, "guard.len = {one}"),
            _ => writeln!(text, "guard.len = [{}]", lengths.join(", ")),
        };
        if let Some(Constant { mask, value }) = &self.constant {
            let _infallible =
                writeln!(text, "guard.constant = {{ mask = \"{}\", value = \"{}\" }}", Hex(mask), Hex(value));
        }
        if !self.values.is_empty() {
            let each = |Range { name, physical: (least, most), .. }: &Range| {
                format!("\"{name} >= {least}\", \"{name} <= {most}\"")
            };
            let values: Vec<_> = self.values.iter().map(each).collect();
            let _infallible = writeln!(text, "guard.values = [{}]", values.join(", "));
        }
        if let Some((rate, burst)) = self.rate {
            let _infallible = writeln!(text, "guard.rate = \"{rate} frames/s\"\nguard.burst = {burst}");
        }
        for (key, time) in [("min-gap", self.min_gap_ns), ("silent", self.silent_ns)] {
            if let Some(time) = time {
                let _infallible = writeln!(text, "guard.{key} = \"{}\"", duration(time));
            }
        }
        text
    }
}

/// Frames that a bucket of this rate must hold for these times.
fn depth(times: &[u64], rate: u32) -> u64 {
    let full = u128::from(SECOND);
    let (mut missing, mut most) = (0_u128, 0_u128);
    let mut last = None;
    for time in times {
        let refilled = last.map_or(0, |last| u128::from(time - last) * u128::from(rate));
        missing = missing.saturating_sub(refilled) + full;
        most = most.max(missing);
        last = Some(*time);
    }
    u64::try_from(most.div_ceil(full)).unwrap_or(u64::MAX)
}

/// The number with two significant digits, rounded up or down.
fn two_digits(number: u64, up: bool) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    if up { number.div_ceil(unit) * unit } else { number / unit * unit }
}

/// A time in ns as a gateway file has it, in the largest unit in which it is a whole number: `10ms`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let units = [(SECOND, "s"), (1_000_000, "ms"), (1000, "us")];
    let found = units.into_iter().find(|(unit, _)| ns >= *unit && ns.is_multiple_of(*unit));
    found.map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_kept() {
        assert_eq!([99, 100, 101, 12_345].map(|one| two_digits(one, true)), [99, 100, 110, 13_000]);
        assert_eq!([99, 101, 12_999].map(|one| two_digits(one, false)), [99, 100, 12_000]);
        let times = [4_900_000, 500_000_000, 2_000_000_000, 120_000, 7];
        assert_eq!(times.map(duration), ["4900us", "500ms", "2s", "120us", "7ns"]);
    }

    #[test]
    fn bucket_is_as_deep_as_the_log_needs() {
        assert_eq!(depth(&[0, SECOND, 2 * SECOND], 1), 1);
        assert_eq!(depth(&[0, 0, 0, SECOND], 1), 3);
        assert_eq!(depth(&[], 1), 0);
    }

    #[test]
    fn constant_bits_end_with_the_shortest_payload() {
        let payloads: [&[u8]; 3] = [&[0x12, 0x34, 0x56], &[0x13, 0x34], &[0x12, 0x34, 0x00]];
        let constant = Constant::of(payloads.into_iter());
        assert_eq!(constant, Constant { mask: vec![0xFE, 0xFF], value: vec![0x12, 0x34] });
        assert!(constant.holds(&[0x13, 0x34, 0x99]) && !constant.holds(&[0x12]) && !constant.holds(&[0x10, 0x34]));
    }
}
