//! `payload` and `mux`: payload patterns of a route.

use std::collections::HashSet;

use crate::config::check::value;
use crate::config::code;
use crate::config::spec::{MuxSpec, RouteSpec};
use crate::mux;
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Text;
use candor_core::document::keys::Table;
use candor_core::frame::{CANFD_MAX_DLEN, FrameFormat};
use candor_core::payload::PayloadPattern;

/// Patterns of one route. Each frame is compared with one after another.
const MAX_PATTERNS: usize = 256;

/// All patterns of a route; none if it matches any payload. `formats` is `None` after an error in it.
pub(super) fn patterns(
    spec: &Table<RouteSpec>,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Vec<PayloadPattern> {
    let payload = spec.payload.as_ref().map(|texts| texts_to_patterns(spec, texts, formats, findings));
    let mux = spec.mux.as_ref().map(|mux| mux_patterns(mux, formats, findings).unwrap_or_default());
    let patterns = match (payload, mux) {
        (None, None) => Vec::new(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(payload), Some(mux)) if payload.is_empty() || mux.is_empty() => Vec::new(),
        (Some(payload), Some(mux)) => both(payload, mux, spec, findings),
    };
    if patterns.len() > MAX_PATTERNS {
        let first = spec.payload.as_ref().and_then(|texts| texts.first()).map(|text| &text.span);
        let place = spec.mux.as_ref().map(|mux| &mux.span).or(first).unwrap_or(&spec.span);
        let message = format!("The route has more than {MAX_PATTERNS} payload patterns");
        let help = "each frame is compared with one after another; use ? for digits that may have any value";
        findings.error(code::TOO_MANY_JOBS, place, message, help);
    }
    patterns
}

fn texts_to_patterns(
    spec: &Table<RouteSpec>,
    texts: &[Text],
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Vec<PayloadPattern> {
    if texts.is_empty() {
        let help = "write at least one, such as payload = [\"01 ?? 3?\"], or remove the key";
        findings.error(code::HEX, &spec.span, "`payload` has no pattern", help);
    }
    let (mut patterns, mut seen) = (Vec::new(), HashSet::new());
    for text in texts {
        patterns.extend(pattern(text, formats, findings).filter(|pattern| seen.insert(*pattern)));
        if patterns.len() > MAX_PATTERNS {
            break;
        }
    }
    patterns
}

/// Hexadecimal digits, and `?` for one of any value.
fn pattern(written: &Text, formats: Option<Formats>, findings: &mut Findings) -> Option<PayloadPattern> {
    let mut digits = Vec::new();
    for (at, character) in written.value.char_indices() {
        match character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => digits.push((0xF, digit)),
            None if character == '?' => digits.push((0, 0)),
            None if character.is_ascii_whitespace() => {}
            None => {
                let message = format!("{character:?} is neither a hexadecimal digit nor ?");
                let place = written.part(at..at + character.len_utf8());
                findings.error(code::HEX, &place, message, "write two digits per byte, such as \"1F\" or \"1?\"");
                return None;
            }
        }
    }
    let mut refuse = |code, message: String, help: &str| {
        findings.error(code, &written.span, message, help);
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
    let mut pattern = PayloadPattern::ANY;
    for (at, pair) in digits.chunks_exact(2).enumerate() {
        pattern.mask[at] = pair[0].0 << 4 | pair[1].0;
        pattern.value[at] = pair[0].1 << 4 | pair[1].1;
    }
    Some(pattern)
}

/// Bytes that frames of all these formats can have, and how to get more.
pub(super) const fn room(formats: Formats) -> (usize, &'static str) {
    match formats {
        Formats::Any | Formats::Xl => {
            (8, "classic frames have at most 8 bytes; for longer ones add frames = \"fd\" to the route")
        }
        Formats::Only(FrameFormat::Classic) => (8, "classic frames have at most 8 bytes"),
        Formats::Only(FrameFormat::Fd) => (CANFD_MAX_DLEN, "CAN FD frames have at most 64 bytes"),
    }
}

fn mux_patterns(
    spec: &Table<MuxSpec>,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<Vec<PayloadPattern>> {
    const ORDERS: [(&str, bool); 2] = [("little", false), ("big", true)];
    let help = "use \"little\" (Intel, @1 in a DBC file) or \"big\" (Motorola, @0)";
    let order = spec.byte_order.as_ref();
    let is_big_endian =
        order.and_then(|order| value::word(order, (code::BYTE_ORDER, "byte order", help), &ORDERS, findings));
    let (room, help) = room(formats?);
    let start = spec.start_bit.as_ref().and_then(|written| {
        let last = i64::try_from(8 * room).unwrap_or(i64::MAX) - 1;
        value::within::<usize>(written, 0..=last, "The start bit", help, findings)
    });
    let bits = usize::from(spec.bits.as_ref()?.value);
    let values = values(spec, bits, findings);
    let (start, is_big_endian) = (start?, is_big_endian?);
    let places = mux::places(start, bits, is_big_endian, room);
    if places.is_none() {
        let message = format!("{bits} bits from bit {start} on extend beyond the frame");
        let help = "the start bit is the lowest bit for byte order \"little\" and the highest for \"big\"; see the \
                    picture in docs/config.md";
        findings.error(code::NOT_IN_FORMAT, &spec.span, message, help);
    }
    let places = places?;
    Some(values?.into_iter().map(|value| mux::pattern(&PayloadPattern::ANY, &places, value)).collect())
}

/// The values in ascending order, each once; at most one more than allowed.
fn values(spec: &Table<MuxSpec>, bits: usize, findings: &mut Findings) -> Option<Vec<u32>> {
    let written = spec.values.as_ref()?;
    if written.is_empty() {
        let help = "write the values to match, such as values = [1, 2]";
        findings.error(code::RANGE, &spec.span, "`mux` has no values", help);
    }
    let highest = (1_i64 << bits) - 1;
    let help = "it must fit into the bits of the multiplexer";
    let value = |value| value::within(value, 0..=highest, "The value", help, findings);
    let mut values: Vec<u32> = written.iter().filter_map(value).collect();
    candor_core::order::sort(&mut values);
    values.dedup();
    values.truncate(MAX_PATTERNS + 1);
    Some(values)
}

/// Payloads that match a pattern of each.
fn both(
    payload: Vec<PayloadPattern>,
    mux: Vec<PayloadPattern>,
    spec: &RouteSpec,
    findings: &mut Findings,
) -> Vec<PayloadPattern> {
    if payload.len() > MAX_PATTERNS || mux.len() > MAX_PATTERNS {
        return if mux.len() > MAX_PATTERNS { mux } else { payload };
    }
    let patterns: Vec<_> =
        payload.iter().flat_map(|one| mux.iter().filter_map(|other| one.and(other))).take(MAX_PATTERNS + 1).collect();
    if let (true, Some(mux)) = (patterns.is_empty(), &spec.mux) {
        let diagnostic =
            Diagnostic::error(code::NOTHING_LEFT, mux.span.clone(), "No payload matches both `payload` and `mux`")
                .help("change or remove one of the two; for frames that match either of them, write two routes");
        findings.report(match spec.payload.as_ref().and_then(|texts| texts.first()) {
            Some(text) => diagnostic.also(text.span.clone(), "requires different bits there"),
            None => diagnostic,
        });
    }
    patterns
}
