//! Send times of an open loop.

use crate::experiment::Wire;
use crate::experiment::traffic::{Rate, Traffic};
use candor_core::bits::FrameBits;
use candor_core::frame::Frame;
use candor_core::random::SplitMix64;
use candor_egress::policy::FrameRate;

const SECOND_NS: u64 = 1_000_000_000;

/// Send times of the frames in ns after the first one, ascending. `None` for a closed loop, for logs, which have their
/// own times, and for `throughput` until its rate is found ([`at_rate`]). `frame` returns each frame, because shares of
/// a bus are exact to the bit.
pub fn moments(traffic: &Traffic, frames: u32, frame: impl Fn(u32) -> Frame, bus: Wire, seed: u64) -> Option<Vec<u64>> {
    let time_on_bus = |number: u32| time_on(bus, &frame(number));
    let mut random = SplitMix64::new(seed);
    let mut now = 0_u64;
    let mut gap: Box<dyn FnMut(u32) -> u64> = match traffic {
        Traffic::OneAtATime | Traffic::Replay { .. } | Traffic::Throughput { .. } => return None,
        Traffic::Every(period) => {
            let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
            Box::new(move |_| period)
        }
        Traffic::Share(share) => Box::new(move |number| per_mille(time_on_bus(number), *share)),
        Traffic::Flood => Box::new(time_on_bus),
        Traffic::Poisson(rate) => Box::new(move |number| {
            let mean = match rate {
                Rate::FramesPerSecond(rate) => SECOND_NS / u64::from(*rate).max(1),
                Rate::PerMille(share) => per_mille(time_on_bus(number), *share),
            };
            exponential(&mut random, mean)
        }),
        Traffic::Bursts { frames, every } => {
            let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
            let frames = frames.get();
            // Frames of a burst are back to back; the rest of the period follows the last one.
            let mut spent = 0;
            Box::new(move |number| {
                let own = time_on_bus(number);
                let is_last = (number + 1) % frames == 0;
                let gap = if is_last { every.saturating_sub(spent).max(own) } else { own };
                spent = if is_last { 0 } else { spent + own };
                gap
            })
        }
    };
    let moment = |number| {
        let moment = now;
        now = now.saturating_add(gap(number));
        moment
    };
    Some((0..frames).map(moment).collect())
}

/// As [`moments`], at a constant rate.
pub fn at_rate(rate: FrameRate, frames: u32) -> Vec<u64> {
    (0..u64::from(frames)).map(|number| number * SECOND_NS / u64::from(rate.frames_per_second())).collect()
}

/// Frames like this one per second; a share of a bus is rounded down, to at least one.
pub fn frame_rate(rate: Rate, frame: &Frame, bus: Wire) -> FrameRate {
    let frames_per_second = match rate {
        Rate::FramesPerSecond(rate) => rate,
        Rate::PerMille(share) => {
            let between = per_mille(time_on(bus, frame), share).max(1);
            u32::try_from(SECOND_NS / between).unwrap_or(u32::MAX)
        }
    };
    FrameRate::new(frames_per_second.max(1)).expect("at least 1")
}

fn time_on(bus: Wire, frame: &Frame) -> u64 {
    FrameBits::of(frame).wire_time_ns(bus.nominal, bus.data)
}

fn per_mille(time_ns: u64, share: u32) -> u64 {
    time_ns.saturating_mul(1000) / u64::from(share).max(1)
}

/// A random time with an exponential distribution.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "53 random bits, and times far below 2^53 ns, which is 104 days"
)]
fn exponential(random: &mut SplitMix64, mean: u64) -> u64 {
    // Above 0 and at most 1, so that the logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    (-uniform.ln() * mean as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_core::units::BitRate;

    const BUS: Wire = Wire { nominal: BitRate::from_bits_per_second(500_000).expect("is not 0"), data: None };

    fn of(traffic: &str, frames: u32) -> Vec<u64> {
        let frame: Frame = "123#1122334455667788".parse().unwrap();
        moments(&traffic.parse().unwrap(), frames, |_| frame, BUS, 7).unwrap()
    }

    #[test]
    fn periods_and_shares_are_exact() {
        assert_eq!(of("every 1ms", 3), [0, 1_000_000, 2_000_000]);
        let flood = of("flood", 3);
        // 108 to 135 bits of 2 us each.
        assert!((216_000..=270_000).contains(&flood[1]), "{flood:?}");
        assert_eq!(of("50 %", 3), [0, 2 * flood[1], 4 * flood[1]]);
        assert_eq!(of("12.5 %", 2)[1], 8 * flood[1]);
    }

    #[test]
    fn bursts_start_on_time() {
        let flood = of("flood", 2)[1];
        assert_eq!(of("3 every 10ms", 5), [0, flood, 2 * flood, 10_000_000, 10_000_000 + flood]);
        // A burst that takes longer than its period is a flood.
        assert_eq!(of("3 every 1us", 5), of("flood", 5));
    }

    #[test]
    fn poisson_has_its_rate_and_is_reproducible() {
        let moments = of("poisson 1000 frames/s", 20_000);
        let mean = moments[19_999] / 19_999;
        assert!((970_000..1_030_000).contains(&mean), "{mean}");
        assert_eq!(moments, of("poisson 1000 frames/s", 20_000));
        // Exponential: e^-1 of the gaps are longer than their mean.
        let longer = moments.windows(2).filter(|pair| pair[1] - pair[0] > 1_000_000).count();
        assert!((7_100..7_600).contains(&longer), "{longer}");
    }

    #[test]
    fn closed_loops_have_no_send_times() {
        let frame: Frame = "123#1122".parse().unwrap();
        for traffic in ["one at a time", "replay x.log", "throughput"] {
            assert_eq!(moments(&traffic.parse().unwrap(), 1, |_| frame, BUS, 1), None);
        }
    }

    #[test]
    fn rate_is_absolute_or_a_share_of_the_bus() {
        let frame: Frame = "123#1122334455667788".parse().unwrap();
        let flood = of("flood", 2)[1];
        let rate = |rate| frame_rate(rate, &frame, BUS).frames_per_second();
        assert_eq!(u64::from(rate(Rate::ALL)), SECOND_NS / flood);
        assert_eq!(u64::from(rate(Rate::PerMille(500))), SECOND_NS / (2 * flood));
        assert_eq!(rate(Rate::FramesPerSecond(1234)), 1234);
        let three = FrameRate::new(3).unwrap();
        assert_eq!(at_rate(three, 4), [0, 333_333_333, 666_666_666, 1_000_000_000]);
    }

    #[test]
    fn bit_rate_switch_takes_less_of_the_bus() {
        let fast = Wire { data: BitRate::from_bits_per_second(2_000_000), ..BUS };
        let frame: Frame = "123##11122334455667788".parse().unwrap();
        let of = |bus| moments(&Traffic::Flood, 2, |_| frame, bus, 1).unwrap()[1];
        assert!(of(fast) < of(BUS) * 2 / 3, "{} of {}", of(fast), of(BUS));
    }
}
