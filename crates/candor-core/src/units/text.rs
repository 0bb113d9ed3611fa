//! A number and its unit: `500kbit/s`, `83.333k`, `20us`, `1.5 s`.

use std::str::FromStr;
use std::time::Duration;

use crate::units::BitRate;

/// Text that is no quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A rate in bytes, as `tc` writes it.
    #[error("`{unit}` counts bytes per second, as in tc; for bits per second write {meant}")]
    BytesPerSecond {
        /// Unit as written.
        unit: String,
        /// The same with bits.
        meant: &'static str,
    },
    /// The value has a fraction of the smallest unit.
    #[error("The value is not a whole number of {0}")]
    NotWhole(&'static str),
    /// No digits at the start.
    #[error("The number before the unit is missing")]
    NoNumber,
    /// Only a number.
    #[error("The number has no unit; write {0} after it")]
    NoUnit(&'static str),
    /// More than the type can hold.
    #[error("The value is too large")]
    TooLarge,
    /// A unit nobody knows.
    #[error("Unknown unit `{unit}`; known units are {}", .known.replace(" or ", " and "))]
    UnknownUnit {
        /// Unit as written.
        unit: String,
        /// Known units.
        known: &'static str,
    },
    /// A unit in other letters than candor has for it.
    #[error("Unknown unit `{unit}`; did you mean {meant}?")]
    OtherSpelling {
        /// Unit as written.
        unit: String,
        /// Unit probably intended.
        meant: &'static str,
    },
    /// Nothing happens at 0 bit/s, and in no time at all.
    #[error("The value must be more than zero")]
    Zero,
}

const BIT_RATE_UNITS: &str = "bit/s, kbit/s or Mbit/s";
const DURATION_UNITS: &str = "ns, us, ms, s, min or h";

const FRAME_RATE_UNITS: &str = "frames/s or %";
const FRAME_RATE_SPELLINGS: &[(&str, &str)] =
    &[("fps", "frames/s"), ("frames", "frames/s"), ("hz", "frames/s"), ("percent", "%"), ("pps", "frames/s")];

/// Other spellings, in small letters.
const BIT_RATE_SPELLINGS: &[(&str, &str)] = &[
    ("baud", "bit/s"),
    ("bd", "bit/s"),
    ("bit", "bit/s"),
    ("bit/s", "bit/s"),
    ("bits", "bit/s"),
    ("bits/s", "bit/s"),
    ("k", "kbit/s"),
    ("kb/s", "kbit/s"),
    ("kbaud", "kbit/s"),
    ("kbd", "kbit/s"),
    ("kbit", "kbit/s"),
    ("kbit/s", "kbit/s"),
    ("kbits", "kbit/s"),
    ("kbits/s", "kbit/s"),
    ("m", "Mbit/s"),
    ("mb/s", "Mbit/s"),
    ("mbaud", "Mbit/s"),
    ("mbd", "Mbit/s"),
    ("mbit", "Mbit/s"),
    ("mbit/s", "Mbit/s"),
    ("mbits", "Mbit/s"),
    ("mbits/s", "Mbit/s"),
];
const DURATION_SPELLINGS: &[(&str, &str)] = &[
    ("hour", "h"),
    ("hours", "h"),
    ("hr", "h"),
    ("m", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("msec", "ms"),
    ("nsec", "ns"),
    ("sec", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("secs", "s"),
    ("usec", "us"),
];

impl FromStr for BitRate {
    type Err = QuantityError;

    /// Reads `500kbit/s`, `500kbit` or, as `ip link` has it, `500k`.
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

/// Reads a time span such as `500ms`, `20us`, `1.5s` or `10min`.
///
/// # Errors
/// [`QuantityError`] says what is wrong with the text; also for a span of zero, which no interval or bound may have.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let duration = parse_duration_or_zero(text)?;
    if duration.is_zero() { Err(QuantityError::Zero) } else { Ok(duration) }
}

/// As [`parse_duration`], and `0us` is one, too.
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

/// A rate of frames as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFrameRate {
    /// `200 frames/s`; not 0.
    FramesPerSecond(u32),
    /// `20 %`, in thousandths of a bus; not 0.
    PerMille(u32),
}

/// Reads a rate such as `200 frames/s`, or a share of a bus such as `20 %`.
///
/// # Errors
/// [`QuantityError`] says what is wrong with the text; also for no frame at all.
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

/// `whole` + `fraction` / `scale`, exactly as written.
struct Decimal {
    whole: u64,
    fraction: u64,
    scale: u64,
}

impl Decimal {
    /// The number in a unit `factor` times as fine.
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
    // Only digits are left, so this fails for one reason.
    text.parse().map_err(|_overflow| QuantityError::TooLarge)
}

fn unknown_bit_rate(unit: &str) -> QuantityError {
    let meant = match unit.to_ascii_lowercase().as_str() {
        "bps" | "byte/s" => "bit/s",
        "kbps" | "kbyte/s" => "kbit/s",
        "mbps" | "mbyte/s" | "gbps" => "Mbit/s",
        _ => return unknown(unit, BIT_RATE_UNITS, BIT_RATE_SPELLINGS),
    };
    QuantityError::BytesPerSecond { unit: shown(unit), meant }
}

fn unknown(unit: &str, known: &'static str, spellings: &[(&str, &'static str)]) -> QuantityError {
    let small = unit.to_lowercase();
    let meant = spellings.iter().find(|(spelling, _)| *spelling == small).map(|&(_, meant)| meant);
    // Units of one spelling differ from it only in their capitals.
    let meant = meant.or_else(|| known.split([',', ' ']).find(|known| !known.is_empty() && *known == small));
    match meant {
        Some(meant) => QuantityError::OtherSpelling { unit: shown(unit), meant },
        None => QuantityError::UnknownUnit { unit: shown(unit), known },
    }
}

/// A unit as it can stand in a message: not long, and harmless to a terminal.
fn shown(unit: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 20;
    unit.chars().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rates_are_read_with_their_unit() {
        let cases = [
            ("500kbit/s", 500_000),
            ("1Mbit/s", 1_000_000),
            ("125000bit/s", 125_000),
            ("500kbit", 500_000),
            ("500k", 500_000),
            ("2M", 2_000_000),
            ("83.333 kbit/s", 83_333),
            ("2.5Mbit/s", 2_500_000),
        ];
        for (text, bits_per_second) in cases {
            assert_eq!(text.parse::<BitRate>().map(BitRate::bits_per_second), Ok(bits_per_second), "{text}");
        }
    }

    #[test]
    fn wrong_bit_rates_say_why() {
        let unknown = |unit: &str| QuantityError::UnknownUnit { unit: unit.into(), known: BIT_RATE_UNITS };
        let other = |unit: &str, meant| QuantityError::OtherSpelling { unit: unit.into(), meant };
        let cases = [
            ("500kbps", QuantityError::BytesPerSecond { unit: "kbps".into(), meant: "kbit/s" }),
            ("1Mbps", QuantityError::BytesPerSecond { unit: "Mbps".into(), meant: "Mbit/s" }),
            ("500 kBit/s", other("kBit/s", "kbit/s")),
            ("500Kbit", other("Kbit", "kbit/s")),
            ("500K", other("K", "kbit/s")),
            ("1m", other("m", "Mbit/s")),
            ("1MBaud", other("MBaud", "Mbit/s")),
            ("500", QuantityError::NoUnit(BIT_RATE_UNITS)),
            ("kbit/s", QuantityError::NoNumber),
            ("", QuantityError::NoNumber),
            ("1.2.3k", QuantityError::NoNumber),
            ("-5k", QuantityError::NoNumber),
            ("5 mbit/s", other("mbit/s", "Mbit/s")),
            ("5 parsec", unknown("parsec")),
            ("0.5bit/s", QuantityError::NotWhole("bit/s")),
            ("0k", QuantityError::Zero),
            ("5000Mbit/s", QuantityError::TooLarge),
            ("99999999999999999999k", QuantityError::TooLarge),
            ("1.00000000000000000000001k", QuantityError::TooLarge),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<BitRate>(), Err(error), "{text}");
        }
    }

    #[test]
    fn bit_rates_print_as_they_are_read() {
        for text in ["500kbit/s", "1Mbit/s", "83333bit/s"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        assert_eq!(parse_duration("1s"), Ok(Duration::from_secs(1)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("20us"), Ok(Duration::from_micros(20)));
        assert_eq!(parse_duration("20µs"), Ok(Duration::from_micros(20)));
        assert_eq!(parse_duration("10min"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_duration("0s"), Err(QuantityError::Zero));
        assert_eq!(parse_duration("5"), Err(QuantityError::NoUnit(DURATION_UNITS)));
        let other = |unit: &str, meant| Err(QuantityError::OtherSpelling { unit: unit.into(), meant });
        assert_eq!(parse_duration("5 S"), other("S", "s"));
        assert_eq!(parse_duration("5m"), other("m", "min"));
        let error = parse_duration("5 parsec").unwrap_err().to_string();
        assert_eq!(error, "Unknown unit `parsec`; known units are ns, us, ms, s, min and h");
        assert_eq!(parse_duration("0.5ns"), Err(QuantityError::NotWhole("nanoseconds")));
    }
}
