use std::collections::VecDeque;

use crate::stats::{LatencyNs, Quantile, Series};
use candor_io::clock::RealtimeNs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    pub came: RealtimeNs,
    pub left: RealtimeNs,
}

/// Matches frames by their number (0 to 255) and order.
#[derive(Debug, Default)]
pub struct Matcher {
    under_way: VecDeque<(u8, RealtimeNs)>,
    first: Option<RealtimeNs>,
    last: Option<RealtimeNs>,
    pub came: u32,
    /// Frames that left in order.
    pub left: u32,
    /// Frames overtaken by others: lost or out of order.
    pub overtaken: u32,
    /// Frames that left but were not pending: doubled, out of order, or not from the tester.
    pub strange: u32,
}

impl Matcher {
    pub fn came(&mut self, tag: u8, at: RealtimeNs) {
        self.came += 1;
        self.first.get_or_insert(at);
        self.last = Some(at);
        self.under_way.push_back((tag, at));
    }

    /// A frame left. Earlier frames that are still pending are overtaken.
    pub fn left(&mut self, tag: u8, at: RealtimeNs) -> Option<Passage> {
        let Some(position) = self.under_way.iter().position(|(other, came)| *other == tag && *came <= at) else {
            self.strange += 1;
            return None;
        };
        self.overtaken += u32::try_from(position).unwrap_or(u32::MAX);
        let (_, came) = self.under_way.drain(..=position).next_back()?;
        self.left += 1;
        Some(Passage { came, left: at })
    }

    pub const fn seen(&self) -> u32 {
        self.came.wrapping_add(self.left).wrapping_add(self.strange)
    }

    /// Frames that came in and have not left, including overtaken ones.
    pub const fn missing(&self) -> u32 {
        self.came - self.left
    }

    /// Mean period of incoming frames; `None` for less than two.
    pub fn period_ns(&self) -> Option<i64> {
        let between = i64::from(self.came.checked_sub(1).filter(|between| *between > 0)?);
        Some((self.last?.0 - self.first?.0) / between)
    }
}

/// How a gateway handled a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// Measured period.
    pub period_ns: i64,
    /// Frames that did not come in.
    pub not_sent: u32,
    /// Frames that came in and did not leave.
    pub lost: u32,
    /// `None` if no frame left.
    pub p50: Option<LatencyNs>,
    pub p90: Option<LatencyNs>,
    pub max: Option<LatencyNs>,
    pub behind: u32,
}

impl Saturation {
    /// Frames that left after the last one had come in.
    pub fn of(frames: u32, matcher: &Matcher, passages: &[Passage]) -> Self {
        let series = Series::new(passages.iter().map(|one| LatencyNs(one.left.0 - one.came.0)).collect());
        let series = series.as_ref();
        let behind = passages.iter().filter(|one| matcher.last.is_some_and(|last| one.left > last)).count();
        Self {
            period_ns: matcher.period_ns().unwrap_or_default(),
            not_sent: frames.saturating_sub(matcher.came),
            lost: matcher.missing(),
            p50: series.map(|series| series.quantile(Quantile::P50)),
            p90: series.map(|series| series.quantile(Quantile::P90)),
            max: series.map(Series::max),
            behind: u32::try_from(behind).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ns: i64) -> RealtimeNs {
        RealtimeNs(ns)
    }

    #[test]
    fn frames_are_found_by_number_and_order() {
        let mut matcher = Matcher::default();
        for number in 0..=5 {
            matcher.came(number, at(100 * i64::from(number)));
        }
        assert_eq!(matcher.left(0, at(70)), Some(Passage { came: at(0), left: at(70) }));
        assert_eq!(matcher.left(3, at(370)), Some(Passage { came: at(300), left: at(370) }));
        assert_eq!((matcher.overtaken, matcher.missing()), (2, 4));
        assert_eq!((matcher.left(3, at(380)), matcher.left(1, at(390))), (None, None));
        assert_eq!((matcher.left, matcher.strange), (2, 2));
        assert_eq!(matcher.period_ns(), Some(100));
    }

    #[test]
    fn numbers_come_again_after_256_frames() {
        let mut matcher = Matcher::default();
        for number in 0..600_i64 {
            matcher.came(u8::try_from(number % 256).unwrap(), at(10 * number));
            if number != 300 {
                let left = matcher.left(u8::try_from(number % 256).unwrap(), at(10 * number + 3));
                assert_eq!(left, Some(Passage { came: at(10 * number), left: at(10 * number + 3) }));
            }
        }
        assert_eq!((matcher.came, matcher.left, matcher.overtaken, matcher.strange), (600, 599, 1, 0));
    }

    #[test]
    fn a_frame_does_not_leave_before_it_comes() {
        let mut matcher = Matcher::default();
        matcher.came(1, at(100));
        assert_eq!(matcher.left(1, at(99)), None);
        assert_eq!(matcher.strange, 1);
    }

    #[test]
    fn a_gateway_that_is_behind_is_told_from_one_that_keeps_up() {
        let mut matcher = Matcher::default();
        (0..10).for_each(|number| matcher.came(number, at(100 * i64::from(number))));
        let passages: Vec<_> = (0..8).filter_map(|number| matcher.left(number, at(200 * i64::from(number)))).collect();
        let saturation = Saturation::of(12, &matcher, &passages);
        assert_eq!((saturation.not_sent, saturation.lost, saturation.behind), (2, 2, 3));
        assert_eq!(
            (saturation.period_ns, saturation.p50, saturation.max),
            (100, Some(LatencyNs(300)), Some(LatencyNs(700)))
        );
        let nothing = Saturation::of(3, &Matcher::default(), &[]);
        assert_eq!((nothing.not_sent, nothing.p50, nothing.period_ns), (3, None, 0));
    }
}
