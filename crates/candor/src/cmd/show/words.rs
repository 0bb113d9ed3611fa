//! What a route does, in words.

mod filter;

pub(crate) use filter::frames;

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, FrameFormat, RawId};
use candor_core::payload::PayloadPattern;
use candor_core::plan::{Bus, Echo, Formats, Incoming, Route, Selection, SendAs, Timestamp};
use candor_core::rule::{ChecksumSpan, Crc8Profile, Operand, Operation};

/// What a route does, as pairs of a key word and its meaning. `to` is the bus it leads to.
pub(super) fn route(route: &Route, to: &Bus) -> Vec<(&'static str, String)> {
    let mut lines: Vec<_> =
        route.selections.iter().map(|selection| ("takes", selected(selection, route.formats))).collect();
    lines.extend(carried(&route.payload).map(|payload| ("carrying", payload)));
    lines.extend(route.send_as.map(|send_as| ("format", converted(send_as))));
    let outgoing = route.send_as.map_or(route.formats, |send_as| Formats::Only(send_as.format()));
    for (operation, operand) in route.modifications.operands() {
        lines.extend(fields(operation, operand, outgoing).into_iter().map(|field| (operation.name(), field)));
    }
    if let Some(crc8) = &route.checksums.crc8 {
        let profile = match crc8.profile {
            Crc8Profile::None => String::new(),
            Crc8Profile::Byte(byte) => format!(" and the byte {byte:02X}"),
            Crc8Profile::ByteByCounter(_) => " and the byte that the counter in byte 1 selects".to_owned(),
            Crc8Profile::IdXor => " and the identifier".to_owned(),
        };
        lines.push((
            "computes",
            format!(
                "CRC8 of {}{profile}, from {:02X}, XORed with {:02X}, table {:02X} {:02X} {:02X} …, into {}",
                covered(crc8.span),
                crc8.init,
                crc8.final_xor,
                crc8.table[0],
                crc8.table[1],
                crc8.table[2],
                byte_at(crc8.span.result)
            ),
        ));
    }
    if let Some(xor) = &route.checksums.xor {
        let sum = format!("XOR of {}, from {:02X}, into {}", covered(xor.span), xor.init, byte_at(xor.span.result));
        lines.push(("computes", sum));
    }
    if route.echo == Echo::On {
        lines.push(("echo", format!("programs on {} see the frames too", to.interface)));
    }
    if let Some(hops) = route.hop_limit {
        let further = match hops {
            1 => "no further gateway of this machine forwards the frame".to_owned(),
            hops => format!("at most {} further gateways of this machine forward the frame", hops - 1),
        };
        lines.push(("hops", further));
    }
    if route.timestamp == Timestamp::Kept {
        lines.push(("time", "frames keep the time stamp of their arrival".to_owned()));
    }
    if route.incoming == Incoming::Allowed {
        lines.push(("back", "frames may leave through the interface by which they came".to_owned()));
    }
    if let Some(uid) = route.uid {
        lines.push(("uid", format!("can-gw knows the job as {uid:08X}")));
    }
    lines
}

fn selected(selection: &Selection, formats: Formats) -> String {
    let frames = frames(selection.filter, formats);
    match selection.id {
        Some(change) => format!("{frames}, which become {}", filter::moved(change)),
        None => frames,
    }
}

/// Payload patterns, as `candor.toml` has them where it can; a few of them, and how many more there are.
fn carried(patterns: &[PayloadPattern]) -> Option<String> {
    const MOST: usize = 8;
    let mut texts: Vec<_> = patterns.iter().take(MOST).map(pattern).collect();
    if patterns.len() > MOST {
        texts.push(format!("one of {} others", patterns.len() - MOST));
    }
    (!texts.is_empty()).then(|| texts.join(", or "))
}

fn pattern(pattern: &PayloadPattern) -> String {
    let bytes = pattern.mask.iter().zip(&pattern.value).take(pattern.bytes());
    let has_whole_digits = |mask: u8| [mask >> 4, mask & 0xF].iter().all(|&digit| digit == 0 || digit == 0xF);
    if bytes.clone().all(|(&mask, _)| has_whole_digits(mask)) {
        let digit = |mask: u8, value: u8| if mask & 0xF == 0 { "?".to_owned() } else { format!("{:X}", value & 0xF) };
        let byte = |(&mask, &value): (&u8, &u8)| digit(mask >> 4, value >> 4) + &digit(mask, value);
        return bytes.map(byte).collect::<Vec<_>>().join(" ");
    }
    let compared = bytes.enumerate().filter(|(_, (mask, _))| **mask != 0);
    let bits = compared.map(|(at, (mask, value))| match mask {
        0xFF => format!("byte {at} {value:02X}"),
        mask => format!("byte {at} {value:02X} in the bits {mask:02X}"),
    });
    bits.collect::<Vec<_>>().join(" and ")
}

fn converted(send_as: SendAs) -> String {
    match send_as {
        SendAs::Classic => "CAN FD frames leave as classic frames; longer ones than 8 bytes are deleted".to_owned(),
        SendAs::Fd { bit_rate_switch } => {
            let speed = if bit_rate_switch { ", with bit-rate switch" } else { "" };
            format!("classic frames leave as CAN FD frames{speed}; remote frames are deleted")
        }
    }
}

/// What an operation does to the bits of a field.
fn effect(operation: Operation, field: &str, bits: &str) -> String {
    match operation {
        Operation::And => format!("{field}: keeps the bits {bits} and clears the others"),
        Operation::Or => format!("{field}: raises the bits {bits}"),
        Operation::Xor => format!("{field}: flips the bits {bits}"),
        Operation::Set => format!("{field} becomes {bits}"),
    }
}

fn fields(operation: Operation, operand: &Operand, formats: Formats) -> Vec<String> {
    let mut fields = Vec::new();
    if let Some(id) = operand.id {
        fields.push(identifier(operation, id));
    }
    if let Some(len) = operand.len {
        let (field, bits) = match (formats, operation) {
            (Formats::Only(FrameFormat::Classic), _) => ("DLC", len.to_string()),
            (_, Operation::Set) => ("length", format!("{len} bytes")),
            _ => ("length", len.to_string()),
        };
        fields.push(effect(operation, field, &bits));
    }
    if let Some(flags) = operand.flags {
        fields.push(effect(operation, "CAN FD flags", &format!("{flags:02X}")));
    }
    if let Some(data) = &operand.data {
        let room = match formats {
            Formats::Only(format) => format.max_len(),
            Formats::Any => FrameFormat::Fd.max_len(),
        };
        fields.push(payload(operation, &data[..room]));
    }
    fields
}

fn identifier(operation: Operation, id: u32) -> String {
    let (bits, is_eff, is_rtr) = (id & CAN_EFF_MASK, id & CAN_EFF_FLAG != 0, id & CAN_RTR_FLAG != 0);
    let remote = match (operation, is_rtr) {
        (Operation::And, true) | (Operation::Or | Operation::Xor | Operation::Set, false) => "",
        (Operation::And, false) => "; remote frames become data frames",
        (Operation::Or, true) => "; data frames become remote frames",
        (Operation::Xor, true) => "; data frames become remote frames and the other way round",
        (Operation::Set, true) => ", in a remote frame",
    };
    let bits_text = filter::number(bits, if is_eff { CAN_EFF_MASK } else { bits });
    let format = match (operation, is_eff) {
        (Operation::And, true) => "",
        (Operation::And, false) => ", which makes it an 11-bit one",
        (Operation::Or, true) => ", which makes it a 29-bit one",
        (Operation::Xor, true) => ", and turns its format around",
        (Operation::Or | Operation::Xor, false) => "",
        (Operation::Set, true) => " (29 bits)",
        (Operation::Set, false) => " (11 bits)",
    };
    match operation {
        Operation::Set => {
            let all_bits = if is_eff { CAN_EFF_MASK } else { CAN_SFF_MASK };
            format!("identifier becomes {}{format}{remote}", filter::number(RawId(id).bits(), all_bits))
        }
        _ => format!("{}{format}{remote}", effect(operation, "identifier", &bits_text)),
    }
}

fn payload(operation: Operation, data: &[u8]) -> String {
    let touched = data.iter().rposition(|&byte| Some(byte) != operation.identity()).map_or(0, |last| last + 1);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ");
    match touched {
        0 => "changes nothing; can-gw computes checksums only beside a modification".to_owned(),
        touched if touched < data.len() => {
            format!("{}, further bytes stay as they are", effect(operation, "data", &hex(&data[..touched])))
        }
        _ => effect(operation, "data", &hex(data)),
    }
}

fn covered(span: ChecksumSpan) -> String {
    if span.from >= 0 && span.to >= 0 {
        return format!("bytes {} to {}", span.from, span.to);
    }
    format!("{} to {}", byte_at(span.from), byte_at(span.to))
}

fn byte_at(position: i8) -> String {
    match position {
        -1 => "the last byte".to_owned(),
        position if position < 0 => format!("byte {} from the end", position.unsigned_abs()),
        position => format!("byte {position}"),
    }
}
