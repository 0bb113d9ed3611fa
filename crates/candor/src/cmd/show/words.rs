//! Filters, modifications and checksums in words.

use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, FrameFormat, RawId};
use candor_core::plan::{Bus, Echo, Formats, Route, Timestamp};
use candor_core::rule::{ChecksumSpan, Crc8Profile, Operand, Operation};

/// What a route does, as pairs of a key word and its meaning. `to` is the bus it leads to.
pub(super) fn route(route: &Route, to: &Bus) -> Vec<(&'static str, String)> {
    let mut lines: Vec<_> =
        route.selections.iter().map(|selection| ("takes", frames(selection.filter, route.formats))).collect();
    for (operation, operand) in route.modifications.operands() {
        lines.extend(fields(operation, operand, route.formats).into_iter().map(|field| (operation.name(), field)));
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
    lines
}

/// Which frames a filter takes.
pub(crate) fn frames(filter: Filter, formats: Formats) -> String {
    let format = match formats {
        Formats::Any => "",
        Formats::Only(FrameFormat::Classic) => "classic ",
        Formats::Only(FrameFormat::Fd) => "CAN FD ",
    };
    let Filter { id, mask } = filter;
    let (flags, bits) = (id & mask, mask & CAN_EFF_MASK);
    let kind = if mask & CAN_RTR_FLAG == 0 {
        ""
    } else if flags & CAN_RTR_FLAG == 0 {
        "data "
    } else {
        "remote "
    };
    let is_inverted = id & CAN_INV_FILTER != 0;
    let width = if mask & CAN_EFF_FLAG == 0 {
        ""
    } else if flags & CAN_EFF_FLAG == 0 {
        "11-bit "
    } else {
        "29-bit "
    };
    let identifier = match (width.is_empty(), bits) {
        (true, 0) => String::new(),
        (true, CAN_SFF_MASK) => format!(" whose identifier ends in the 11 bits {}", number(id & bits, bits)),
        (true, bits) => format!(" whose identifier is {} in the bits {}", number(id & bits, bits), number(bits, bits)),
        (false, bits) => {
            let all_bits = if flags & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_MASK };
            format!(" with {}", identifiers(width, id & bits & all_bits, bits & all_bits, all_bits))
        }
    };
    // Where the mask does not compare the format, the identifier may still be too large for one.
    let both = match (width.is_empty() && bits != 0, id & bits > CAN_SFF_MASK) {
        (false, _) => "",
        (true, false) => "11-bit and 29-bit ",
        (true, true) => "29-bit ",
    };
    match (is_inverted, mask) {
        (false, 0) => format!("every {format}frame"),
        (true, 0) => "no frame at all".to_owned(),
        (false, _) => format!("{format}{both}{kind}frames{identifier}"),
        (true, _) => format!("every {format}frame except {both}{kind}frames{identifier}"),
    }
}

/// The identifiers of one format that are `id` in the compared `bits`.
fn identifiers(width: &str, id: u32, bits: u32, all_bits: u32) -> String {
    let article = if width.starts_with("11") { "an" } else { "a" };
    let free = all_bits & !bits;
    if free == 0 {
        return format!("the {width}identifier {}", number(id, all_bits));
    }
    if free == all_bits {
        return format!("{article} {width}identifier");
    }
    if (free + 1).is_power_of_two() {
        return format!("the {width}identifiers {} to {}", number(id, all_bits), number(id | free, all_bits));
    }
    let digits = number(id, all_bits);
    let nibbles: Vec<_> = (0..digits.len()).rev().map(|nibble| free >> (4 * nibble) & 0xF).collect();
    if nibbles.iter().all(|&free| free == 0 || free == 0xF) {
        let pattern: String =
            digits.chars().zip(nibbles).map(|(digit, free)| if free == 0 { digit } else { '?' }).collect();
        return format!("the {width}identifiers {pattern}");
    }
    format!("{article} {width}identifier that is {digits} in the bits {}", number(bits, all_bits))
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
    let bits_text = number(bits, if is_eff { CAN_EFF_MASK } else { bits });
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
            format!("identifier becomes {}{format}{remote}", number(RawId(id).bits(), all_bits))
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

/// Three digits where 11 bits are enough, otherwise eight.
fn number(value: u32, widest: u32) -> String {
    if widest <= CAN_SFF_MASK { format!("{value:03X}") } else { format!("{value:08X}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_in_words() {
        for (filter, words) in [
            ("0:0", "every frame"),
            ("0~0", "no frame at all"),
            ("123", "data frames with the 11-bit identifier 123"),
            ("400:C0000700", "data frames with the 11-bit identifiers 400 to 4FF"),
            ("123~C00007FF", "every frame except data frames with the 11-bit identifier 123"),
            ("123:7FF", "11-bit and 29-bit frames whose identifier ends in the 11 bits 123"),
            ("123~7FF", "every frame except 11-bit and 29-bit frames whose identifier ends in the 11 bits 123"),
            ("120~7F0", "every frame except 11-bit and 29-bit frames whose identifier is 120 in the bits 7F0"),
            ("123:400007FF", "11-bit and 29-bit data frames whose identifier ends in the 11 bits 123"),
            ("18FEF100:1FFFFF00", "29-bit frames whose identifier is 18FEF100 in the bits 1FFFFF00"),
            ("00000000~80000000", "every frame except frames with a 29-bit identifier"),
        ] {
            let file = format!(
                "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\n\
                 to = \"b\"\nmatch = \"{filter}\"\n"
            );
            let plan = candor_core::config::load(file.as_bytes()).unwrap().plan;
            let route = &plan.routes()[0];
            assert_eq!(frames(route.selections[0].filter, route.formats), words, "{filter}");
        }
    }
}
