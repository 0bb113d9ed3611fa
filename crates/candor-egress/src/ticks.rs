//! The unit in which the kernel keeps bursts: the time that they take at a rate, in ticks.
//!
//! # Source
//! [`PSCHED_TICKS2NS`](https://github.com/gregkh/linux/blob/v6.1.192/include/net/pkt_sched.h#L56) in Linux 6.1;
//! `/proc/net/psched` says `000003e8 00000040`.

pub const TICK_NS: u64 = 64;
const NS_PER_S: u128 = 1_000_000_000;

/// Ticks that an amount (of bytes, of frames) takes at a rate per second, rounded up so that the whole amount fits.
/// `None` at rate 0, or if it takes longer than the kernel can count.
///
/// Rounds down if ticks are so coarse that rounding up would be read as another amount.
#[must_use]
pub fn ticks(amount: u64, per_second: u64) -> Option<u64> {
    let tick = u128::from(per_second) * u128::from(TICK_NS);
    let ticks = (u128::from(amount) * NS_PER_S).div_ceil((tick > 0).then_some(tick)?);
    let up = u64::try_from(ticks).ok()?;
    let is_read_as = |ticks: u64| self::amount(ticks, per_second) == amount;
    Some(if !is_read_as(up) && is_read_as(up.saturating_sub(1)) { up - 1 } else { up })
}

/// The nearest whole amount for a number of ticks, which programs round up and the kernel rounds down.
/// Exact at rates up to 7.8 million per second, many times that of any CAN bus.
#[must_use]
pub fn amount(ticks: u64, per_second: u64) -> u64 {
    let ns = u128::from(ticks) * u128::from(TICK_NS);
    let amount = ns.saturating_mul(u128::from(per_second)).saturating_add(NS_PER_S / 2) / NS_PER_S;
    u64::try_from(amount).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The kernel makes 37.5 ms of 60 bytes at 1600 bytes/s and shows 585937 ticks of 585937.5; `tc` makes 59 of it.
    #[test]
    fn sixty_bytes_round_trip() {
        assert_eq!(ticks(60, 1600), Some(585_938));
        assert_eq!([585_937, 585_938].map(|ticks| amount(ticks, 1600)), [60, 60]);
    }

    #[test]
    fn rejects_infinite_durations() {
        assert_eq!(ticks(1, 0), None);
        assert_eq!(ticks(u64::MAX, 1), None);
        assert_eq!(amount(u64::MAX, u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn read_amounts_round_trip(ticks in any::<u32>(), per_second in 1..=u64::MAX) {
            let read = amount(ticks.into(), per_second);
            let again = super::ticks(read, per_second).map(|ticks| amount(ticks, per_second));
            prop_assert!(again.is_none_or(|again| again == read), "{again:?} of {read}");
        }

        #[test]
        fn amounts_round_trip(wanted in any::<u32>(), per_second in 1..=7_812_500_u64) {
            let up = ticks(wanted.into(), per_second).unwrap();
            prop_assert_eq!(amount(up, per_second), u64::from(wanted));
            let down = u64::from(wanted) * 1_000_000_000 / per_second / TICK_NS;
            prop_assert_eq!(amount(down, per_second), u64::from(wanted));
        }
    }
}
