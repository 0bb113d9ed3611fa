//! Operands of `and`, `or`, `xor` and `set`: from text to the bits passed to can-gw.

use crate::config::check::{conflict, value};
use crate::config::code;
use crate::config::spec::{OperandSpec, RouteSpec};
use crate::plan::Formats;
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Number, Spanned, Text, quote};
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK, CANFD_MAX_DLEN, FD_LENGTHS, FrameFormat,
};
use candor_core::rule::{Modifications, Operand, Operation};

/// All modifications of a route. `formats` is `None` after an error in it.
pub(super) fn modifications(route: &RouteSpec, formats: Option<Formats>, findings: &mut Findings) -> Modifications {
    let mut one = |operation, spec: &Option<Box<Table<OperandSpec>>>| {
        spec.as_ref().map_or_else(Operand::default, |spec| operand(operation, spec, formats, findings))
    };
    Modifications {
        and: one(Operation::And, &route.and),
        or: one(Operation::Or, &route.or),
        xor: one(Operation::Xor, &route.xor),
        set: one(Operation::Set, &route.set),
    }
}

fn operand(operation: Operation, spec: &OperandSpec, formats: Option<Formats>, findings: &mut Findings) -> Operand {
    let id = spec.id.as_ref().map(|id| &id.span).zip(spec.raw_id.as_ref().map(|raw| &raw.span));
    let len = spec.len.as_ref().map(|len| &len.span).zip(spec.raw_len.as_ref().map(|raw| &raw.span));
    for (one, raw) in [id, len].into_iter().flatten() {
        conflict(raw, "Two keys set the same field", (one, "and here"), "keep one of them", findings);
    }
    let id = match (&spec.id, &spec.raw_id) {
        (_, Some(raw)) => value::word_32(raw, findings),
        (Some(written), None) => {
            identifier(operation, &written.value, &written.span, |range| written.part(range), findings)
        }
        (None, None) => None,
    };
    let len = match (&spec.len, &spec.raw_len) {
        (_, Some(raw)) => raw_length(raw, formats, findings),
        (Some(written), None) => length(operation, written, formats, findings),
        (None, None) => None,
    };
    let flags = spec.flags.as_ref().and_then(|written| fd_flags(written, formats, findings));
    let data = spec.data.as_ref().and_then(|written| payload(operation, written, formats, findings));
    Operand { id, len, flags, data }
}

/// The 32-bit operand for `can_id`.
///
/// Up to 3 digits are an 11-bit value and are passed unchanged. 8 digits up to `1FFFFFFF` are a 29-bit value and get the
/// EFF flag, so that the result is (SET, OR) or stays (AND) a 29-bit frame; XOR gets none, because the flag would
/// invert the format. 8 digits above that are a raw `can_id` and are passed unchanged.
///
/// `part` returns the place of a part of the text.
pub(super) fn identifier(
    operation: Operation,
    text: &str,
    span: &Span,
    part: impl FnOnce(Span) -> Span,
    findings: &mut Findings,
) -> Option<u32> {
    let mut refuse = |span: Span, message: String, help: String| {
        findings.error(code::IDENTIFIER, &span, message, help);
        None
    };
    if let Some((place, character)) = value::not_hex(text, part) {
        let help = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => format!("identifiers are always hexadecimal; write \"{}\"", digits.escape_debug()),
            None => "write 3 digits (11 bits) or 8 digits (29 bits), such as \"123\"".to_owned(),
        };
        return refuse(place, format!("{character:?} is not a hexadecimal digit"), help);
    }
    let span = span.clone();
    let digits = "write 3 digits for 11 bits or 8 digits for 29 bits".to_owned();
    let value = match (text.len(), u32::from_str_radix(text, 16)) {
        (1..=3 | 8, Ok(value)) => value,
        (4..=7, Ok(value)) => {
            let message = format!("{} has neither 3 nor 8 digits", quote(text));
            return refuse(span, message, format!("{digits}: \"{value:08X}\""));
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

const LENGTH_DIFFERS: &str = "it is the DLC in classic frames, the number of bytes in FD frames";

fn length(operation: Operation, written: &Number, formats: Option<Formats>, findings: &mut Findings) -> Option<u8> {
    match formats? {
        Formats::Xl => None,
        Formats::Any => needs_format("`len`", &written.span, LENGTH_DIFFERS, findings),
        Formats::Only(FrameFormat::Classic) => {
            let help = "for classic frames this is the raw DLC; 9 to 15 mean 8 bytes";
            value::within(written, 0..=15, "The length", help, findings)
        }
        Formats::Only(FrameFormat::Fd) if operation == Operation::Set => {
            let length = u8::try_from(written.value).ok().filter(|length| FD_LENGTHS.contains(length));
            if length.is_none() {
                let message = format!("No CAN FD frame has {} bytes", written.value);
                findings.error(code::RANGE, &written.span, message, "use 0 to 8, 12, 16, 20, 24, 32, 48 or 64");
            }
            length
        }
        Formats::Only(FrameFormat::Fd) => {
            let (most, help) = match operation {
                Operation::And => (255, "the length of an FD frame is one byte"),
                _ => (127, "an FD frame longer than 64 bytes would be deleted"),
            };
            value::within(written, 0..=most, "The operand for the length", help, findings)
        }
    }
}

/// The byte for the kernel, whose meaning depends on the format too.
fn raw_length(written: &Spanned<u8>, formats: Option<Formats>, findings: &mut Findings) -> Option<u8> {
    match formats? {
        Formats::Xl => None,
        Formats::Any => needs_format("`raw-len`", &written.span, LENGTH_DIFFERS, findings),
        Formats::Only(_) => Some(written.value),
    }
}

fn fd_flags(written: &Text, formats: Option<Formats>, findings: &mut Findings) -> Option<u8> {
    match formats? {
        Formats::Xl => None,
        Formats::Any => needs_format("`flags`", &written.span, "classic frames have none", findings),
        Formats::Only(FrameFormat::Classic) => {
            let help = "remove `flags`, or write frames = \"fd\"";
            findings.error(code::NOT_IN_FORMAT, &written.span, "Classic frames have no flags", help);
            None
        }
        Formats::Only(FrameFormat::Fd) => value::byte(written, findings),
    }
}

fn payload(
    operation: Operation,
    written: &Text,
    formats: Option<Formats>,
    findings: &mut Findings,
) -> Option<[u8; CANFD_MAX_DLEN]> {
    let bytes = value::bytes(written, findings)?;
    let room = match formats? {
        Formats::Xl => return None,
        Formats::Any if operation == Operation::Set => {
            return needs_format("`data` of `set`", &written.span, "it replaces all 8 or all 64 bytes", findings);
        }
        Formats::Any if bytes.len() > FrameFormat::Classic.max_len() => {
            let why = "classic frames have at most 8 bytes";
            return needs_format("`data` of more than 8 bytes", &written.span, why, findings);
        }
        Formats::Any => FrameFormat::Fd.max_len(),
        Formats::Only(format) => format.max_len(),
    };
    let mut refuse = |message: String, help: String| {
        findings.error(code::NOT_IN_FORMAT, &written.span, message, help);
        None
    };
    if bytes.is_empty() {
        let help = format!("write hex digits, or remove `data` from `{}`", operation.name());
        return refuse("`data` is empty".to_owned(), help);
    }
    if bytes.len() > room {
        let message = format!("{} bytes do not fit: these frames have at most {room}", bytes.len());
        return refuse(message, format!("write at most {} digits", 2 * room));
    }
    let identity = operation.identity();
    if identity.is_none() && bytes.len() < room {
        return refuse(
            format!("`set` needs all {room} data bytes, not {}", bytes.len()),
            format!("write all {room} bytes; to change only some, clear them with `and` and set them with `or`"),
        );
    }
    let mut data = [0; CANFD_MAX_DLEN];
    data[..room].fill(identity.unwrap_or(0));
    data[..bytes.len()].copy_from_slice(&bytes);
    Some(data)
}

fn needs_format<T>(what: &str, span: &Span, why: &str, findings: &mut Findings) -> Option<T> {
    let help = "add frames = \"classic\" or frames = \"fd\" to the route; for both, write two routes";
    findings.error(code::NEEDS_FORMAT, span, format!("{what} needs a frame format: {why}"), help);
    None
}
