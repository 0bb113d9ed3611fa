//! Text for modifications and checksums.

use candor_config::plan::Formats;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, FrameFormat, RawId};
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Profile, Operand, Operation};

use super::{Lines, number};

pub(super) fn checksums(checksums: &Checksums) -> Lines {
    let mut lines = Lines::new();
    if let Some(crc8) = &checksums.crc8 {
        let profile = match crc8.profile {
            Crc8Profile::None => String::new(),
            Crc8Profile::Byte(byte) => format!(" and the byte {byte:02X}"),
            Crc8Profile::ByteByCounter(_) => " and the byte selected by the counter in byte 1".to_owned(),
            Crc8Profile::IdXor => " and the identifier".to_owned(),
        };
        lines.push((
            "checksum",
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
    if let Some(xor) = &checksums.xor {
        let sum = format!("XOR of {}, from {:02X}, into {}", covered(xor.span), xor.init, byte_at(xor.span.result));
        lines.push(("checksum", sum));
    }
    lines
}

fn effect(operation: Operation, field: &str, bits: &str) -> String {
    match operation {
        Operation::And => format!("{field}: keeps the bits {bits} and clears the others"),
        Operation::Or => format!("{field}: sets the bits {bits}"),
        Operation::Xor => format!("{field}: flips the bits {bits}"),
        Operation::Set => format!("{field} becomes {bits}"),
    }
}

pub(super) fn fields(operation: Operation, operand: &Operand, formats: Formats) -> Vec<String> {
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
            Formats::Any | Formats::Xl => FrameFormat::Fd.max_len(),
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
        (Operation::Xor, true) => "; data frames become remote frames and vice versa",
        (Operation::Set, true) => ", in a remote frame",
    };
    let bits_text = number(bits, if is_eff { CAN_EFF_MASK } else { bits });
    let format = match (operation, is_eff) {
        (Operation::And, true) => "",
        (Operation::And, false) => ", making it 11-bit",
        (Operation::Or, true) => ", making it 29-bit",
        (Operation::Xor, true) => ", and toggles its format",
        (Operation::Or | Operation::Xor, false) => "",
        (Operation::Set, true) => " (29 bits)",
        (Operation::Set, false) => " (11 bits)",
    };
    match operation {
        Operation::Set => {
            let all_bits = if is_eff { CAN_EFF_MASK } else { CAN_SFF_MASK };
            format!("identifier becomes {}{format}{remote}", number(RawId(id).bits(), all_bits))
        }
        _ => format!("{}{format}{remote}", effect(operation, "identifier", &bits_text)),
    }
}

fn payload(operation: Operation, data: &[u8]) -> String {
    let touched = data.iter().rposition(|&byte| Some(byte) != operation.identity()).map_or(0, |last| last + 1);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ");
    match touched {
        0 => "no change; required because can-gw computes checksums only with a modification".to_owned(),
        touched if touched < data.len() => {
            format!("{}, other bytes unchanged", effect(operation, "data", &hex(&data[..touched])))
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
