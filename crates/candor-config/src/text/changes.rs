//! `and`, `or`, `xor`, `set` and the checksums.

use super::{Lines, hex, string};
use crate::crc8::table_of;
use crate::plan::Formats;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_SFF_MASK, FD_LENGTHS, FrameFormat};
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Profile, Modifications, Operand, Operation};

pub(super) fn modifications(modifications: &Modifications, formats: Formats) -> Lines {
    let written = modifications.operands().into_iter().filter(|(_, operand)| !operand.is_empty());
    written.map(|(operation, operand)| (operation.name(), self::operand(operation, operand, formats))).collect()
}

fn operand(operation: Operation, operand: &Operand, formats: Formats) -> String {
    let mut fields = Vec::new();
    fields.extend(operand.id.map(|id| match identifier(operation, id) {
        Some(text) => format!("id = \"{text}\""),
        None => format!("raw-id = \"{id:08X}\""),
    }));
    fields.extend(operand.len.map(|len| {
        let key = if is_length(operation, len, formats) { "len" } else { "raw-len" };
        format!("{key} = {len}")
    }));
    fields.extend(operand.flags.map(|flags| format!("flags = \"{flags:02X}\"")));
    fields.extend(operand.data.as_ref().map(|data| {
        let room = match formats {
            Formats::Any | Formats::Xl => FrameFormat::Fd.max_len(),
            Formats::Only(format) => format.max_len(),
        };
        // Bytes at the end without effect are added when the file is read.
        let changes = |byte: &u8| Some(*byte) != operation.identity();
        let bytes = data[..room].iter().rposition(changes).map_or(1, |last| last + 1);
        format!("data = \"{}\"", hex(&data[..bytes]))
    }));
    format!("{{ {} }}", fields.join(", "))
}

/// The identifier with 3 or 8 digits; `None` if only `raw-id` means the same.
pub(super) fn identifier(operation: Operation, id: u32) -> Option<String> {
    let is_extended = id & CAN_EFF_FLAG != 0;
    match operation {
        _ if id <= CAN_SFF_MASK => Some(format!("{id:03X}")),
        Operation::Xor if id <= CAN_EFF_MASK => Some(format!("{id:08X}")),
        Operation::And | Operation::Or | Operation::Set if is_extended && id & !CAN_EFF_FLAG <= CAN_EFF_MASK => {
            Some(format!("{:08X}", id & CAN_EFF_MASK))
        }
        _ if id <= CAN_EFF_MASK => None,
        Operation::And => Some(format!("{id:08X}")),
        _ if id & CAN_ERR_FLAG != 0 => None,
        Operation::Set if !is_extended && id & CAN_EFF_MASK > CAN_SFF_MASK => None,
        Operation::Or | Operation::Set | Operation::Xor => Some(format!("{id:08X}")),
    }
}

fn is_length(operation: Operation, len: u8, formats: Formats) -> bool {
    match (formats, operation) {
        // Routes for any format have no `len`.
        (Formats::Any | Formats::Xl, _) => false,
        (Formats::Only(FrameFormat::Classic), _) => len <= 15,
        (Formats::Only(FrameFormat::Fd), Operation::Set) => FD_LENGTHS.contains(&len),
        (Formats::Only(FrameFormat::Fd), _) => len <= 127,
    }
}

pub(super) fn checksums(checksums: &Checksums) -> Lines {
    let mut lines = Lines::new();
    lines.extend(checksums.crc8.as_ref().map(|crc8| {
        let mut fields = span(crc8.span);
        let polynomial = crc8.table[1];
        fields.push(match table_of(polynomial) == crc8.table {
            true => format!("polynomial = \"{polynomial:02X}\""),
            false => format!("table = \"{}\"", hex(&crc8.table)),
        });
        fields.extend((crc8.init != 0).then(|| format!("init = \"{:02X}\"", crc8.init)));
        fields.extend((crc8.final_xor != 0).then(|| format!("final-xor = \"{:02X}\"", crc8.final_xor)));
        fields.extend(match crc8.profile {
            Crc8Profile::None => None,
            Crc8Profile::Byte(byte) => Some(format!("profile = {{ byte = \"{byte:02X}\" }}")),
            Crc8Profile::ByteByCounter(bytes) => Some(format!("profile = {{ bytes = \"{}\" }}", hex(&bytes))),
            Crc8Profile::IdXor => Some("profile = { id-xor = true }".to_owned()),
        });
        ("checksum-crc8", format!("{{ {} }}", fields.join(", ")))
    }));
    lines.extend(checksums.xor.map(|xor| {
        let mut fields = span(xor.span);
        fields.extend((xor.init != 0).then(|| format!("init = {}", string(&hex(&[xor.init])))));
        ("checksum-xor", format!("{{ {} }}", fields.join(", ")))
    }));
    lines
}

fn span(span: ChecksumSpan) -> Vec<String> {
    let ChecksumSpan { from, to, result } = span;
    vec![format!("from = {from}"), format!("to = {to}"), format!("result = {result}")]
}
