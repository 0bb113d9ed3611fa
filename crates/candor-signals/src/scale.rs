//! From raw to physical values and back, exactly.

use crate::database::{Kind, Signal};
use crate::ratio::{Ratio, divide_rounded, quotient_to_f64};

/// The physical value of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Physical {
    /// Of a whole raw number: exact.
    Exact(Ratio),
    /// Of a floating-point number: computed with 64 bits.
    Float(f64),
}

impl Physical {
    /// The nearest `f64`.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(ratio) => ratio.to_f64(),
            Self::Float(value) => value,
        }
    }
}

/// Writes an exact number, or the shortest text of a floating-point number.
impl std::fmt::Display for Physical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(ratio) => ratio.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// The raw bits of a physical value, and what they lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The bits, the least significant one last.
    pub bits: u64,
    /// How close they are.
    pub fit: Fit,
}

/// How close a raw value is to the physical value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Equal.
    Exact,
    /// The nearest one; halves go to the even one.
    Rounded,
    /// The smallest or largest one: the physical value is beyond what the bits hold.
    Saturated,
}

/// Why a physical value has no raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The factor is 0.
    #[error("The factor of the signal is 0")]
    FactorZero,
    /// Not a number.
    #[error("NaN has no value in a signal of whole numbers")]
    NotANumber,
    /// The exact quotient needs more than 128 bits.
    #[error("The value has too many digits")]
    TooPrecise,
}

/// physical = raw × factor + offset, for one signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    bits: u8,
    /// physical = (raw × multiplier + addend) ÷ divisor.
    multiplier: i128,
    addend: i128,
    divisor: i128,
    /// The same as `f64`, if every numerator and the divisor are exact as `f64`.
    small: Option<Small>,
    factor: f64,
    offset: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Small {
    multiplier: i64,
    addend: i64,
    divisor: f64,
}

/// Up to here, whole numbers are exact as `f64`.
const EXACT: i128 = 1 << f64::MANTISSA_DIGITS;

impl Scale {
    /// `None` if the width is not valid, or if exact values do not fit into 128 bits.
    #[must_use]
    pub fn new(signal: &Signal) -> Option<Self> {
        let (factor, offset) = (signal.factor, signal.offset);
        let [multiplier, addend, divisor] = factor.over_one_denominator(offset)?;
        let mut small = None;
        if let Some((smallest, largest)) = signal.raw_range() {
            let mut most = divisor;
            for raw in [smallest, largest] {
                most = most.max(raw.checked_mul(multiplier)?.checked_add(addend)?.checked_abs()?);
                most = most.max(raw.checked_mul(multiplier)?.checked_abs()?);
            }
            if most <= EXACT
                && let (Ok(multiplier), Ok(addend)) = (i64::try_from(multiplier), i64::try_from(addend))
            {
                small = Some(Small { multiplier, addend, divisor: quotient_to_f64(divisor, 1) });
            }
        }
        let bits = u8::try_from(signal.bits).ok().filter(|bits| (1..=64).contains(bits))?;
        let (factor, offset) = (factor.to_f64(), offset.to_f64());
        Some(Self { kind: signal.kind, bits, multiplier, addend, divisor, small, factor, offset })
    }

    /// The type of raw values.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The whole number that the bits are. The bits themselves for a floating-point number.
    #[inline]
    #[must_use]
    pub fn raw(&self, bits: u64) -> i128 {
        if self.kind == Kind::Signed { self.signed(bits).into() } else { bits.into() }
    }

    /// Multiplier, addend and divisor (positive) of physical = (raw × multiplier + addend) ÷ divisor.
    pub(crate) const fn parts(&self) -> (i128, i128, i128) {
        (self.multiplier, self.addend, self.divisor)
    }

    #[inline]
    fn signed(&self, bits: u64) -> i64 {
        let unused = u64::BITS - u32::from(self.bits);
        (bits << unused).cast_signed() >> unused
    }

    /// The floating-point number that the bits are, if they are one.
    #[inline]
    #[must_use]
    pub fn float(&self, bits: u64) -> Option<f64> {
        match self.kind {
            Kind::Float32 => Some(f32::from_bits(low_half(bits)).into()),
            Kind::Float64 => Some(f64::from_bits(bits)),
            Kind::Signed | Kind::Unsigned => None,
        }
    }

    /// The physical value.
    #[must_use]
    pub fn physical(&self, bits: u64) -> Physical {
        if let Some(value) = self.float(bits) {
            return Physical::Float(value * self.factor + self.offset);
        }
        // `new` has proved that this fits.
        let numerator = self.raw(bits) * self.multiplier + self.addend;
        Ratio::new(numerator, self.divisor)
            .map_or_else(|| Physical::Float(quotient_to_f64(numerator, self.divisor)), Physical::Exact)
    }

    /// The `f64` nearest to the physical value; halves go to the even one. Faster than [`physical`](Self::physical).
    #[inline]
    #[must_use]
    pub fn physical_f64(&self, bits: u64) -> f64 {
        match (self.kind, self.small) {
            (Kind::Unsigned, Some(small)) => small.physical(bits.cast_signed()),
            (Kind::Signed, Some(small)) => small.physical(self.signed(bits)),
            (Kind::Unsigned | Kind::Signed, None) => {
                quotient_to_f64(self.raw(bits) * self.multiplier + self.addend, self.divisor)
            }
            (Kind::Float32 | Kind::Float64, _) => self.float(bits).unwrap_or_default() * self.factor + self.offset,
        }
    }

    /// The bits of a whole raw value; one that does not fit is saturated.
    #[inline]
    #[must_use]
    pub fn saturate(&self, raw: i128) -> Encoded {
        let (smallest, largest) = match self.kind {
            Kind::Signed => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            _ => (0, i128::from(u64::MAX >> (u64::BITS - u32::from(self.bits)))),
        };
        let inside = raw.clamp(smallest, largest);
        let [low, _] = halves(inside);
        let bits = low & (u64::MAX >> (u64::BITS - u32::from(self.bits)));
        Encoded { bits, fit: if inside == raw { Fit::Exact } else { Fit::Saturated } }
    }

    /// The raw bits of a physical value: (physical − offset) ÷ factor, rounded once to the nearest whole number, halves to
    /// the even one, then saturated.
    ///
    /// For floating-point signals both steps are computed with 64 bits; the result is rounded to 32 bits if the signal has
    /// those, and a finite one is not made infinite.
    ///
    /// # Errors
    /// If the factor is 0, if the value is not a number, or if the exact quotient needs more than 128 bits.
    #[inline]
    pub fn encode(&self, physical: Physical) -> Result<Encoded, EncodeError> {
        if self.multiplier == 0 {
            return Err(EncodeError::FactorZero);
        }
        if self.kind.is_float() {
            return Ok(self.encode_float(physical.to_f64()));
        }
        let exact = match physical {
            Physical::Exact(ratio) => ratio,
            Physical::Float(value) if value.is_nan() => return Err(EncodeError::NotANumber),
            Physical::Float(value) => match exact(value) {
                Some(ratio) => ratio,
                None => return Ok(self.end((value > 0.0) == (self.multiplier > 0))),
            },
        };
        let Some((numerator, denominator)) = self.quotient(exact).or_else(|| self.reduced_quotient(exact)) else {
            return self.beyond(exact).ok_or(EncodeError::TooPrecise);
        };
        let raw = divide_rounded(numerator, denominator);
        let mut encoded = self.saturate(raw);
        if encoded.fit == Fit::Exact && raw.wrapping_mul(denominator) != numerator {
            encoded.fit = Fit::Rounded;
        }
        Ok(encoded)
    }

    /// (physical − offset) ÷ factor with a positive denominator.
    #[inline]
    fn quotient(&self, physical: Ratio) -> Option<(i128, i128)> {
        let scaled = physical.numerator().checked_mul(self.divisor)?;
        let numerator = scaled.checked_sub(self.addend.checked_mul(physical.denominator())?)?;
        let denominator = physical.denominator().checked_mul(self.multiplier)?;
        if denominator < 0 {
            numerator.checked_neg().zip(denominator.checked_neg())
        } else {
            Some((numerator, denominator))
        }
    }

    /// The same in lowest terms at every step: slower, but larger numbers fit.
    fn reduced_quotient(&self, physical: Ratio) -> Option<(i128, i128)> {
        let (factor, offset) = (Ratio::new(self.multiplier, self.divisor)?, Ratio::new(self.addend, self.divisor)?);
        let quotient = physical.checked_sub(offset)?.checked_div(factor)?;
        Some((quotient.numerator(), quotient.denominator()))
    }

    /// The end of the range if the value is beyond it.
    fn beyond(&self, physical: Ratio) -> Option<Encoded> {
        let of = |is_largest| match self.physical(self.end(is_largest).bits) {
            Physical::Exact(ratio) => Some(ratio),
            Physical::Float(_) => None,
        };
        let (first, last) = (of(false)?, of(true)?);
        let is_falling = self.multiplier < 0;
        let (low, high) = if is_falling { (last, first) } else { (first, last) };
        if physical.compare(low).is_lt() {
            Some(self.end(is_falling))
        } else if physical.compare(high).is_gt() {
            Some(self.end(!is_falling))
        } else {
            None
        }
    }

    /// The largest or smallest raw value.
    fn end(&self, is_largest: bool) -> Encoded {
        let encoded = self.saturate(if is_largest { i128::MAX } else { i128::MIN });
        Encoded { fit: Fit::Saturated, ..encoded }
    }

    fn encode_float(&self, physical: f64) -> Encoded {
        let raw = (physical - self.offset) / self.factor;
        if self.kind == Kind::Float64 {
            let limited = if physical.is_finite() && raw.is_infinite() { f64::MAX.copysign(raw) } else { raw };
            let fit = if limited.to_bits() == raw.to_bits() { Fit::Exact } else { Fit::Saturated };
            return Encoded { bits: limited.to_bits(), fit };
        }
        let narrow = narrowed(raw);
        if physical.is_finite() && narrow.is_infinite() {
            return Encoded { bits: f32::MAX.copysign(narrow).to_bits().into(), fit: Fit::Saturated };
        }
        let is_exact = f64::from(narrow) == raw || raw.is_nan();
        Encoded { bits: narrow.to_bits().into(), fit: if is_exact { Fit::Exact } else { Fit::Rounded } }
    }
}

impl Small {
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53, so exact")]
    fn physical(self, raw: i64) -> f64 {
        let numerator = (raw * self.multiplier + self.addend) as f64;
        // Both are exact, so this rounds once. Most divisors are 1.
        numerator / self.divisor
    }
}

/// The exact value. `None` beyond every signal.
fn exact(value: f64) -> Option<Ratio> {
    /// Nearer to 0 than any step that fits into 128 bits with its raw values.
    const TINY: i128 = 1 << 60;
    if value.abs() < 1e-18 && value != 0.0 {
        return Ratio::new(if value > 0.0 { 1 } else { -1 }, TINY);
    }
    Ratio::from_f64(value)
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest, ties to even")]
const fn narrowed(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
const fn low_half(bits: u64) -> u32 {
    bits as u32
}

fn halves(value: i128) -> [u64; 2] {
    let bytes = value.to_le_bytes();
    let half = |at: usize| bytes[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    [half(0), half(8)]
}
