//! Text for frames, steps, outcomes and reasons.

use candor_config::config::{ListKind, ListOf, Withheld};
use candor_config::explain::{Act, Changes, ChecksumKind, Deleted, Dropped, Reason};
use candor_config::plan::SendAs;
use candor_core::filter::{CAN_INV_FILTER, Filter, ReceiveList};
use candor_core::frame::{CAN_EFF_MASK, CAN_SFF_MASK, CANFD_BRS, CANFD_ESI, Frame, FrameFormat, RawId};

use candor_cli::gateway_file::plural;

/// Changed data bytes that are listed with their values; more are listed by position.
const MAX_BYTES_LISTED: usize = 4;

/// Kind of a frame, such as `classic data frame with an 11-bit identifier, 8 bytes of data`.
pub(super) fn frame(frame: &Frame) -> String {
    let length = format!("{} of data", plural(frame.payload().len(), "byte"));
    if frame.id.is_err() {
        return format!("error frame, {length}");
    }
    let bits = if frame.id.is_eff() { "29-bit" } else { "11-bit" };
    let dlc = match frame.raw_dlc() {
        dlc @ 9.. if frame.format == FrameFormat::Classic => format!(" (raw DLC {dlc})"),
        _ => String::new(),
    };
    match frame.format {
        FrameFormat::Classic if frame.id.is_rtr() => {
            format!("classic remote frame with {} {bits} identifier, length {}{dlc}", article(bits), frame.len)
        }
        FrameFormat::Classic => format!("classic data frame with {} {bits} identifier, {length}{dlc}", article(bits)),
        FrameFormat::Fd => format!(
            "CAN FD frame with {} {bits} identifier, {length}{}",
            article(bits),
            flag_names(frame.flags).iter().map(|name| format!(", {name}")).collect::<String>()
        ),
    }
}

pub(super) const fn act(act: Act) -> &'static str {
    match act {
        Act::Checksum(ChecksumKind::Crc8) | Act::ChecksumLeftOut(ChecksumKind::Crc8) => "crc8",
        Act::Checksum(ChecksumKind::Xor) | Act::ChecksumLeftOut(ChecksumKind::Xor) => "xor-sum",
        Act::Change => "change",
        Act::Check(_) | Act::Claimed | Act::Pace => "check",
        Act::Protect => "protect",
        Act::Convert(_) => "convert",
        Act::Mark => "mark",
        Act::Modify(operation) => operation.name(),
    }
}

pub(super) fn changes(act: Act, before: &Frame, after: &Frame, changed: Changes) -> Vec<String> {
    if let Act::ChecksumLeftOut(_) = act {
        return vec!["not computed: the frame is too short for its positions".to_owned()];
    }
    match act {
        Act::Check(Some(fault)) => return vec![format!("violates `{fault}`, which is counted")],
        Act::Check(None) if changed == Changes::default() => return vec!["passes".to_owned()],
        Act::Claimed => return vec!["passes, if nobody has claimed its source address on the other bus".to_owned()],
        Act::Pace => return vec!["limits over time: passes, if it does not come too soon".to_owned()],
        _ => {}
    }
    let mut texts = Vec::new();
    if changed.format {
        texts.push(format!("{} → {}", format_name(before.format), format_name(after.format)));
    }
    if changed.id {
        texts.push(identifier(before.id, after.id));
    }
    if changed.len {
        texts.push(format!("length {} → {}", length(before), length(after)));
    }
    if changed.flags && !changed.format {
        texts.push(format!("flags {} → {}", flags(before.flags), flags(after.flags)));
    }
    texts.extend(bytes(before, after, changed));
    let is_seen = changed.positions().any(|at| at < after.payload().len());
    if matches!(act, Act::Checksum(_)) && changed.bytes != 0 && !is_seen {
        texts.push("so no receiver sees it".to_owned());
    }
    if texts.is_empty() {
        texts.push("changes nothing".to_owned());
    }
    texts
}

/// A warning about a frame that is sent.
pub(super) fn oddity(frame: &Frame) -> Option<String> {
    let raw = frame.id.0;
    if frame.id.is_err() {
        return Some("it is marked as an error frame, which cannot be sent on a bus".to_owned());
    }
    if !frame.id.is_eff() && raw & CAN_EFF_MASK > CAN_SFF_MASK {
        return Some(format!(
            "can_id {raw:08X} has more than 11 bits, but lacks the flag 80000000 of 29-bit identifiers"
        ));
    }
    if frame.format == FrameFormat::Fd && frame.id.is_rtr() {
        return Some("CAN FD has no remote frames".to_owned());
    }
    let is_fd_len = matches!(frame.len, 0..=8 | 12 | 16 | 20 | 24 | 32 | 48 | 64);
    (frame.format == FrameFormat::Fd && !is_fd_len)
        .then(|| format!("no CAN FD frame has {} bytes; drivers send the next length", frame.len))
}

pub(super) fn dropped(why: Dropped, interface: &str) -> String {
    match why {
        Dropped::Down => format!("{interface} is down"),
        Dropped::Mtu { frame_bytes, mtu_bytes } => {
            format!("a frame of {frame_bytes} bytes is too large for {interface}, whose MTU is {mtu_bytes} bytes")
        }
    }
}

pub(super) fn deleted(why: Deleted) -> String {
    match why {
        Deleted::Hops { hops, max_hops } => {
            format!("it has made {}, and can-gw allows {max_hops} (max_hops)", plural(hops.into(), "hop"))
        }
        Deleted::Length { len, max } => format!("a length of {len} is invalid: the format has at most {max} bytes"),
        Deleted::NoForm(SendAs::Classic) => "a classic frame has at most 8 bytes".to_owned(),
        Deleted::NoForm(SendAs::Fd { .. }) => "CAN FD has no remote frames".to_owned(),
        Deleted::Refused(Act::Protect) => "`protect` does not fit its length".to_owned(),
        Deleted::Refused(Act::Check(Some(fault))) => format!("a check refuses it: `{fault}`"),
        Deleted::Refused(_) => "a check refuses it".to_owned(),
    }
}

pub(super) fn back_to_incoming(interface: &str) -> String {
    format!("it was received on {interface}, and the route does not send back")
}

/// The reason why a route does not match a frame. `filter` is the nearest of the route's `filters`.
pub(super) fn reason(reason: &Reason, filter: Filter, filters: usize) -> String {
    match *reason {
        Reason::ErrorClass { wanted, found } => {
            format!("its error classes are {found:08X}, the route matches any of {wanted:08X}")
        }
        Reason::ErrorFrame => "it is an error frame, which only routes with `errors` match".to_owned(),
        Reason::Xl => "the route is for CAN XL frames".to_owned(),
        Reason::Format(FrameFormat::Classic) => "it is a CAN FD frame, the route is for classic frames".to_owned(),
        Reason::Format(FrameFormat::Fd) => "it is a classic frame, the route is for CAN FD frames".to_owned(),
        Reason::HeldBack { .. } => {
            let Filter { id, mask } = filter;
            let held = Filter { id: id & !CAN_INV_FILTER, mask };
            format!("it is excluded by the inverted filter of the route ({held})")
        }
        Reason::IdFormat { is_eff: true } => "its identifier has 11 bits, the route matches 29 bits".to_owned(),
        Reason::IdFormat { is_eff: false } => "its identifier has 29 bits, the route matches 11 bits".to_owned(),
        Reason::Identifier { id, wanted, found, mask } => {
            let nearest = if filters > 1 { "the nearest match is" } else { "the route matches" };
            differing_bits(id, wanted, found, mask, nearest)
        }
        Reason::Length { len } => format!("its length of {len} is impossible"),
        Reason::NeverMatches => "an inverted filter with mask 0 matches no frame".to_owned(),
        Reason::OnlyErrorFrames => "the route is for error frames".to_owned(),
        Reason::PayloadByte { at, found, wanted, mask } => {
            format!("byte {at} is {found:02X}, the route matches {}", pattern(wanted, mask))
        }
        Reason::PayloadOfRemote => "a remote frame has no data, and the route matches data".to_owned(),
        Reason::PayloadTooShort { needs, carries } => {
            format!("it has {}, the route matches {needs}", plural(carries, "byte"))
        }
        Reason::Remote { is_rtr: true } => "it is a data frame, the route matches remote frames".to_owned(),
        Reason::Remote { is_rtr: false } => "it is a remote frame, the route matches data frames".to_owned(),
    }
}

/// The list that excludes a frame from a route.
pub(super) fn withheld(withheld: Withheld, from: &str) -> String {
    let whose = match withheld.by {
        ListOf::Bus => format!("`{}` of bus {from}", list_key(withheld.list)),
        ListOf::Route => format!("`{}` of the route", list_key(withheld.list)),
    };
    match withheld.list {
        ListKind::Allow => format!("{whose} does not contain its identifier"),
        ListKind::Deny => format!("{whose} contains its identifier"),
    }
}

const fn list_key(list: ListKind) -> &'static str {
    match list {
        ListKind::Allow => "allow",
        ListKind::Deny => "deny",
    }
}

pub(super) const fn withheld_code(withheld: Withheld) -> &'static str {
    match (withheld.by, withheld.list) {
        (ListOf::Bus, ListKind::Allow) => "bus-allow",
        (ListOf::Bus, ListKind::Deny) => "bus-deny",
        (ListOf::Route, ListKind::Allow) => "route-allow",
        (ListOf::Route, ListKind::Deny) => "route-deny",
    }
}

pub(super) const fn reason_code(reason: &Reason) -> &'static str {
    match reason {
        Reason::ErrorClass { .. } => "error-class",
        Reason::ErrorFrame => "error-frame",
        Reason::Format(_) | Reason::Xl => "format",
        Reason::HeldBack { .. } => "held-back",
        Reason::IdFormat { .. } => "id-format",
        Reason::Identifier { .. } => "identifier",
        Reason::Length { .. } => "length",
        Reason::NeverMatches => "never-matches",
        Reason::OnlyErrorFrames => "only-error-frames",
        Reason::PayloadByte { .. } => "payload-byte",
        Reason::PayloadOfRemote => "payload-of-remote",
        Reason::PayloadTooShort { .. } => "payload-too-short",
        Reason::Remote { .. } => "remote",
    }
}

/// The kernel's receive list, by its content.
pub(super) const fn list(list: ReceiveList) -> &'static str {
    match list {
        ReceiveList::Error => "error frames",
        ReceiveList::All => "all frames",
        ReceiveList::Masked => "filters with a mask",
        ReceiveList::Inverted => "inverted filters",
        ReceiveList::Exact => "single identifiers",
    }
}

/// `classic` or `CAN FD`.
const fn format_name(format: FrameFormat) -> &'static str {
    match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "CAN FD",
    }
}

fn article(bits: &str) -> &'static str {
    if bits.starts_with("11") { "an" } else { "a" }
}

/// An identifier; all 29 bits if it does not fit its format.
fn digits(id: RawId) -> String {
    let bits = id.0 & CAN_EFF_MASK;
    if id.is_eff() || bits > CAN_SFF_MASK { format!("{bits:08X}") } else { format!("{bits:03X}") }
}

fn identifier(before: RawId, after: RawId) -> String {
    let mut texts = Vec::new();
    if before.0 & CAN_EFF_MASK != after.0 & CAN_EFF_MASK || before.is_eff() != after.is_eff() {
        let bits = |id: RawId| if id.is_eff() { " (29 bits)" } else { " (11 bits)" };
        let [from, to] = if before.is_eff() == after.is_eff() { ["", ""] } else { [bits(before), bits(after)] };
        texts.push(format!("identifier {}{from} → {}{to}", digits(before), digits(after)));
    }
    if before.is_rtr() != after.is_rtr() {
        let kind = |id: RawId| if id.is_rtr() { "remote frame" } else { "data frame" };
        texts.push(format!("{} → {}", kind(before), kind(after)));
    }
    if before.is_err() != after.is_err() {
        texts.push(format!("error mark {} → {}", u8::from(before.is_err()), u8::from(after.is_err())));
    }
    texts.join(", ")
}

fn length(frame: &Frame) -> String {
    match frame.raw_dlc() {
        dlc if dlc != frame.len => format!("{} (raw DLC {dlc})", frame.len),
        _ => frame.len.to_string(),
    }
}

fn flags(flags: u8) -> String {
    let names = flag_names(flags);
    if names.is_empty() { format!("{flags:02X}") } else { format!("{flags:02X} ({})", names.join(", ")) }
}

fn flag_names(flags: u8) -> Vec<&'static str> {
    let names = [(CANFD_BRS, "bit-rate switch"), (CANFD_ESI, "error state")];
    names.into_iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| name).collect()
}

fn bytes(before: &Frame, after: &Frame, changed: Changes) -> Vec<String> {
    // Bytes that a longer frame adds are visible in the frame.
    let carried = before.payload().len().max(after.payload().len());
    let (seen, hidden): (Vec<_>, Vec<_>) = changed.positions().partition(|&at| at < carried);
    let mut texts: Vec<_> = if seen.len() > MAX_BYTES_LISTED {
        vec![format!("bytes {}", ranges(&seen))]
    } else {
        seen.iter().map(|&at| format!("byte {at}: {:02X} → {:02X}", before.data[at], after.data[at])).collect()
    };
    match hidden.as_slice() {
        [] => {}
        &[at] => {
            texts.push(format!("byte {at}, beyond the length: {:02X} → {:02X}", before.data[at], after.data[at]));
        }
        hidden => texts.push(format!("bytes {}, beyond the length", ranges(hidden))),
    }
    texts
}

/// `0 to 3, 5, 7`.
fn ranges(positions: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &at in positions {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => ranges.push((at, at)),
        }
    }
    let texts: Vec<_> = ranges
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") })
        .collect();
    texts.join(", ")
}

fn differing_bits(id: RawId, wanted: u32, found: u32, mask: u32, matches: &str) -> String {
    let (own, width) = (digits(id), if wanted | mask > CAN_SFF_MASK { 8 } else { 3 });
    let all_bits = if id.is_eff() { CAN_EFF_MASK } else { CAN_SFF_MASK };
    match all_bits & !mask {
        0 => format!("its identifier is {own}, {matches} {wanted:0width$X}"),
        free if (free + 1).is_power_of_two() => {
            format!("its identifier is {own}, {matches} {wanted:0width$X} to {:0width$X}", wanted | free)
        }
        _ => {
            format!("its identifier {own} is {found:0width$X} in the bits {mask:0width$X}, {matches} {wanted:0width$X}")
        }
    }
}

/// A byte with `?` for digits that are not compared; with a bit mask if digits are compared in part.
fn pattern(wanted: u8, mask: u8) -> String {
    let digit = |shift: u32| match mask >> shift & 0xF {
        0 => Some('?'),
        0xF => char::from_digit(u32::from(wanted >> shift & 0xF), 16).map(|digit| digit.to_ascii_uppercase()),
        _ => None,
    };
    match (digit(4), digit(0)) {
        (Some(high), Some(low)) => format!("{high}{low}"),
        _ => format!("{wanted:02X} in the bits {mask:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use candor_core::rule::Operation;

    use super::*;

    fn parsed(text: &str) -> Frame {
        text.parse().unwrap()
    }

    fn between(before: &str, after: &Frame) -> String {
        let before = parsed(before);
        let act = Act::Modify(Operation::Set);
        changes(act, &before, after, Changes::between(&before, after)).join(", ")
    }

    #[test]
    fn names_the_kind_of_a_frame() {
        for (text, words) in [
            ("123#11", "classic data frame with an 11-bit identifier, 1 byte of data"),
            ("00000123#", "classic data frame with a 29-bit identifier, 0 bytes of data"),
            ("123#R8_F", "classic remote frame with an 11-bit identifier, length 8 (raw DLC 15)"),
            ("123##31122", "CAN FD frame with an 11-bit identifier, 2 bytes of data, bit-rate switch, error state"),
            ("20000004#0000000000000000", "error frame, 8 bytes of data"),
        ] {
            assert_eq!(frame(&parsed(text)), words);
        }
    }

    #[test]
    fn changes_name_the_field() {
        for (before, after, words) in [
            ("123#11", "123#11", "changes nothing"),
            ("123#11", "124#11", "identifier 123 → 124"),
            ("123#11", "00000123#11", "identifier 123 (11 bits) → 00000123 (29 bits)"),
            ("123#R2", "123#0000", "remote frame → data frame"),
            ("123#1122334455667788", "123#1122334455667788_9", "length 8 → 8 (raw DLC 9)"),
            ("123#11", "123##111", "classic → CAN FD"),
            ("123##011", "123##111", "flags 04 → 05 (bit-rate switch)"),
            ("123#1122", "123#1133", "byte 1: 22 → 33"),
            ("123#112233445566", "123#FF22FFFFFFFF", "bytes 0, 2 to 5"),
        ] {
            assert_eq!(between(before, &parsed(after)), words, "{before} {after}");
        }
        let mut hidden = parsed("123#11");
        hidden.data[4] = 0xAA;
        assert_eq!(between("123#11", &hidden), "byte 4, beyond the length: 00 → AA");
        hidden.data[5] = 0xBB;
        assert_eq!(between("123#11", &hidden), "bytes 4 to 5, beyond the length");
    }

    #[test]
    fn frames_that_cannot_be_sent_are_reported() {
        assert_eq!(oddity(&parsed("123#11")), None);
        assert_eq!(oddity(&parsed("12345678##011")), None);
        let odd = |text: &str, id: u32, len: u8| oddity(&Frame { id: RawId(id), len, ..parsed(text) }).unwrap();
        assert!(odd("123#11", 0x800, 1).starts_with("can_id 00000800 has more than 11 bits"));
        assert!(odd("123##011", 0x123, 9).starts_with("no CAN FD frame has 9 bytes"));
        assert_eq!(odd("123##0", 0x4000_0123, 0), "CAN FD has no remote frames");
        assert!(odd("123#", 0x2000_0004, 8).contains("error frame"));
    }

    #[test]
    fn identifiers_and_bytes_are_written_as_in_files() {
        let differ =
            |id: u32, wanted: u32, mask: u32| differing_bits(RawId(id), wanted, id & mask, mask, "the route matches");
        assert_eq!(differ(0x124, 0x123, 0x7FF), "its identifier is 124, the route matches 123");
        assert_eq!(differ(0x524, 0x400, 0x700), "its identifier is 524, the route matches 400 to 4FF");
        assert_eq!(differ(0x524, 0x023, 0x0FF), "its identifier 524 is 024 in the bits 0FF, the route matches 023");
        assert_eq!(
            differ(0x98DA_01F2, 0x18DA_00F1, 0x1FFF_00FF),
            "its identifier 18DA01F2 is 18DA00F2 in the bits 1FFF00FF, the route matches 18DA00F1"
        );
        for (wanted, mask, words) in [(0x3A, 0xFF, "3A"), (0x30, 0xF0, "3?"), (0x81, 0x81, "81 in the bits 81")] {
            assert_eq!(pattern(wanted, mask), words);
        }
    }
}
