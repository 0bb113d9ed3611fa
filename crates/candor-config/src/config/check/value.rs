//! Values of single keys: words, times, rates, names, hexadecimal text and numbers. `None` after an error.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::unknown;
use crate::config::code;
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::{Number, Text, quote};
use candor_core::interface_name;
use candor_core::units::{BitRate, parse_duration};

/// One of some words. Without a help, an error lists them.
pub(super) fn word<T: Copy>(
    written: &Text,
    (code, what, help): (&'static str, &str, &str),
    known: &[(&str, T)],
    findings: &mut Findings,
) -> Option<T> {
    let found = known.iter().find(|(name, _)| *name == written.value);
    if found.is_none() {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        let list: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let list = format!("write {}", list.join(" or "));
        unknown(code, what, written, &names, if help.is_empty() { &list } else { help }, findings);
    }
    found.map(|&(_, value)| value)
}

pub(super) fn duration(written: &Text, findings: &mut Findings) -> Option<Duration> {
    let help = "write a time with its unit, such as \"20ms\" or \"500us\"";
    or_error(parse_duration(&written.value), code::DURATION, written, help, findings)
}

/// Shorter times are beyond what CAN can carry: the shortest frame takes 47 µs at 1 Mbit/s.
const SHORTEST: Duration = Duration::from_micros(50);

/// A time between two frames.
pub(super) fn distance(written: &Text, findings: &mut Findings) -> Option<Duration> {
    let time = duration(written, findings)?;
    if time < SHORTEST {
        let message = format!("The shortest time here is {SHORTEST:?}");
        findings.error(code::DURATION, &written.span, message, "the shortest CAN frame takes 47 µs at 1 Mbit/s");
    }
    Some(time)
}

/// The phase of a frame that a bit rate is for.
#[derive(Clone, Copy)]
pub(super) enum Phase {
    Nominal,
    Data,
}

/// # Source
/// ISO 11898-1:2024: at most 1 Mbit/s in the arbitration phase; 20 Mbit/s is the fastest data phase of
/// [CAN XL](https://www.can-cia.org/can-knowledge/can-xl) (CiA 601-4, 610-1).
pub(super) fn bit_rate(written: &Text, phase: Phase, findings: &mut Findings) -> Option<BitRate> {
    let help = "write a bit rate such as \"500kbit/s\" or \"1Mbit/s\"";
    let rate: BitRate = or_error(written.value.parse(), code::BIT_RATE, written, help, findings)?;
    let (most, help) = match phase {
        Phase::Nominal => (1, "write the rate of the arbitration phase here, and that of CAN FD data in data-bitrate"),
        Phase::Data => (20, "write the rate of the data phase, such as \"2Mbit/s\" or \"5Mbit/s\""),
    };
    if !(1000..=most * 1_000_000).contains(&rate.bits_per_second()) {
        let message = format!("A bit rate of this phase is 1 kbit/s to {most} Mbit/s, not {rate}");
        findings.error(code::BIT_RATE, &written.span, message, help);
    }
    Some(rate)
}

pub(super) fn interface(written: &Text, findings: &mut Findings) -> Option<String> {
    let name = interface_name::check(&written.value).map(|()| written.value.clone());
    let help = "write a name listed by `ip link show type can` or `type vcan`, such as \"can0\"";
    or_error(name, code::INTERFACE, written, help, findings)
}

fn or_error<T, E: ToString>(
    result: Result<T, E>,
    code: &'static str,
    written: &Text,
    help: &str,
    findings: &mut Findings,
) -> Option<T> {
    if let Err(error) = &result {
        findings.error(code, &written.span, error.to_string(), help);
    }
    result.ok()
}

/// Bytes as pairs of hexadecimal digits; white space between digits is ignored.
pub(super) fn bytes(written: &Text, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut digits = Vec::new();
    for (at, character) in written.value.char_indices() {
        match character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => digits.push(digit),
            None if character.is_ascii_whitespace() => {}
            None => {
                let message = format!("{character:?} is not a hexadecimal digit");
                let place = written.part(at..at + character.len_utf8());
                findings.error(code::HEX, &place, message, "write two digits per byte, such as \"1F\"");
                return None;
            }
        }
    }
    if digits.len() % 2 != 0 {
        let message = format!("{} hexadecimal digits do not make whole bytes", digits.len());
        let help = "write two digits per byte; a digit is missing or superfluous";
        findings.error(code::HEX, &written.span, message, help);
        return None;
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Reads exactly `N` bytes in hexadecimal.
pub(super) fn array<const N: usize>(written: &Text, findings: &mut Findings) -> Option<[u8; N]> {
    let array = <[u8; N]>::try_from(bytes(written, findings)?);
    if let Err(bytes) = &array {
        let are = if N == 1 { "1 byte is".to_owned() } else { format!("{N} bytes are") };
        let message = format!("{are} needed here, not {}", bytes.len());
        findings.error(code::HEX, &written.span, message, format!("write {} hexadecimal digits", 2 * N));
    }
    array.ok()
}

/// One byte, `1` or `01`.
pub(super) fn byte(written: &Text, findings: &mut Findings) -> Option<u8> {
    let padded = Text { value: format!("{:0>2}", written.value), span: written.span.clone() };
    let written = if written.value.len() == 1 { &padded } else { written };
    array::<1>(written, findings).map(|[byte]| byte)
}

/// A number of 1 to 8 hexadecimal digits.
pub(super) fn hex(written: &Text, findings: &mut Findings) -> Option<u32> {
    let text = written.value.as_str();
    if let Some((place, character)) = not_hex(text, |range| written.part(range)) {
        let message = format!("{character:?} is not a hexadecimal digit");
        findings.error(code::HEX, &place, message, "write hexadecimal digits without 0x");
        return None;
    }
    let number = u32::from_str_radix(text, 16).ok().filter(|_| text.len() <= 8);
    if number.is_none() {
        let message = format!("1 to 8 hexadecimal digits are needed here, not {}", text.len());
        findings.error(code::HEX, &written.span, message, "this is a 32-bit number");
    }
    number
}

/// The first character that is not a hexadecimal digit, and its place.
pub(super) fn not_hex(text: &str, part: impl FnOnce(Span) -> Span) -> Option<(Span, char)> {
    let (at, character) = text.char_indices().find(|(_, character)| !character.is_ascii_hexdigit())?;
    Some((part(at..at + character.len_utf8()), character))
}

/// A 32-bit word with all its 8 digits, passed to the kernel unchanged.
pub(super) fn word_32(written: &Text, findings: &mut Findings) -> Option<u32> {
    let word = hex(written, findings)?;
    if written.value.len() == 8 {
        return Some(word);
    }
    let message = format!("8 hexadecimal digits are needed here, not {}", written.value.len());
    findings.error(code::HEX, &written.span, message, format!("write \"{word:08X}\""));
    None
}

/// A number within bounds that depend on other keys.
pub(super) fn within<T: TryFrom<i64>>(
    written: &Number,
    range: RangeInclusive<i64>,
    what: &str,
    help: &str,
    findings: &mut Findings,
) -> Option<T> {
    let fits = if range.contains(&written.value) { T::try_from(written.value).ok() } else { None };
    if fits.is_none() {
        let message = format!("{what} must be {} to {}, not {}", range.start(), range.end(), written.value);
        findings.error(code::RANGE, &written.span, message, help);
    }
    fits
}

/// A word of `check` and `protect` that is not one of these.
pub(super) fn unknown_word<T>(word: &Text, words: &str, findings: &mut Findings) -> Option<T> {
    let message = format!("Unknown word {}", quote(&word.value));
    findings.error(code::INTEGRITY, &word.span, message, format!("write \"{words}\""));
    None
}

/// The bytes of a text such as `substitute:0102`; `None` for other texts.
pub(super) fn substitute(text: &Text) -> Option<Text> {
    const BEGINNING: &str = "substitute:";
    let bytes = text.value.strip_prefix(BEGINNING)?;
    Some(Text { value: bytes.to_owned(), span: text.part(BEGINNING.len()..text.value.len()) })
}

/// A scheme that cannot be compiled.
pub(super) fn refuse(wrong: &impl std::fmt::Display, help: &str, place: &Span, findings: &mut Findings) {
    findings.error(code::INTEGRITY, place, wrong.to_string(), help);
}

/// A number of up to 64 bits in hex, with or without 0x.
pub(super) fn long_hex(text: &Text, findings: &mut Findings) -> Option<u64> {
    let digits = text.value.trim_start_matches("0x");
    let number = u64::from_str_radix(digits, 16);
    if number.is_err() {
        findings.error(
            code::HEX,
            &text.span,
            format!("{} is no number in hex", quote(&text.value)),
            "write digits 0 to F",
        );
    }
    number.ok()
}
