use crate::stats::{LatencyNs, Quantile, Series};

/// One burst, all ways together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    pub sent: u32,
    /// Of these, frames that left the gateway.
    pub left: u32,
    /// Frames that left after one that was sent later on the same way.
    pub reordered: u32,
    /// From before the first send to after the last.
    pub sending_ns: i64,
    /// From before the first send until the last frame left.
    pub leaving_ns: Option<i64>,
}

/// The tester's own share of a burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Sending a burst without a gateway.
    pub sending_ns: i64,
    /// One frame through the tap.
    pub tap_ns: i64,
}

impl Overhead {
    /// Time per frame of the gateway alone. `None` if a frame is missing, because the end of the burst is then unknown.
    ///
    /// can-gw forwards each frame within the call that sends it, so the burst ends no earlier than the last call.
    pub fn take_off(self, burst: &Burst) -> Option<LatencyNs> {
        let frames = i64::from(burst.sent);
        if burst.left != burst.sent || frames == 0 {
            return None;
        }
        let over_ns = burst.leaving_ns?.max(burst.sending_ns);
        Some(LatencyNs((over_ns - self.sending_ns) / frames - self.tap_ns))
    }
}

/// Time per frame over many bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub p50: LatencyNs,
    pub p99: LatencyNs,
    pub lost: u32,
    pub reordered: u32,
}

impl Figures {
    /// `None` if no burst was complete.
    pub fn of(bursts: &[Burst], overhead: Overhead) -> Option<Self> {
        let series = Series::new(bursts.iter().filter_map(|burst| overhead.take_off(burst)).collect())?;
        Some(Self {
            p50: series.quantile(Quantile::P50),
            p99: series.quantile(Quantile::P99),
            lost: bursts.iter().map(|burst| burst.sent.saturating_sub(burst.left)).sum(),
            reordered: bursts.iter().map(|burst| burst.reordered).sum(),
        })
    }
}

/// 0 if there are none.
pub fn median(times_ns: impl IntoIterator<Item = i64>) -> i64 {
    let series = Series::new(times_ns.into_iter().map(LatencyNs).collect());
    series.map_or(0, |series| series.quantile(Quantile::P50).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Overhead = Overhead { sending_ns: 16_000, tap_ns: 800 };

    fn burst(leaving_ns: i64) -> Burst {
        Burst { sent: 16, left: 16, reordered: 0, sending_ns: 20_000, leaving_ns: Some(leaving_ns) }
    }

    #[test]
    fn what_the_tester_takes_is_taken_off() {
        // Tester: 16 000 in all. Per frame: 800 for the tap, 4000 for the gateway.
        assert_eq!(OVERHEAD.take_off(&burst(16_000 + 16 * 4800)), Some(LatencyNs(4000)));
        assert_eq!(Overhead::default().take_off(&burst(32_000)), Some(LatencyNs(2000)));
    }

    #[test]
    fn a_burst_is_not_over_before_it_is_sent() {
        let within_the_calls = Burst { sending_ns: 16_000 + 16 * 1900, ..burst(16_000 + 16 * 1800) };
        assert_eq!(OVERHEAD.take_off(&within_the_calls), Some(LatencyNs(1100)));
    }

    #[test]
    fn a_burst_with_a_hole_says_nothing() {
        let whole = burst(90_000);
        assert_eq!(OVERHEAD.take_off(&Burst { left: 15, ..whole }), None);
        assert_eq!(OVERHEAD.take_off(&Burst { leaving_ns: None, ..whole }), None);
        assert_eq!(OVERHEAD.take_off(&Burst::default()), None);
    }

    #[test]
    fn holes_are_counted_beside_the_quantiles_of_the_rest() {
        let bursts: Vec<_> = (1..=100).map(|step| burst(16_000 + 16 * (800 + step))).collect();
        let mut with_hole = bursts.clone();
        with_hole.push(Burst { left: 13, reordered: 1, ..burst(0) });
        let figures = Figures::of(&with_hole, OVERHEAD).unwrap();
        assert_eq!((figures.p50, figures.p99), (LatencyNs(50), LatencyNs(99)));
        assert_eq!((figures.lost, figures.reordered), (3, 1));
        assert_eq!(Figures::of(&with_hole[100..], OVERHEAD), None);
    }

    #[test]
    fn the_median_is_one_that_was_measured() {
        assert_eq!(median([3, 1, 100, 2]), 2);
        assert_eq!(median([]), 0);
    }
}
