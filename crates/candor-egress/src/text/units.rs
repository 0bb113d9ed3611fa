//! Names and quantities as `tc` reads them, and frames per second.
//!
//! # Source
//! [`tc(8)`](https://man7.org/linux/man-pages/man8/tc.8.html), section PARAMETERS; what [`tc`](https://github.com/iproute2/iproute2/tree/v6.1.0/tc)
//! of iproute2 6.1 sends for each.

use std::time::Duration;

use crate::discipline::ByteRate;
use crate::filter::{ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD};
use crate::handle::{Handle, HandleError};
use crate::kinds::{Opt, Unit};
use candor_core::document::quote;
use candor_core::frame::CAN_MTU;
use candor_core::interface_name::{self, InterfaceNameError};

use super::args::Wrong;

/// The name of an interface, or a variable.
pub(super) fn interface(text: &str) -> Result<String, Wrong> {
    if !text.starts_with('$') {
        let wrong = |error: InterfaceNameError| Wrong::new(error.to_string(), "write the name that `ip link` prints");
        interface_name::check(text).map_err(wrong)?;
    }
    Ok(text.to_owned())
}

/// `1:`, `1:2`, or a word such as `root`.
pub(super) fn handle(text: &str) -> Result<Handle, Wrong> {
    text.parse().map_err(|_no_handle: HandleError| {
        Wrong::new(format!("{} is not a handle", quote(text)), "write it as in 1: or 1:2, in hexadecimal")
    })
}

/// A discipline's handle, with or without its colon.
pub(super) fn qdisc_handle(text: &str) -> Result<Handle, Wrong> {
    let with_colon = if text.contains(':') { text.to_owned() } else { format!("{text}:") };
    match handle(&with_colon) {
        Ok(handle) if handle.minor() == 0 && handle.major() != 0 => Ok(handle),
        _ => Err(Wrong::new(format!("{} is not a qdisc handle", quote(text)), "write it as in 1: (hexadecimal)")),
    }
}

pub(super) fn class_handle(text: &str) -> Result<Handle, Wrong> {
    match handle(text) {
        Ok(handle) if handle.minor() != 0 && text.contains(':') => Ok(handle),
        _ => Err(Wrong::new(format!("{} is not a classid", quote(text)), "write it as in 1:2 (hexadecimal)")),
    }
}

/// `all`, `can`, or a number, and `canfd`, which `tc` does not have.
pub(super) fn protocol(text: &str) -> Result<u16, Wrong> {
    let help = "write all, can (classic frames only), canfd (0x000d) or a number";
    match text {
        "all" => Ok(ETH_P_ALL),
        "can" => Ok(ETH_P_CAN),
        "canfd" => Ok(ETH_P_CANFD),
        _ => number(text)
            .ok()
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| Wrong::new(format!("{} is not a CAN protocol", quote(text)), help)),
    }
}

pub(super) fn preference(text: &str) -> Result<u16, Wrong> {
    let number = number(text)?;
    u16::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| Wrong::new("prio must be 1 to 65535", "write a smaller number; lower ones are tried first"))
}

/// A handle of `u32`: table, slot and node, in hexadecimal, such as `1:`, `1:a:` and `800::801`; or all in one with 0x.
pub(super) fn node(text: &str) -> Result<u32, Wrong> {
    let wrong =
        || Wrong::new(format!("{} is not a u32 handle", quote(text)), "write TABLE:SLOT:NODE, such as 1: or 1:a:");
    if !text.contains(':') {
        return if text.starts_with("0x") { hex(text) } else { Err(wrong()) };
    }
    let mut fields = text.split(':');
    let mut field = |bits: u32| match fields.next() {
        None | Some("") => Ok(0),
        Some(digits) => hex(digits).ok().filter(|number| number >> bits == 0).ok_or_else(wrong),
    };
    let (table, slot, node) = (field(12)?, field(8)?, field(12)?);
    if fields.next().is_some() { Err(wrong()) } else { Ok(table << 20 | slot << 12 | node) }
}

/// Units of rates, in bits per second.
const RATES: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("kibit", 1 << 10),
    ("mibit", 1 << 20),
    ("gibit", 1 << 30),
    ("bps", 8),
    ("kbps", 8_000),
    ("mbps", 8_000_000),
    ("gbps", 8_000_000_000),
    ("kibps", 8 << 10),
    ("mibps", 8 << 20),
    ("gibps", 8 << 30),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("frames/s", CAN_MTU as u64 * 8),
    ("frame/s", CAN_MTU as u64 * 8),
];

const RATE_HELP: &str = "write a number with frames/s, bit, kbit, mbit, bps, kbps or mbps (bytes per second), such as 100frames/s or 12800bit";

/// `10kbit`, `100frames/s`; a number alone is bits per second.
pub(super) fn rate(text: &str) -> Result<ByteRate, Wrong> {
    let (number, unit) = split(text, RATE_HELP)?;
    if unit == "%" {
        let message = "A percentage of the interface speed is not supported";
        return Err(Wrong::new(message, RATE_HELP));
    }
    let small = unit.to_lowercase();
    let bits = RATES.iter().find(|(name, _)| *name == small).map(|(_, bits)| *bits);
    let Some(bits) = bits.or_else(|| unit.is_empty().then_some(1)) else {
        return Err(Wrong::new(format!("{} is not a unit of rate", quote(unit)), RATE_HELP));
    };
    let bytes = number.times(bits).map(|bits| bits / 8).and_then(|bytes| u64::try_from(bytes).ok());
    match bytes {
        None => Err(Wrong::new("The rate is too large", RATE_HELP)),
        Some(0) => Err(Wrong::new("The rate is below one byte per second", RATE_HELP)),
        Some(bytes) => Ok(ByteRate(bytes)),
    }
}

/// Bytes: `1600`, `5kb` (of 1024 bytes), `8kbit`.
pub(super) fn size(text: &str) -> Result<u32, Wrong> {
    const HELP: &str = "write a number of bytes, optionally with k (1024) or m (1024 x 1024)";
    let (number, unit) = split(text, HELP)?;
    let bits = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 8,
        "k" | "kb" => 8 << 10,
        "m" | "mb" => 8 << 20,
        "g" | "gb" => 8 << 30,
        "kbit" => 1 << 10,
        "mbit" => 1 << 20,
        "gbit" => 1 << 30,
        _ => return Err(Wrong::new(format!("{} is not a unit of length", quote(unit)), HELP)),
    };
    let bytes = number.times(bits).and_then(|bits| u32::try_from(bits / 8).ok());
    bytes.ok_or_else(|| Wrong::new("The length exceeds 32 bits", HELP))
}

pub(super) fn some_size(text: &str) -> Result<u32, Wrong> {
    match size(text)? {
        0 => Err(Wrong::new("A length of 0 passes no frame", "write 16 or more: a classic frame counts as 16 bytes")),
        bytes => Ok(bytes),
    }
}

/// A bucket size; a cell size may follow, which kernels no longer use.
pub(super) fn bucket(text: &str) -> Result<u32, Wrong> {
    some_size(text.split_once('/').map_or(text, |(bytes, _cell)| bytes))
}

/// A time; without a unit in microseconds.
pub(super) fn time(text: &str) -> Result<Duration, Wrong> {
    const HELP: &str = "write a number with us, ms or s";
    let (number, unit) = split(text, HELP)?;
    let nanoseconds = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" => 1_000_000_000,
        "ms" | "msec" | "msecs" => 1_000_000,
        "" | "us" | "usec" | "usecs" => 1_000,
        "ns" | "nsec" | "nsecs" => 1,
        _ => return Err(Wrong::new(format!("{} is not a unit of time", quote(unit)), HELP)),
    };
    let time = number.times(nanoseconds).and_then(|time| u64::try_from(time).ok());
    let time = time.filter(|time| i64::try_from(*time).is_ok()).map(Duration::from_nanos);
    time.ok_or_else(|| Wrong::new("The time is too long", HELP))
}

pub(super) fn microseconds(text: &str) -> Result<u32, Wrong> {
    let time = time(text)?;
    u32::try_from(time.as_micros())
        .map_err(|_more_than_71_minutes| Wrong::new("The maximum time is 4294967295us", "write a shorter time"))
}

/// A share of all frames, `30%` or `30`, in 2⁻³².
pub(super) fn percent(text: &str) -> Result<u32, Wrong> {
    let wrong =
        || Wrong::new(format!("{} is not a percentage", quote(text)), "write a number from 0 to 100, such as 0.5%");
    let digits = text.strip_suffix('%').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let share: f64 = digits.parse().ok().filter(|_| is_plain).ok_or_else(wrong)?;
    if !(0.0..=100.0).contains(&share) {
        return Err(wrong());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to u32::MAX")]
    let share = (share / 100.0 * f64::from(u32::MAX)).round() as u32;
    Ok(share)
}

/// As `strtoul()` reads it: `10`, `0x10`, and octal with a 0 in front.
pub(super) fn number(text: &str) -> Result<u32, Wrong> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    in_base(digits, radix).ok_or_else(|| {
        let message = format!("{} is not a number from 0 to 4294967295", quote(text));
        Wrong::new(message, "write it in decimal, or with 0x in hexadecimal (a 0 in front makes it octal)")
    })
}

pub(super) fn signed(text: &str) -> Result<i32, Wrong> {
    let (is_below, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = i64::from(number(digits)?);
    i32::try_from(if is_below { -value } else { value })
        .map_err(|_too_large| Wrong::new(format!("{} has more than 32 bits", quote(text)), "write a smaller number"))
}

/// A number in hexadecimal, with or without 0x.
pub(super) fn hex(text: &str) -> Result<u32, Wrong> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    in_base(digits, 16).ok_or_else(|| {
        Wrong::new(format!("{} is not a 32-bit hexadecimal number", quote(text)), "write it as in 7ff or 0x7ff")
    })
}

/// A number that `tc` reads in decimal only.
pub(super) fn decimal(text: &str) -> Result<u32, Wrong> {
    in_base(text, 10)
        .ok_or_else(|| Wrong::new(format!("{} is not a decimal number", quote(text)), "write it in decimal"))
}

/// A decimal number of 64 bits.
pub(super) fn long(text: &str) -> Result<u64, Wrong> {
    let digits = Some(text).filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| Wrong::new(format!("{} is not a decimal number", quote(text)), "write it in decimal"))
}

pub(super) const CLOCKS: &[(&str, i32)] =
    &[("CLOCK_REALTIME", 0), ("CLOCK_MONOTONIC", 1), ("CLOCK_BOOTTIME", 7), ("CLOCK_TAI", 11)];

fn clock(text: &str) -> Result<i32, Wrong> {
    let upper = text.to_ascii_uppercase();
    let is_it = |name: &str| name == upper || name.strip_prefix("CLOCK_") == Some(upper.as_str());
    let clock = CLOCKS.iter().find(|(name, _)| is_it(name));
    clock
        .map(|(_, id)| *id)
        .ok_or_else(|| Wrong::new(format!("{} is not a clock of tc", quote(text)), "write CLOCK_TAI"))
}

pub(super) fn described(option: &Opt, text: &str) -> Result<i128, Wrong> {
    let value = match option.unit {
        Unit::Number | Unit::PowerOfTwo => number(text)?.into(),
        Unit::Decimal => decimal(text)?.into(),
        Unit::Signed => signed(text)?.into(),
        Unit::Minor => hex(text.strip_prefix(':').unwrap_or(text))?.into(),
        Unit::Bytes => size(text)?.into(),
        Unit::Microseconds => microseconds(text)?.into(),
        Unit::Time => i128::try_from(time(text)?.as_nanos()).unwrap_or(i128::MAX),
        Unit::Percent => percent(text)?.into(),
        Unit::Clock => clock(text)?.into(),
        Unit::Switch | Unit::Ignored => 1,
    };
    if option.accepts(value) {
        return Ok(value);
    }
    let (least, most) = option.bounds;
    let range = if most == i128::from(u32::MAX) { format!("{least} or more") } else { format!("{least} to {most}") };
    let what = if option.unit == Unit::PowerOfTwo { "not a power of 2 from" } else { "out of range:" };
    Err(Wrong::new(format!("{} is {what} {range}", quote(text)), format!("write {range}")))
}

/// A number of an option as `tc` reads it; `None` if `tc` cannot.
pub(super) fn written(unit: Unit, number: i128) -> Option<String> {
    Some(match unit {
        Unit::Minor => format!("0x{number:x}"),
        Unit::Microseconds => format!("{number}us"),
        // `tc` counts microseconds, with 32 bits.
        Unit::Time => match number / 1000 {
            us if number % 1000 != 0 || us > u32::MAX.into() => return None,
            us if us % 1000 == 0 => format!("{}ms", us / 1000),
            us => format!("{us}us"),
        },
        // As many digits as it takes to read the same again.
        Unit::Percent => format!("{}%", f64::from(u32::try_from(number).ok()?) * 100.0 / f64::from(u32::MAX)),
        Unit::Clock => CLOCKS.iter().find(|(_, id)| i128::from(*id) == number)?.0.to_owned(),
        _ => number.to_string(),
    })
}

fn in_base(digits: &str, radix: u32) -> Option<u32> {
    // from_str_radix() takes a sign.
    digits.bytes().next().filter(u8::is_ascii_alphanumeric)?;
    u32::from_str_radix(digits, radix).ok()
}

/// An exact decimal number with a fraction.
struct Number {
    digits: u128,
    scale: u128,
}

impl Number {
    /// Converts to units, and truncates as `tc` does.
    fn times(&self, units: u64) -> Option<u128> {
        self.digits.checked_mul(u128::from(units)).map(|all| all / self.scale)
    }
}

fn split<'t>(text: &'t str, help: &str) -> Result<(Number, &'t str), Wrong> {
    const MOST_DIGITS: usize = 20;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || fraction.contains('.') {
        return Err(Wrong::new(format!("{} does not begin with a number", quote(text)), help));
    }
    if digits.len() > MOST_DIGITS {
        return Err(Wrong::new(format!("A number of {} digits is too long", digits.len()), help));
    }
    let scale = (0..fraction.len()).fold(1_u128, |scale, _| scale * 10);
    let digits = digits.bytes().fold(0_u128, |number, digit| number * 10 + u128::from(digit - b'0'));
    Ok((Number { digits, scale }, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rates_as_bytes_per_second() {
        let cases = [
            ("100frames/s", 1600),
            ("0.5frames/s", 8),
            ("12800bit", 1600),
            ("12800", 1600),
            ("0.1mbit", 12_500),
            ("100kbps", 100_000),
            ("100kBps", 100_000),
            ("1Kibit", 128),
            ("9bit", 1),
            ("1.6e", 0),
            ("7bit", 0),
            ("5%", 0),
            ("kbit", 0),
            ("1.2.3kbit", 0),
            ("99999999999999999999gbit", 0),
        ];
        for (text, bytes) in cases {
            assert_eq!(rate(text).ok(), Some(ByteRate(bytes)).filter(|_| bytes > 0), "{text}");
        }
    }

    #[test]
    fn reads_lengths_times_and_shares_as_tc() {
        let sizes =
            [("5kb", 5120), ("160b", 160), ("1k", 1024), ("8kbit", 1024), ("0.5k", 512), ("4294967295", u32::MAX)];
        for (text, bytes) in sizes {
            assert_eq!(size(text).ok(), Some(bytes), "{text}");
        }
        for text in ["4294967296", "5frames", "-1", ""] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(bucket("6000/16").ok(), Some(6000));
        assert_eq!(time("70ms").ok(), Some(Duration::from_millis(70)));
        assert_eq!(time("10").ok(), Some(Duration::from_micros(10)));
        assert_eq!(microseconds("1.5us").ok(), Some(1));
        assert_eq!(percent("30.5%").ok(), Some(1_309_965_025));
        assert_eq!(percent("100").ok(), Some(u32::MAX));
        for text in ["101%", "-1", "inf", "nan", "%"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_numbers_as_strtoul() {
        let cases =
            [("10", Some(10)), ("0x10", Some(16)), ("010", Some(8)), ("0", Some(0)), ("08", None), ("+1", None)];
        for (text, value) in cases {
            assert_eq!(number(text).ok(), value, "{text}");
        }
        assert_eq!((hex("10").ok(), hex("0x7FF").ok(), hex("0x").ok()), (Some(16), Some(0x7FF), None));
        assert_eq!(
            (signed("-5").ok(), signed("-2147483648").ok(), signed("2147483648").ok()),
            (Some(-5), Some(i32::MIN), None)
        );
    }
}
