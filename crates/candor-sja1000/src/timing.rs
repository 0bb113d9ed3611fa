//! Bit timing.

/// Lengths of the parts of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitTiming {
    /// Periods of the controller's clock in a time quantum, from 1 to 64.
    prescaler: u8,
    /// Quanta from the end of the first quantum to the sample point, from 1 to 16.
    before_sample: u8,
    /// Quanta after the sample point, from 1 to 8.
    after_sample: u8,
}

impl BitTiming {
    /// The timing for a bit rate with this clock (half of the crystal). `None` if the rate is no divisor of the clock.
    ///
    /// A bit has up to 20 quanta. The sample point is at 87.5 %, or at 75 % above 800 kbit/s, as CiA recommends.
    #[must_use]
    pub fn of(bits_per_second: u32, clock_hz: u32) -> Option<Self> {
        let percent_after = if bits_per_second > 800_000 { 250 } else { 125 };
        (8..=20_u8).rev().find_map(|quanta| {
            let per_bit = bits_per_second.checked_mul(quanta.into())?;
            let prescaler = clock_hz.checked_div(per_bit).filter(|_| clock_hz.is_multiple_of(per_bit))?;
            let prescaler = u8::try_from(prescaler).ok().filter(|prescaler| (1..=64).contains(prescaler))?;
            let after_sample = u8::try_from((u32::from(quanta) * percent_after + 500) / 1000).ok()?.clamp(1, 8);
            Some(Self { prescaler, before_sample: quanta - 1 - after_sample, after_sample })
        })
    }

    /// BTR0: prescaler, and a synchronisation jump of one quantum.
    #[must_use]
    pub const fn register_0(self) -> u8 {
        self.prescaler - 1
    }

    /// BTR1: the two segments; each bit is sampled once.
    #[must_use]
    pub const fn register_1(self) -> u8 {
        (self.after_sample - 1) << 4 | (self.before_sample - 1)
    }
}
