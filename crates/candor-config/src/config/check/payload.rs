//! `payload` and `mux`: which payloads a route takes.

use std::collections::HashSet;

use crate::config::check::number;
use crate::config::code;
use crate::config::spec::{MuxSpec, RouteSpec};
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::payload::PayloadPattern;

/// Patterns of one route. Frames are compared with one after the other.
const MAX_PATTERNS: usize = 256;
const MAX_BITS: i64 = 32;

/// All patterns of a route, none if it takes any payload. `formats` is `None` when the file does not say valid ones.
pub(super) fn patterns(
    spec: &RouteSpec,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<Vec<PayloadPattern>> {
    let payload = spec.payload.as_ref().map(|texts| texts_to_patterns(spec, texts, formats, findings));
    let mux = spec.mux.as_ref().map(|mux| mux_patterns(mux, formats, findings));
    if spec.broken.contains(&"payload") || spec.broken.contains(&"mux") {
        return None;
    }
    let patterns = match (payload, mux) {
        (None, None) => return Some(Vec::new()),
        (Some(one), None) | (None, Some(one)) => one?,
        (Some(payload), Some(mux)) => both(&payload?, &mux?, spec, findings)?,
    };
    if patterns.len() > MAX_PATTERNS {
        let first = spec.payload.as_ref().and_then(|texts| texts.first()).map(|text| &text.span);
        let place = spec.mux.as_ref().map(|mux| &mux.span).or(first).unwrap_or(&spec.header);
        let message = format!("The route has more than {MAX_PATTERNS} payload patterns");
        findings.report(
            Diagnostic::error(code::TOO_MANY_JOBS, place.clone(), message)
                .help("each frame is compared with one after another; use ? for digits that may have any value"),
        );
        return None;
    }
    Some(patterns)
}

fn texts_to_patterns(
    spec: &RouteSpec,
    texts: &[Spanned<String>],
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<Vec<PayloadPattern>> {
    if texts.is_empty() {
        findings.report(
            Diagnostic::error(code::HEX, spec.header.clone(), "`payload` has no pattern")
                .help("write at least one, such as payload = [\"01 ?? 3?\"], or remove the key"),
        );
        return None;
    }
    let (mut patterns, mut seen, mut is_sound) = (Vec::new(), HashSet::new(), true);
    for text in texts {
        match pattern(text, formats, findings) {
            Some(one) if seen.insert(one) => patterns.push(one),
            Some(_) => {}
            None => is_sound = false,
        }
        if patterns.len() > MAX_PATTERNS {
            break;
        }
    }
    if !is_sound {
        return None;
    }
    Some(patterns)
}

/// Hexadecimal digits, and `?` for one of any value.
fn pattern(written: &Spanned<String>, formats: Option<Formats>, findings: &mut Findings) -> Option<PayloadPattern> {
    let mut digits = Vec::new();
    for (at, character) in written.value.char_indices() {
        match character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => digits.push((0xF, digit)),
            None if character == '?' => digits.push((0, 0)),
            None if character.is_ascii_whitespace() => {}
            None => {
                findings.report(
                    Diagnostic::error(
                        code::HEX,
                        written.part(at..at + character.len_utf8()),
                        format!("{character:?} is neither a hexadecimal digit nor ?"),
                    )
                    .help("write two digits per byte, such as \"1F\" or \"1?\""),
                );
                return None;
            }
        }
    }
    let mut refuse = |code, message: String, help: &str| {
        findings.report(Diagnostic::error(code, written.span.clone(), message).help(help));
        None
    };
    if digits.len() % 2 != 0 {
        let message = format!("{} digits do not make whole bytes", digits.len());
        return refuse(code::HEX, message, "write two digits per byte; a digit or ? is missing or superfluous");
    }
    if digits.iter().all(|&(mask, _)| mask == 0) {
        let help = "write digits where the value matters, or remove `payload`";
        return refuse(code::HEX, "The pattern compares nothing".to_owned(), help);
    }
    let (room, help) = room(formats?);
    if digits.len() > 2 * room {
        let message = format!("{} bytes do not fit: these frames have at most {room}", digits.len() / 2);
        return refuse(code::NOT_IN_FORMAT, message, help);
    }
    let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
    for (at, pair) in digits.chunks_exact(2).enumerate() {
        pattern.mask[at] = pair[0].0 << 4 | pair[1].0;
        pattern.value[at] = pair[0].1 << 4 | pair[1].1;
    }
    Some(pattern)
}

/// Bytes that frames of all these formats can have.
const fn room(formats: Formats) -> (usize, &'static str) {
    match formats {
        Formats::Any => (8, "classic frames have at most 8 bytes; for longer ones add frames = \"fd\" to the route"),
        Formats::Only(FrameFormat::Classic) => (8, "classic frames have at most 8 bytes"),
        Formats::Only(FrameFormat::Fd) => (CANFD_MAX_DLEN, "CAN FD frames have at most 64 bytes"),
    }
}

fn mux_patterns(spec: &MuxSpec, formats: Option<Formats>, findings: &mut Findings) -> Option<Vec<PayloadPattern>> {
    let is_big_endian = spec.byte_order.as_ref().and_then(|written| is_big_endian(written, findings));
    let (room, help) = room(formats?);
    let start = spec.start_bit.as_ref().and_then(|written| {
        let last = i64::try_from(8 * room).unwrap_or(i64::MAX) - 1;
        number::within::<usize>(written, 0..=last, "The start bit", help, findings)
    });
    let bits = spec.bits.as_ref().and_then(|written| {
        let help = "a multiplexer has few bits; longer ones are matched with `payload`";
        number::within::<usize>(written, 1..=MAX_BITS, "The number of bits", help, findings)
    });
    let bits = bits?;
    let values = values(spec, bits, findings);
    let (is_big_endian, start) = (is_big_endian?, start?);
    let places: Option<Vec<_>> = (0..bits).map(|index| bit(start, bits, is_big_endian, index)).collect();
    let places = places.filter(|places| places.iter().all(|&(byte, _)| byte < room));
    if places.is_none() {
        let message = format!("{bits} bits from bit {start} on extend beyond the frame");
        findings.report(Diagnostic::error(code::NOT_IN_FORMAT, spec.span.clone(), message).help(
            "the start bit is the lowest bit for byte order \"little\" and the highest for \"big\"; see the picture in \
             docs/config.md",
        ));
    }
    let (places, values) = (places?, values?);
    (!spec.is_torn).then(|| values.into_iter().map(|value| pattern_of(&places, value)).collect())
}

fn is_big_endian(written: &Spanned<String>, findings: &mut Findings) -> Option<bool> {
    const ORDERS: [&str; 2] = ["little", "big"];
    if let Some(at) = ORDERS.iter().position(|order| *order == written.value) {
        return Some(at == 1);
    }
    let message = format!("Unknown byte order {}", quote(&written.value));
    let mut diagnostic = Diagnostic::error(code::BYTE_ORDER, written.span.clone(), message)
        .help("use \"little\" (Intel, @1 in a DBC file) or \"big\" (Motorola, @0)");
    if let Some(order) = closest(&written.value, &ORDERS) {
        diagnostic = diagnostic.label(format!("did you mean \"{order}\"?"));
    }
    findings.report(diagnostic);
    None
}

/// The values in ascending order, each once; no more of them than make too many patterns.
fn values(spec: &MuxSpec, bits: usize, findings: &mut Findings) -> Option<Vec<u32>> {
    let written = spec.values.as_ref()?;
    if written.is_empty() {
        findings.report(
            Diagnostic::error(code::RANGE, spec.span.clone(), "`mux` has no values")
                .help("write the values to match, such as values = [1, 2]"),
        );
        return None;
    }
    let highest = (1_i64 << bits) - 1;
    let help = "it must fit into the bits of the multiplexer";
    // Each is checked before any of them is missed.
    let values: Vec<Option<u32>> =
        written.iter().map(|value| number::within(value, 0..=highest, "The value", help, findings)).collect();
    let mut values = values.into_iter().collect::<Option<Vec<_>>>()?;
    values.sort_unstable();
    values.dedup();
    values.truncate(MAX_PATTERNS + 1);
    Some(values)
}

/// Byte and bit in it of one bit of a value, counted from its lowest; `None` before the start of a frame.
///
/// Bits are numbered as in a DBC file: bit 0 is the lowest one of byte 0, bit 8 the lowest one of byte 1. A value of
/// little byte order begins with its lowest bit and goes up. One of big byte order begins with its highest bit, goes
/// down to the end of the byte, and on at the highest bit of the next byte.
fn bit(start: usize, bits: usize, is_big_endian: bool, index: usize) -> Option<(usize, usize)> {
    if !is_big_endian {
        return Some(((start + index) / 8, (start + index) % 8));
    }
    let from_highest = bits.checked_sub(index + 1)?;
    let in_order_of_sending = start / 8 * 8 + (7 - start % 8) + from_highest;
    Some((in_order_of_sending / 8, 7 - in_order_of_sending % 8))
}

fn pattern_of(places: &[(usize, usize)], value: u32) -> PayloadPattern {
    let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
    for (index, &(byte, bit)) in places.iter().enumerate() {
        pattern.mask[byte] |= 1 << bit;
        if value >> index & 1 == 1 {
            pattern.value[byte] |= 1 << bit;
        }
    }
    pattern
}

/// Payloads that fit one of each.
fn both(
    payload: &[PayloadPattern],
    mux: &[PayloadPattern],
    spec: &RouteSpec,
    findings: &mut Findings,
) -> Option<Vec<PayloadPattern>> {
    if payload.len() > MAX_PATTERNS || mux.len() > MAX_PATTERNS {
        return Some(if mux.len() > MAX_PATTERNS { mux.to_vec() } else { payload.to_vec() });
    }
    let agree = |one: &PayloadPattern, other: &PayloadPattern| {
        (0..CANFD_MAX_DLEN).all(|at| (one.value[at] ^ other.value[at]) & one.mask[at] & other.mask[at] == 0)
    };
    let merge = |one: &PayloadPattern, other: &PayloadPattern| {
        let mut merged = *one;
        for at in 0..CANFD_MAX_DLEN {
            merged.mask[at] |= other.mask[at];
            merged.value[at] |= other.value[at];
        }
        merged
    };
    let patterns: Vec<_> = payload
        .iter()
        .flat_map(|one| mux.iter().filter(|other| agree(one, other)).map(|other| merge(one, other)))
        .take(MAX_PATTERNS + 1)
        .collect();
    if patterns.is_empty() {
        let mux = spec.mux.as_ref()?;
        let diagnostic =
            Diagnostic::error(code::NOTHING_LEFT, mux.span.clone(), "No payload fits both `payload` and `mux`")
                .help("change or remove one of the two; for frames that match either of them, write two routes");
        findings.report(match spec.payload.as_ref().and_then(|texts| texts.first()) {
            Some(text) => diagnostic.also(text.span.clone(), "requires different bits there"),
            None => diagnostic,
        });
        return None;
    }
    Some(patterns)
}

#[cfg(test)]
mod tests;
