//! Bit rates from the bit timing registers of a CAN controller.
//!
//! ```text
//!   one bit = │ sync │ prop_seg │ phase_seg1 │ phase_seg2 │   in time quanta of brp / clock each
//!             │  1   │◀──── tseg1 ──────────▶│◀── tseg2 ─▶│
//! ```

use std::ops::RangeInclusive;

use candor_core::units::BitRate;

/// Bit timing registers (`struct can_bittiming`), in time quanta except for `brp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitTiming {
    pub prop_seg: u32,
    pub phase_seg1: u32,
    pub phase_seg2: u32,
    pub sjw: u32,
    /// Bit rate prescaler: clock periods in a time quantum.
    pub brp: u32,
}

/// Limits of a controller (`struct can_bittiming_const`), and its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingLimits {
    pub clock_hz: u32,
    /// `prop_seg + phase_seg1`.
    pub tseg1: RangeInclusive<u32>,
    /// `phase_seg2`.
    pub tseg2: RangeInclusive<u32>,
    pub sjw_max: u32,
    pub brp: RangeInclusive<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{register} of {value} is out of range")]
pub struct TimingError {
    pub register: &'static str,
    pub value: u64,
}

impl TimingLimits {
    /// The bit rate of this setting, rounded to the nearest bit/s.
    ///
    /// # Errors
    /// [`TimingError`] names the first register that is out of range.
    pub fn bit_rate(&self, timing: &BitTiming) -> Result<BitRate, TimingError> {
        let tseg1 = u64::from(timing.prop_seg) + u64::from(timing.phase_seg1);
        let tseg2 = u64::from(timing.phase_seg2);
        let within = |register, value, range: &RangeInclusive<u32>| {
            let range = u64::from(*range.start())..=u64::from(*range.end());
            if range.contains(&value) { Ok(()) } else { Err(TimingError { register, value }) }
        };
        within("tseg1", tseg1, &self.tseg1)?;
        within("tseg2", tseg2, &self.tseg2)?;
        within("sjw", u64::from(timing.sjw), &(1..=self.sjw_max))?;
        within("brp", u64::from(timing.brp), &self.brp)?;
        let clocks = u64::from(timing.brp) * (1 + tseg1 + tseg2);
        let rate = (u64::from(self.clock_hz) + clocks / 2).checked_div(clocks).unwrap_or(0);
        let rate = u32::try_from(rate).ok().and_then(BitRate::from_bits_per_second);
        rate.ok_or_else(|| TimingError { register: "brp", value: timing.brp.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TimingLimits =
        TimingLimits { clock_hz: 48_000_000, tseg1: 1..=16, tseg2: 1..=8, sjw_max: 4, brp: 1..=1024 };

    #[test]
    fn bit_rate_matches_ip_link() {
        // Registers that `ip link set can0 type can bitrate N` sets for a clock of 48 MHz: tseg1, tseg2, brp.
        for (tseg1, tseg2, brp, rate) in
            [(13, 2, 24, 125_000), (13, 2, 6, 500_000), (11, 4, 3, 1_000_000), (13, 2, 300, 10_000)]
        {
            let timing =
                BitTiming { prop_seg: tseg1 / 2, phase_seg1: tseg1 - tseg1 / 2, phase_seg2: tseg2, sjw: 1, brp };
            assert_eq!(LIMITS.bit_rate(&timing).unwrap().bits_per_second(), rate);
        }
    }

    #[test]
    fn fractional_bit_rate_is_rounded() {
        let timing = BitTiming { prop_seg: 6, phase_seg1: 7, phase_seg2: 2, sjw: 1, brp: 7 };
        assert_eq!(LIMITS.bit_rate(&timing).unwrap().bits_per_second(), 428_571); // 428 571.43
    }

    #[test]
    fn register_out_of_range_is_named() {
        let good = BitTiming { prop_seg: 6, phase_seg1: 7, phase_seg2: 2, sjw: 1, brp: 6 };
        for (register, bad) in [
            ("brp", BitTiming { brp: 0, ..good }),
            ("brp", BitTiming { brp: 1025, ..good }),
            ("sjw", BitTiming { sjw: 0, ..good }),
            ("sjw", BitTiming { sjw: 5, ..good }),
            ("tseg1", BitTiming { prop_seg: 0, phase_seg1: 0, ..good }),
            ("tseg1", BitTiming { prop_seg: u32::MAX, phase_seg1: u32::MAX, ..good }),
            ("tseg2", BitTiming { phase_seg2: 0, ..good }),
            ("tseg2", BitTiming { phase_seg2: 9, ..good }),
        ] {
            assert_eq!(LIMITS.bit_rate(&bad).unwrap_err().register, register);
        }
    }
}
