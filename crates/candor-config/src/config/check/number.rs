//! Hexadecimal text and bounded numbers.

use std::ops::RangeInclusive;

use crate::config::code;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;

/// Bytes written as pairs of hex digits; white space between them is for the reader.
pub(super) fn bytes(written: &Spanned<String>, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut digits = Vec::new();
    for (at, character) in written.value.char_indices() {
        match character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => digits.push(digit),
            None if character.is_ascii_whitespace() => {}
            None => {
                let span = written.part(at..at + character.len_utf8());
                let message = format!("{character:?} is not a hexadecimal digit");
                report(
                    findings,
                    Diagnostic::error(code::HEX, span, message),
                    "write two digits per byte, such as \"1F\"",
                );
                return None;
            }
        }
    }
    if digits.len() % 2 != 0 {
        let message = format!("{} hexadecimal digits do not make whole bytes", digits.len());
        let diagnostic = Diagnostic::error(code::HEX, written.span.clone(), message);
        report(findings, diagnostic, "write two digits per byte; a digit is missing or superfluous");
        return None;
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Exactly `N` bytes.
pub(super) fn array<const N: usize>(written: &Spanned<String>, findings: &mut Findings) -> Option<[u8; N]> {
    let bytes = bytes(written, findings)?;
    match <[u8; N]>::try_from(bytes) {
        Ok(array) => Some(array),
        Err(bytes) => {
            let message = format!("{} needed here, not {}", count(N), bytes.len());
            let diagnostic = Diagnostic::error(code::HEX, written.span.clone(), message);
            report(findings, diagnostic, &format!("write {} hexadecimal digits", 2 * N));
            None
        }
    }
}

/// One byte, `1` or `01`.
pub(super) fn byte(written: &Spanned<String>, findings: &mut Findings) -> Option<u8> {
    if written.value.len() == 1 {
        let padded = Spanned { value: format!("0{}", written.value), span: written.span.clone() };
        return array::<1>(&padded, findings).map(|[byte]| byte);
    }
    array::<1>(written, findings).map(|[byte]| byte)
}

/// A number of 1 to 8 hexadecimal digits.
pub(super) fn hex(written: &Spanned<String>, findings: &mut Findings) -> Option<u32> {
    let text = written.value.as_str();
    let mut refuse = |span, message: String, help: &str| {
        report(findings, Diagnostic::error(code::HEX, span, message), help);
        None
    };
    if let Some((at, character)) = text.char_indices().find(|(_, character)| !character.is_ascii_hexdigit()) {
        let span = written.part(at..at + character.len_utf8());
        return refuse(
            span,
            format!("{character:?} is not a hexadecimal digit"),
            "write hexadecimal digits without 0x",
        );
    }
    match u32::from_str_radix(text, 16) {
        Ok(value) if text.len() <= 8 => Some(value),
        _ => {
            let message = format!("1 to 8 hexadecimal digits are needed here, not {}", text.len());
            refuse(written.span.clone(), message, "this is a 32-bit number")
        }
    }
}

/// A 32-bit word as the kernel gets it, all 8 digits of it.
pub(super) fn word(written: &Spanned<String>, findings: &mut Findings) -> Option<u32> {
    let word = hex(written, findings)?;
    if written.value.len() == 8 {
        return Some(word);
    }
    let message = format!("8 hexadecimal digits are needed here, not {}", written.value.len());
    let diagnostic = Diagnostic::error(code::HEX, written.span.clone(), message);
    report(findings, diagnostic, &format!("write \"{word:08X}\""));
    None
}

/// A number within bounds, in the type that holds them.
pub(super) fn within<T: TryFrom<i64>>(
    written: &Spanned<i64>,
    range: RangeInclusive<i64>,
    what: &str,
    help: &str,
    findings: &mut Findings,
) -> Option<T> {
    let fits = if range.contains(&written.value) { T::try_from(written.value).ok() } else { None };
    if fits.is_none() {
        let message = format!("{what} must be {} to {}, not {}", range.start(), range.end(), written.value);
        report(findings, Diagnostic::error(code::RANGE, written.span.clone(), message), help);
    }
    fits
}

/// `1 byte`, `8 bytes`.
pub(super) fn count(bytes: usize) -> String {
    if bytes == 1 { "1 byte is".to_owned() } else { format!("{bytes} bytes are") }
}

fn report(findings: &mut Findings, diagnostic: Diagnostic, help: &str) {
    findings.report(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
}
