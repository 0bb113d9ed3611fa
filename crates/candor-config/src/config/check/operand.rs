//! Operands of `and`, `or`, `xor` and `set`: what is written, and the bits that can-gw gets.

use crate::config::check::{conflict, number};
use crate::config::code;
use crate::config::spec::{OperandSpec, RouteSpec};
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK, CANFD_MAX_DLEN, FD_LENGTHS, FrameFormat,
};
use candor_core::rule::{Modifications, Operand, Operation};

/// All modifications of a route. `formats` is `None` when the file does not say a valid one.
pub(super) fn modifications(
    route: &RouteSpec,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<Modifications> {
    let mut one = |operation, spec: &Option<Box<OperandSpec>>| match spec {
        Some(spec) => operand(operation, spec, formats, findings),
        None => Some(Operand::default()),
    };
    // All four are checked before any of them is missed.
    let (and, or, xor, set) = (
        one(Operation::And, &route.and),
        one(Operation::Or, &route.or),
        one(Operation::Xor, &route.xor),
        one(Operation::Set, &route.set),
    );
    Some(Modifications { and: and?, or: or?, xor: xor?, set: set? })
}

fn operand(
    operation: Operation,
    spec: &OperandSpec,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<Operand> {
    let is_twice = is_twice(spec, findings);
    let id = match (&spec.id, &spec.raw_id) {
        (_, Some(raw)) => number::word(raw, findings).map(Some),
        (written, None) => optional(written.as_ref(), |written| {
            identifier(operation, &written.value, &written.span, |range| written.part(range), findings)
        }),
    };
    let len = match (&spec.len, &spec.raw_len) {
        (_, Some(raw)) => raw_length(raw, formats, findings).map(Some),
        (written, None) => optional(written.as_ref(), |written| length(operation, written, formats, findings)),
    };
    let flags = optional(spec.flags.as_ref(), |written| fd_flags(written, formats, findings));
    let data = optional(spec.data.as_ref(), |written| payload(operation, written, formats, findings));
    let operand = Operand { id: id?, len: len?, flags: flags?, data: data? };
    (!is_twice && !spec.is_torn).then_some(operand)
}

fn is_twice(spec: &OperandSpec, findings: &mut Findings) -> bool {
    let id = spec.id.as_ref().map(|id| &id.span).zip(spec.raw_id.as_ref().map(|raw| &raw.span));
    let len = spec.len.as_ref().map(|len| &len.span).zip(spec.raw_len.as_ref().map(|raw| &raw.span));
    for (one, raw) in [id, len].into_iter().flatten() {
        conflict(raw, "Two keys set the same field", one.clone(), "and here", "keep one of them", findings);
    }
    id.or(len).is_some()
}

/// Applies a check to a value that may be absent; `None` only if the check fails.
fn optional<S, T>(written: Option<&S>, check: impl FnOnce(&S) -> Option<T>) -> Option<Option<T>> {
    written.map_or(Some(None), |written| check(written).map(Some))
}

/// The 32-bit operand for `can_id`.
///
/// Up to 3 digits are an 11-bit value and go out as they are. 8 digits up to `1FFFFFFF` are a 29-bit value and get
/// the EFF flag, so that the result is (SET, OR) or stays (AND) a 29-bit frame; XOR goes without, because there the
/// flag would turn the format around. 8 digits above that are a raw `can_id` and go out as they are.
///
/// `part` gives the place of a part of the text.
pub(super) fn identifier(
    operation: Operation,
    text: &str,
    span: &Span,
    part: impl FnOnce(Span) -> Span,
    findings: &mut Findings,
) -> Option<u32> {
    let mut refuse = |span: Span, message: String, help: String| {
        findings.report(Diagnostic::error(code::IDENTIFIER, span, message).help(help));
        None
    };
    if let Some((at, character)) = text.char_indices().find(|(_, character)| !character.is_ascii_hexdigit()) {
        let help = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => format!("identifiers are always hexadecimal; write \"{}\"", digits.escape_debug()),
            None => "write 3 digits (11 bits) or 8 digits (29 bits), such as \"123\"".to_owned(),
        };
        return refuse(part(at..at + character.len_utf8()), format!("{character:?} is not a hexadecimal digit"), help);
    }
    let span = span.clone();
    let digits = "write 3 digits for 11 bits or 8 digits for 29 bits".to_owned();
    let value = match (text.len(), u32::from_str_radix(text, 16)) {
        (1..=3 | 8, Ok(value)) => value,
        (4..=7, Ok(value)) => {
            return refuse(
                span,
                format!("{} has neither 3 nor 8 digits", quote(text)),
                format!("{digits}: \"{value:08X}\""),
            );
        }
        _ => return refuse(span, "An identifier has 3 or 8 hexadecimal digits".to_owned(), digits),
    };
    if text.len() <= 3 {
        return match value {
            0..=CAN_SFF_MASK => Some(value),
            _ => refuse(
                span,
                format!("Identifier {value:X} does not fit into 11 bits"),
                format!("write \"{value:08X}\", with 8 digits, for a 29-bit identifier"),
            ),
        };
    }
    match operation {
        Operation::Xor if value <= CAN_EFF_MASK => Some(value),
        _ if value <= CAN_EFF_MASK => Some(value | CAN_EFF_FLAG),
        Operation::And => Some(value),
        _ if value & CAN_ERR_FLAG != 0 => refuse(
            span,
            "Bit 20000000 would turn the frames into error message frames".to_owned(),
            format!("write \"{:08X}\"", value & !CAN_ERR_FLAG),
        ),
        Operation::Set if value & CAN_EFF_FLAG == 0 && value & CAN_EFF_MASK > CAN_SFF_MASK => refuse(
            span,
            format!("Identifier {:X} does not fit into 11 bits", value & CAN_EFF_MASK),
            format!("write \"{:08X}\" for a 29-bit identifier", value | CAN_EFF_FLAG),
        ),
        _ => Some(value),
    }
}

fn length(
    operation: Operation,
    written: &Spanned<i64>,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<u8> {
    match formats? {
        Formats::Any => needs_format(
            "`len`",
            &written.span,
            "it is the DLC in classic frames, the number of bytes in FD frames",
            findings,
        ),
        Formats::Only(FrameFormat::Classic) => {
            let help = "for classic frames this is the raw DLC; 9 to 15 mean 8 bytes";
            number::within(written, 0..=15, "The length", help, findings)
        }
        Formats::Only(FrameFormat::Fd) if operation == Operation::Set => {
            let length = u8::try_from(written.value).ok().filter(|length| FD_LENGTHS.contains(length));
            if length.is_none() {
                let message = format!("No CAN FD frame has {} bytes", written.value);
                let help = "use 0 to 8, 12, 16, 20, 24, 32, 48 or 64";
                findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help(help));
            }
            length
        }
        Formats::Only(FrameFormat::Fd) => {
            let (most, help) = match operation {
                Operation::And => (255, "the length of an FD frame is one byte"),
                _ => (127, "an FD frame longer than 64 bytes would be deleted"),
            };
            number::within(written, 0..=most, "The operand for the length", help, findings)
        }
    }
}

/// As the kernel gets it. It means something else in each format all the same.
fn raw_length(written: &Spanned<i64>, formats: Option<Formats>, findings: &mut Findings) -> Option<u8> {
    if formats? == Formats::Any {
        let why = "it is the DLC in classic frames, the number of bytes in FD frames";
        return needs_format("`raw-len`", &written.span, why, findings);
    }
    number::within(written, 0..=255, "The raw length", "the kernel takes one byte", findings)
}

fn fd_flags(written: &Spanned<String>, formats: Option<Formats>, findings: &mut Findings) -> Option<u8> {
    match formats? {
        Formats::Any => needs_format("`flags`", &written.span, "classic frames have none", findings),
        Formats::Only(FrameFormat::Classic) => {
            findings.report(
                Diagnostic::error(code::NOT_IN_FORMAT, written.span.clone(), "Classic frames have no flags")
                    .help("remove `flags`, or write frames = \"fd\""),
            );
            None
        }
        Formats::Only(FrameFormat::Fd) => number::byte(written, findings),
    }
}

fn payload(
    operation: Operation,
    written: &Spanned<String>,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<[u8; CANFD_MAX_DLEN]> {
    let bytes = number::bytes(written, findings)?;
    let room = match formats? {
        Formats::Any if operation == Operation::Set => {
            return needs_format("`data` of `set`", &written.span, "it replaces all 8 or all 64 bytes", findings);
        }
        Formats::Any if bytes.len() > FrameFormat::Classic.max_len() => {
            return needs_format(
                "`data` of more than 8 bytes",
                &written.span,
                "classic frames have at most 8 bytes",
                findings,
            );
        }
        Formats::Any => FrameFormat::Fd.max_len(),
        Formats::Only(format) => format.max_len(),
    };
    let mut refuse = |message: String, help: String| {
        findings.report(Diagnostic::error(code::NOT_IN_FORMAT, written.span.clone(), message).help(help));
        None
    };
    if bytes.is_empty() {
        return refuse(
            "`data` is empty".to_owned(),
            format!("write hex digits, or remove `data` from `{}`", operation.name()),
        );
    }
    if bytes.len() > room {
        let message = format!("{} bytes do not fit: these frames have at most {room}", bytes.len());
        return refuse(message, format!("write at most {} digits", 2 * room));
    }
    match operation.identity() {
        Some(identity) => {
            let mut data = [0; CANFD_MAX_DLEN];
            data[..room].fill(identity);
            data[..bytes.len()].copy_from_slice(&bytes);
            Some(data)
        }
        None if bytes.len() == room => {
            let mut data = [0; CANFD_MAX_DLEN];
            data[..room].copy_from_slice(&bytes);
            Some(data)
        }
        None => refuse(
            format!("`set` needs all {room} data bytes, not {}", bytes.len()),
            format!("write all {room} bytes; to change only some, clear them with `and` and set them with `or`"),
        ),
    }
}

fn needs_format<T>(what: &str, span: &Span, why: &str, findings: &mut Findings) -> Option<T> {
    findings.report(
        Diagnostic::error(code::NEEDS_FORMAT, span.clone(), format!("{what} needs a frame format: {why}"))
            .help("add frames = \"classic\" or frames = \"fd\" to the route; for both, write two routes"),
    );
    None
}
