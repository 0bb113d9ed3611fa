//! Text for filters.

use candor_config::plan::Formats;
use candor_core::filter::{CAN_INV_FILTER, Filter, ReceiveList};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK, FrameFormat};

use super::number;

/// Classes of error message frames with their bits.
///
/// # Source
/// [`CAN_ERR_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L51) in Linux 6.1.
const ERROR_CLASSES: [(u32, &str); 10] = [
    (0x001, "transmit timeout"),
    (0x002, "lost arbitration"),
    (0x004, "controller problem"),
    (0x008, "protocol violation"),
    (0x010, "transceiver problem"),
    (0x020, "no acknowledgement"),
    (0x040, "bus off"),
    (0x080, "bus error"),
    (0x100, "controller restarted"),
    (0x200, "error counters"),
];

/// The prefix of "frames".
pub(super) const fn format_word(formats: Formats) -> &'static str {
    match formats {
        Formats::Any => "",
        Formats::Xl => "CAN XL ",
        Formats::Only(FrameFormat::Classic) => "classic ",
        Formats::Only(FrameFormat::Fd) => "CAN FD ",
    }
}

pub(crate) fn frames(filter: Filter, formats: Formats) -> String {
    let format = format_word(formats);
    let Filter { id, mask } = filter;
    if formats == Formats::Xl {
        return xl_frames(filter);
    }
    if filter.normalise().list == ReceiveList::Error {
        return errors(mask & CAN_EFF_MASK, format);
    }
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
    // The mask does not compare the format, but the identifier may be too large for 11 bits.
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

/// The first word of a CAN XL frame is its priority, and above that the virtual network.
fn xl_frames(Filter { id, mask }: Filter) -> String {
    let (priority, network) = (mask & CAN_SFF_MASK, mask >> 16 & 0xFF);
    let priority = match priority {
        0 => String::new(),
        bits => format!(" with {}", identifiers("priority ", id & bits, bits, CAN_SFF_MASK)),
    };
    let network =
        if network == 0 { String::new() } else { format!(" of the virtual network {:02X}", id >> 16 & network) };
    match (id & CAN_INV_FILTER != 0, priority.is_empty() && network.is_empty()) {
        (false, true) => "every CAN XL frame".to_owned(),
        (false, false) => format!("CAN XL frames{network}{priority}"),
        (true, true) => "no frame at all".to_owned(),
        (true, false) => format!("every CAN XL frame except those{network}{priority}"),
    }
}

fn errors(classes: u32, format: &str) -> String {
    let known = ERROR_CLASSES.iter().fold(0, |all, (class, _)| all | class);
    let names: Vec<_> = ERROR_CLASSES.iter().filter(|(class, _)| classes & class != 0).map(|(_, name)| *name).collect();
    match (classes, names.as_slice()) {
        (CAN_EFF_MASK, _) => format!("every {format}error message frame"),
        (0, _) => "no frame at all".to_owned(),
        (_, []) => format!("{format}error message frames of the classes {classes:X}"),
        _ => {
            let others = if classes & !known == 0 { "" } else { ", others" };
            format!("{format}error message frames: {}{others} ({classes:X})", names.join(", "))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_filters() {
        for line in include_str!("filter/words.txt").lines() {
            let (filter, words) = line.split_once(": ").unwrap();
            let file = format!(
                "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\n\
                 to = \"b\"\nmatch = \"{filter}\"\n"
            );
            let plan = candor_config::config::load(file.as_bytes()).unwrap().plan;
            let route = &plan.routes()[0];
            assert_eq!(frames(route.selections[0].filter, route.formats), words, "{filter}");
        }
    }
}
