//! Exact rational numbers: factors, offsets and physical values.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A rational number in lowest terms. Arithmetic is checked: a result that does not fit is `None`, never rounded.
///
/// ```
/// use candor_signals::Ratio;
///
/// let factor: Ratio = "0.1".parse().unwrap();
/// assert_eq!((factor.numerator(), factor.denominator()), (1, 10));
/// assert_eq!(factor.checked_mul(Ratio::integer(3)).unwrap().to_string(), "0.3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: i128,
    /// Positive.
    denominator: i128,
}

/// Why a text is no [`Ratio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RatioError {
    /// Not a decimal number.
    #[error("Not a decimal number")]
    NotANumber,
    /// More digits than 128 bits hold, for example `1E+308`.
    #[error("The number needs more than 128 bits")]
    TooLarge,
}

impl Ratio {
    /// 0.
    pub const ZERO: Self = Self::integer(0);
    /// 1.
    pub const ONE: Self = Self::integer(1);

    /// A whole number.
    #[must_use]
    pub const fn integer(value: i128) -> Self {
        Self { numerator: value, denominator: 1 }
    }

    /// `numerator / denominator` in lowest terms. `None` if the denominator is 0, or if a part is the smallest `i128`.
    #[must_use]
    pub fn new(numerator: i128, denominator: i128) -> Option<Self> {
        if denominator == 0 || numerator == i128::MIN || denominator == i128::MIN {
            return None;
        }
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs()).cast_signed();
        let divisor = if denominator < 0 { -divisor } else { divisor };
        Some(Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// The exact value of a floating-point number. `None` if it is not finite or does not fit.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let exponent = i32::try_from(bits >> 52 & 0x7FF).ok()?;
        let fraction = i128::from(bits & ((1 << 52) - 1));
        let (mantissa, exponent) =
            if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        let mantissa = if value.is_sign_negative() { -mantissa } else { mantissa };
        if mantissa == 0 {
            return Some(Self::ZERO);
        }
        let zeros = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa >> zeros, exponent + i32::try_from(zeros).ok()?);
        let power = 1i128.checked_shl(exponent.unsigned_abs()).filter(|power| *power > 0)?;
        if exponent < 0 { Self::new(mantissa, power) } else { Some(Self::integer(mantissa.checked_mul(power)?)) }
    }

    /// The part above the line, with the sign.
    #[must_use]
    pub const fn numerator(self) -> i128 {
        self.numerator
    }

    /// The part below the line, at least 1.
    #[must_use]
    pub const fn denominator(self) -> i128 {
        self.denominator
    }

    /// True for 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The number with the other sign. A numerator is never the smallest `i128`.
    #[must_use]
    pub const fn negative(self) -> Self {
        Self { numerator: -self.numerator, denominator: self.denominator }
    }

    /// Sum.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let common = gcd(self.denominator.unsigned_abs(), other.denominator.unsigned_abs()).cast_signed();
        let left = self.numerator.checked_mul(other.denominator / common)?;
        let right = other.numerator.checked_mul(self.denominator / common)?;
        Self::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator / common)?)
    }

    /// Difference.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(other.negative())
    }

    /// Product.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let left = gcd(self.numerator.unsigned_abs(), other.denominator.unsigned_abs()).cast_signed();
        let right = gcd(other.numerator.unsigned_abs(), self.denominator.unsigned_abs()).cast_signed();
        Some(Self {
            numerator: (self.numerator / left).checked_mul(other.numerator / right).filter(|one| *one != i128::MIN)?,
            denominator: (self.denominator / right).checked_mul(other.denominator / left)?,
        })
    }

    /// Quotient. `None` for a division by 0.
    #[must_use]
    pub fn checked_div(self, other: Self) -> Option<Self> {
        self.checked_mul(Self::new(other.denominator, other.numerator)?)
    }

    /// The numerators of two numbers over their least common denominator, and that.
    #[must_use]
    pub(crate) fn over_one_denominator(self, other: Self) -> Option<[i128; 3]> {
        let rest = Self::new(self.denominator, other.denominator)?;
        let common = other.denominator.checked_mul(rest.numerator)?;
        let numerator = |one: Self| one.numerator.checked_mul(common / one.denominator);
        Some([numerator(self)?, numerator(other)?, common])
    }

    /// The order of two numbers. Exact, whatever their size.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        // By continued fractions, which need no product.
        let (mut left, mut right) = (self, other);
        loop {
            let floors = (floor(left), floor(right));
            if floors.0 != floors.1 {
                return floors.0.cmp(&floors.1);
            }
            let rests = (left.numerator.rem_euclid(left.denominator), right.numerator.rem_euclid(right.denominator));
            match rests {
                (0, 0) => return Ordering::Equal,
                (0, _) => return Ordering::Less,
                (_, 0) => return Ordering::Greater,
                (of_left, of_right) => {
                    // The order of fractions is opposite to that of their reciprocals.
                    let (swapped_left, swapped_right) = (right.denominator, left.denominator);
                    left = Self { numerator: swapped_left, denominator: of_right };
                    right = Self { numerator: swapped_right, denominator: of_left };
                }
            }
        }
    }

    /// The nearest whole number; halves go to the even one.
    #[must_use]
    pub fn round(self) -> i128 {
        divide_rounded(self.numerator, self.denominator)
    }

    /// The nearest `f64`; halves go to the even one. The only rounding.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        quotient_to_f64(self.numerator, self.denominator)
    }
}

pub(crate) fn floor(ratio: Ratio) -> i128 {
    ratio.numerator.div_euclid(ratio.denominator)
}

/// `numerator / denominator` (positive), rounded to the nearest whole number, halves to the even one.
#[must_use]
#[inline]
pub(crate) fn divide_rounded(numerator: i128, denominator: i128) -> i128 {
    // Division of 64 bits is much faster.
    if let (Ok(numerator), Ok(denominator)) = (i64::try_from(numerator), i64::try_from(denominator)) {
        let (floor, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
        let is_above = match rest.cmp(&(denominator - rest)) {
            Ordering::Less => 0,
            Ordering::Greater => 1,
            Ordering::Equal => i128::from(floor & 1),
        };
        return i128::from(floor) + is_above;
    }
    let (floor, rest) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    match rest.cmp(&(denominator - rest)) {
        Ordering::Less => floor,
        Ordering::Greater => floor + 1,
        Ordering::Equal => floor + (floor & 1),
    }
}

/// The `f64` nearest to `numerator / denominator` (positive).
#[must_use]
pub(crate) fn quotient_to_f64(numerator: i128, denominator: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (whole, parts) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    let magnitude = if whole <= EXACT && parts <= EXACT {
        // Both are exact, and a division rounds once.
        to_f64(whole) / to_f64(parts)
    } else {
        long_division(whole, parts)
    };
    if numerator < 0 { -magnitude } else { magnitude }
}

/// Divides until the quotient has more bits than an `f64`; the last bit says that there is more.
fn long_division(whole: u128, parts: u128) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    let (mut quotient, mut rest, mut doublings) = (whole / parts, whole % parts, 0);
    while quotient < 1 << 56 {
        // A denominator is an i128, so twice the rest fits.
        rest *= 2;
        quotient = quotient * 2 + u128::from(rest >= parts);
        if rest >= parts {
            rest -= parts;
        }
        doublings += 1;
    }
    to_f64(quotient | u128::from(rest != 0)) / 2f64.powi(doublings)
}

#[expect(clippy::cast_precision_loss, reason = "rounds to the nearest, ties to even: what the callers need")]
fn to_f64(value: u128) -> f64 {
    value as f64
}

fn gcd(mut left: u128, mut right: u128) -> u128 {
    while right != 0 {
        // Division of 64 bits is much faster.
        if let (Ok(small_left), Ok(small_right)) = (u64::try_from(left), u64::try_from(right)) {
            return u128::from(gcd_u64(small_left, small_right));
        }
        (left, right) = (right, left % right);
    }
    left
}

fn gcd_u64(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// Reads `-1`, `0.5`, `.5`, `5.` and `1.5E-3`.
impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|one| one.is_ascii_digit()) {
            return Err(RatioError::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        let mut value = 0i128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let digit = i128::from(digit - b'0');
            value = value.checked_mul(10).and_then(|value| value.checked_add(digit)).ok_or(RatioError::TooLarge)?;
        }
        let value = if negative { -value } else { value };
        if value == 0 {
            return Ok(Self::ZERO);
        }
        let exponent = i64::from(exponent) - i64::try_from(fraction.len()).map_err(|_long| RatioError::TooLarge)?;
        let power = u32::try_from(exponent.unsigned_abs()).ok().and_then(|power| 10i128.checked_pow(power));
        let power = power.ok_or(RatioError::TooLarge)?;
        let ratio = if exponent < 0 { Self::new(value, power) } else { value.checked_mul(power).map(Self::integer) };
        ratio.ok_or(RatioError::TooLarge)
    }
}

fn exponent(text: &str) -> Result<i32, RatioError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|one| one.is_ascii_digit()) {
        return Err(RatioError::NotANumber);
    }
    text.parse().map_err(|_long| RatioError::TooLarge)
}

/// Writes a decimal number if there is a finite one of at most 30 digits after the point, otherwise a fraction such as `1/3`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut rest, mut places) = (self.denominator, 0);
        let mut scaled = Some(self.numerator);
        while rest != 1 && places < 30 {
            let common = gcd(rest.unsigned_abs(), 10).cast_signed();
            if common == 1 {
                break;
            }
            rest /= common;
            scaled = scaled.and_then(|scaled| scaled.checked_mul(10 / common));
            places += 1;
        }
        let Some(scaled) = scaled.filter(|_scaled| rest == 1) else {
            return write!(f, "{}/{}", self.numerator, self.denominator);
        };
        if places == 0 {
            return write!(f, "{scaled}");
        }
        let digits = format!("{:0>width$}", scaled.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(f, "{}{whole}.{fraction}", if scaled < 0 { "-" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    #[test]
    fn reads_decimal_numbers_exactly() {
        for (text, numerator, denominator) in [
            ("0", 0, 1),
            ("-0.0", 0, 1),
            (".25", 1, 4),
            ("5.", 5, 1),
            ("+1.50", 3, 2),
            ("1E-2", 1, 100),
            ("-2.5e+3", -2500, 1),
            ("0.000030517578125", 1, 32768),
            ("18446744073709551615", 18_446_744_073_709_551_615, 1),
        ] {
            assert_eq!((ratio(text).numerator(), ratio(text).denominator()), (numerator, denominator), "{text}");
        }
        for text in ["", ".", "-", "1e", "1e+", "0x1", "1,5", "nan", "1e1.5", "--1"] {
            assert_eq!(text.parse::<Ratio>(), Err(RatioError::NotANumber), "{text}");
        }
        for text in ["1.7976931348623157E+308", "1e-99", "1e99999999999", "1e40"] {
            assert_eq!(text.parse::<Ratio>(), Err(RatioError::TooLarge), "{text}");
        }
    }

    #[test]
    fn writes_the_shortest_decimal_or_a_fraction() {
        for text in ["0.1", "-0.5", "-12.034", "7", "0.000030517578125", "1/3", "-22/7"] {
            let value = text.split_once('/').map_or_else(
                || ratio(text),
                |(numerator, denominator)| {
                    Ratio::new(numerator.parse().unwrap(), denominator.parse().unwrap()).unwrap()
                },
            );
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn halves_go_to_the_even_number() {
        let rounded = ["0.5", "1.5", "2.5", "-0.5", "-1.5", "-2.5", "0.51", "-0.51"].map(|text| ratio(text).round());
        assert_eq!(rounded, [0, 2, 2, 0, -2, -2, 1, -1]);
    }

    proptest! {
        #[test]
        fn floating_point_numbers_are_exact(value in -1e15..1e15f64) {
            if let Some(exact) = Ratio::from_f64(value) {
                prop_assert_eq!(exact.to_f64(), value);
            }
        }

        #[test]
        fn a_decimal_is_the_nearest_floating_point_number(mantissa: i64, places in 0u32..19) {
            let text = format!("{mantissa}e-{places}");
            prop_assert_eq!(ratio(&text).to_f64(), text.parse::<f64>().unwrap());
            prop_assert_eq!(ratio(&ratio(&text).to_string()), ratio(&text));
        }

        #[test]
        fn sums_and_products_are_those_of_fractions(a: i32, b in 1i32.., c: i32, d in 1i32..) {
            let [a, b, c, d] = [a, b, c, d].map(i128::from);
            let (left, right) = (Ratio::new(a, b).unwrap(), Ratio::new(c, d).unwrap());
            prop_assert_eq!(left.checked_add(right), Ratio::new(a * d + c * b, b * d));
            prop_assert_eq!(left.checked_sub(right), Ratio::new(a * d - c * b, b * d));
            prop_assert_eq!(left.checked_mul(right), Ratio::new(a * c, b * d));
            prop_assert_eq!(left.checked_div(right), Ratio::new(a * d, b * c));
            prop_assert_eq!(left.compare(right), (a * d).cmp(&(c * b)));
        }
    }
}
