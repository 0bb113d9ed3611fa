//! From raw bits of a source signal to those of a target signal.

use crate::ratio::{Ratio, divide_rounded};
use crate::scale::Scale;

/// From raw bits of the source signal to those of the target signal.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// The same physical value.
    Rescale(Box<Rescale>),
    /// By a table.
    Table {
        /// Source bits and target bits, sorted by source bits.
        rows: Box<[(u64, u64)]>,
        /// What happens with bits that no row has.
        other: Other,
    },
}

/// What happens with bits that a table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// The target has these bits.
    Bits(u64),
    /// The value is ignored.
    Keep,
}

impl Conversion {
    /// The bits of the target signal. `None` if there are none for this value: it is ignored.
    #[inline]
    #[must_use]
    pub fn bits(&self, bits: u64) -> Option<u64> {
        match self {
            Self::Rescale(rescale) => rescale.bits(bits),
            Self::Table { rows, other } => match rows.binary_search_by_key(&bits, |(from, _)| *from) {
                Ok(at) => Some(rows[at].1),
                Err(_) => match other {
                    Other::Bits(bits) => Some(*bits),
                    Other::Keep => None,
                },
            },
        }
    }
}

/// Keeps the physical value: rounded once to the nearest raw value of the target, halves to the even one, and saturated.
#[derive(Clone, Debug, PartialEq)]
pub struct Rescale {
    from: Scale,
    to: Scale,
    /// Target raw = (source raw × multiplier + addend) ÷ divisor, if both are whole numbers.
    whole: Option<Whole>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Whole {
    multiplier: i128,
    addend: i128,
    /// Positive.
    divisor: i128,
}

impl Rescale {
    /// From one scale to another. `None` if the factor of the target is 0.
    #[must_use]
    pub fn new(from: &Scale, to: &Scale) -> Option<Self> {
        if to.parts().0 == 0 {
            return None;
        }
        let is_whole = !from.kind().is_float() && !to.kind().is_float();
        Some(Self { from: *from, to: *to, whole: if is_whole { Whole::new(from, to) } else { None } })
    }

    /// The bits of the target signal. `None` if the value has none: NaN for a signal of whole numbers, or an exact quotient
    /// of more than 128 bits.
    #[inline]
    #[must_use]
    pub fn bits(&self, bits: u64) -> Option<u64> {
        match &self.whole {
            Some(whole) => {
                let raw = self.from.raw(bits);
                // `Whole::new` has proved that this fits.
                let raw = divide_rounded(raw * whole.multiplier + whole.addend, whole.divisor);
                Some(self.to.saturate(raw).bits)
            }
            None => self.to.encode(self.from.physical(bits)).ok().map(|encoded| encoded.bits),
        }
    }
}

impl Whole {
    /// `None` if it does not fit into 128 bits.
    fn new(from: &Scale, to: &Scale) -> Option<Self> {
        let (factor, offset, parts) = from.parts();
        let (target_factor, target_offset, target_parts) = to.parts();
        let slope = Ratio::new(factor, parts)?.checked_div(Ratio::new(target_factor, target_parts)?)?;
        let distance = Ratio::new(offset, parts)?.checked_sub(Ratio::new(target_offset, target_parts)?)?;
        let start = distance.checked_div(Ratio::new(target_factor, target_parts)?)?;
        let [multiplier, addend, divisor] = slope.over_one_denominator(start)?;
        // Raw values have at most 64 bits.
        multiplier.checked_abs()?.checked_mul(1 << 64)?.checked_add(addend.checked_abs()?)?;
        Some(Self { multiplier, addend, divisor })
    }
}
