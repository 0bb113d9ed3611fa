//! Quantities and their notation: `500kbit/s`, `83.333k`, `20us`, `1.5 s`, `200 frames/s`.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BitRate(u32);

impl BitRate {
    /// A bit rate in bit/s. `None` for 0.
    #[must_use]
    pub const fn from_bits_per_second(rate: u32) -> Option<Self> {
        if rate == 0 { None } else { Some(Self(rate)) }
    }

    /// The rate in bit/s.
    #[must_use]
    pub const fn bits_per_second(self) -> u32 {
        self.0
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            rate if rate % 1_000_000 == 0 => write!(f, "{}Mbit/s", rate / 1_000_000),
            rate if rate % 1000 == 0 => write!(f, "{}kbit/s", rate / 1000),
            rate => write!(f, "{rate}bit/s"),
        }
    }
}

/// An error in the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A rate in bytes, in the notation of `tc`: the unit as written, and the unit in bits.
    #[error("`{0}` counts bytes per second, as in tc; for bits per second write {1}")]
    BytesPerSecond(String, &'static str),
    /// The value has a fraction of the smallest unit.
    #[error("The value is not a whole number of {0}")]
    NotWhole(&'static str),
    /// The text does not start with a number.
    #[error("The number before the unit is missing")]
    NoNumber,
    /// A number without a unit.
    #[error("The number has no unit; write {0} after it")]
    NoUnit(&'static str),
    /// The value exceeds the range of the quantity.
    #[error("The value is too large")]
    TooLarge,
    /// An unknown unit as written, and the known units.
    #[error("Unknown unit `{0}`; known units are {known}", known = .1.replace(" or ", " and "))]
    UnknownUnit(String, &'static str),
    /// Another spelling of a unit as written, and the known spelling.
    #[error("Unknown unit `{0}`; did you mean {1}?")]
    OtherSpelling(String, &'static str),
    /// The value is 0, which is not allowed.
    #[error("The value must be more than zero")]
    Zero,
}

const BIT_RATE_UNITS: &str = "bit/s, kbit/s or Mbit/s";
const DURATION_UNITS: &str = "ns, us, ms, s, min or h";
const FRAME_RATE_UNITS: &str = "frames/s or %";

/// Units with other spellings, in lower case.
type Spellings = &'static [(&'static str, &'static [&'static str])];

const BIT_RATE_SPELLINGS: Spellings = &[
    ("bit/s", &["baud", "bd", "bit", "bit/s", "bits", "bits/s"]),
    ("kbit/s", &["k", "kb/s", "kbaud", "kbd", "kbit", "kbit/s", "kbits", "kbits/s"]),
    ("Mbit/s", &["m", "mb/s", "mbaud", "mbd", "mbit", "mbit/s", "mbits", "mbits/s"]),
];
const DURATION_SPELLINGS: Spellings = &[
    ("h", &["hour", "hours", "hr"]),
    ("min", &["m", "mins", "minute", "minutes"]),
    ("s", &["sec", "second", "seconds", "secs"]),
    ("ms", &["msec"]),
    ("us", &["usec"]),
    ("ns", &["nsec"]),
];
const FRAME_RATE_SPELLINGS: Spellings =
    &[("frames/s", &["/s", "1/s", "fps", "frame", "frames", "hz", "pps"]), ("%", &["percent"])];

impl FromStr for BitRate {
    type Err = QuantityError;

    /// Parses `500kbit/s`, `500kbit` or, as in `ip link`, `500k`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (number, unit) = split(text)?;
        let bits_per_second = match unit {
            "bit/s" | "bit" => number.times(1, "bit/s")?,
            "kbit/s" | "kbit" | "k" => number.times(1_000, "bit/s")?,
            "Mbit/s" | "Mbit" | "M" => number.times(1_000_000, "bit/s")?,
            "" => return Err(QuantityError::NoUnit(BIT_RATE_UNITS)),
            unit => return Err(unknown_bit_rate(unit)),
        };
        let rate = u32::try_from(bits_per_second).map_err(|_overflow| QuantityError::TooLarge)?;
        Self::from_bits_per_second(rate).ok_or(QuantityError::Zero)
    }
}

/// Parses a duration such as `500ms`, `20us`, `1.5s` or `10min`.
///
/// # Errors
/// [`QuantityError`], also for a duration of zero.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let duration = parse_duration_or_zero(text)?;
    if duration.is_zero() { Err(QuantityError::Zero) } else { Ok(duration) }
}

/// As [`parse_duration`], but accepts zero.
///
/// # Errors
/// As [`parse_duration`].
pub fn parse_duration_or_zero(text: &str) -> Result<Duration, QuantityError> {
    const NANOSECONDS: &str = "nanoseconds";
    let (number, unit) = split(text)?;
    let nanoseconds = match unit {
        "ns" => number.times(1, NANOSECONDS)?,
        "us" | "µs" | "μs" => number.times(1_000, NANOSECONDS)?,
        "ms" => number.times(1_000_000, NANOSECONDS)?,
        "s" => number.times(1_000_000_000, NANOSECONDS)?,
        "min" => number.times(60_000_000_000, NANOSECONDS)?,
        "h" => number.times(3_600_000_000_000, NANOSECONDS)?,
        "" => return Err(QuantityError::NoUnit(DURATION_UNITS)),
        unit => return Err(unknown(unit, DURATION_UNITS, DURATION_SPELLINGS)),
    };
    Ok(Duration::from_nanos(nanoseconds))
}

/// A frame rate as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFrameRate {
    /// `200 frames/s`; not 0.
    FramesPerSecond(u32),
    /// `20 %` of the bus, in thousandths; not 0.
    PerMille(u32),
}

/// Parses a frame rate such as `200 frames/s`, or a share of the bus such as `20 %`.
///
/// # Errors
/// [`QuantityError`], also for zero.
pub fn parse_frame_rate(text: &str) -> Result<WrittenFrameRate, QuantityError> {
    let (number, unit) = split(text)?;
    let bounded = |value: u64| match u32::try_from(value) {
        Ok(0) => Err(QuantityError::Zero),
        Ok(value) => Ok(value),
        Err(_) => Err(QuantityError::TooLarge),
    };
    match unit {
        "frames/s" | "frame/s" => bounded(number.times(1, "frames")?).map(WrittenFrameRate::FramesPerSecond),
        "%" => bounded(number.times(10, "tenths of a percent")?).map(WrittenFrameRate::PerMille),
        "" => Err(QuantityError::NoUnit(FRAME_RATE_UNITS)),
        unit => Err(unknown(unit, FRAME_RATE_UNITS, FRAME_RATE_SPELLINGS)),
    }
}

/// `whole + fraction / scale`, exactly as written.
struct Decimal {
    whole: u64,
    fraction: u64,
    scale: u64,
}

impl Decimal {
    /// Converts to a unit that is smaller by this factor.
    fn times(&self, factor: u64, unit: &'static str) -> Result<u64, QuantityError> {
        let fraction = self.fraction.checked_mul(factor).ok_or(QuantityError::TooLarge)?;
        if fraction % self.scale != 0 {
            return Err(QuantityError::NotWhole(unit));
        }
        let whole = self.whole.checked_mul(factor).ok_or(QuantityError::TooLarge)?;
        whole.checked_add(fraction / self.scale).ok_or(QuantityError::TooLarge)
    }
}

fn split(text: &str) -> Result<(Decimal, &str), QuantityError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let fraction_digits = u32::try_from(fraction.len()).map_err(|_overflow| QuantityError::TooLarge)?;
    let decimal = Decimal {
        whole: digits(whole)?,
        fraction: digits(fraction)?,
        scale: 10_u64.checked_pow(fraction_digits).ok_or(QuantityError::TooLarge)?,
    };
    Ok((decimal, unit.trim_start()))
}

fn digits(text: &str) -> Result<u64, QuantityError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::NoNumber);
    }
    // Digits only, so the only error is an overflow.
    text.parse().map_err(|_overflow| QuantityError::TooLarge)
}

fn unknown_bit_rate(unit: &str) -> QuantityError {
    let meant = match unit.to_ascii_lowercase().as_str() {
        "bps" | "byte/s" => "bit/s",
        "kbps" | "kbyte/s" => "kbit/s",
        "mbps" | "mbyte/s" | "gbps" => "Mbit/s",
        _ => return unknown(unit, BIT_RATE_UNITS, BIT_RATE_SPELLINGS),
    };
    QuantityError::BytesPerSecond(shown(unit), meant)
}

fn unknown(unit: &str, known: &'static str, spellings: Spellings) -> QuantityError {
    let small = unit.to_lowercase();
    let meant = spellings.iter().find(|(_, others)| others.contains(&&*small)).map(|&(meant, _)| meant);
    // Known units in upper case.
    let meant = meant.or_else(|| known.split([',', ' ']).find(|known| !known.is_empty() && *known == small));
    match meant {
        Some(meant) => QuantityError::OtherSpelling(shown(unit), meant),
        None => QuantityError::UnknownUnit(shown(unit), known),
    }
}

/// A unit for a message: shortened, with control characters escaped.
fn shown(unit: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 20;
    unit.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    #[test]
    fn bit_rates_are_parsed_and_printed() {
        cases::check(include_str!("units/bit_rates.txt"), |text| match text.parse::<BitRate>() {
            Ok(rate) => format!("{} {rate}", rate.bits_per_second()),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn durations_are_parsed() {
        cases::check(include_str!("units/durations.txt"), |text| match parse_duration(text) {
            Ok(duration) => format!("{duration:?}"),
            Err(error) => error.to_string(),
        });
    }
}
