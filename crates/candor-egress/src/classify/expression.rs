//! Matches frames with expressions.

use super::walk::Packet;
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use candor_core::frame::{CAN_EFF_FLAG, CAN_SFF_MASK};

/// `None` if it is unknown.
pub(super) fn fits(expression: &Ematch, packet: &Packet<'_>) -> Option<bool> {
    let of = |terms: &[Ematch], decisive: bool| {
        let outcomes: Vec<_> = terms.iter().map(|term| fits(term, packet)).collect();
        match outcomes.contains(&Some(decisive)) {
            true => Some(decisive),
            false if outcomes.contains(&None) => None,
            false => Some(!decisive),
        }
    };
    match expression {
        Ematch::And(terms) => of(terms, false),
        Ematch::Canid(rules) => Some(canid(rules, packet)),
        Ematch::Cmp(cmp) => Some(self::cmp(*cmp, packet)),
        Ematch::Meta(meta) => Some(self::meta(*meta, packet)),
        Ematch::Nbyte { offset, bytes } => {
            let at = usize::from(*offset);
            Some(packet.bytes.get(at..at + bytes.len()) == Some(bytes))
        }
        Ematch::Not(inner) => fits(inner, packet).map(|fits| !fits),
        Ematch::Or(terms) => of(terms, true),
        Ematch::Other { .. } => None,
        // Bytes before the frame are undefined.
        Ematch::U32 { offset, .. } if *offset < 0 => None,
        Ematch::U32 { mask, value, offset } => {
            Some(word(packet.bytes, i64::from(*offset)).is_some_and(|word| (word ^ value) & mask == 0))
        }
    }
}

/// Four bytes of the frame, big-endian.
pub(super) fn word(bytes: &[u8], offset: i64) -> Option<u32> {
    let at = usize::try_from(offset).ok()?;
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(word.try_into().ok()?))
}

/// # Source
/// [`em_canid_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_canid.c#L93) in Linux 6.1: rules for 29 bits are
/// compared one after another, those for 11 bits in a table of 2048.
fn canid(rules: &[CanRule], packet: &Packet<'_>) -> bool {
    let Some(id) = packet.bytes.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes)) else { return false };
    let is_extended = id & CAN_EFF_FLAG != 0;
    rules.iter().filter(|rule| (rule.id & CAN_EFF_FLAG != 0) == is_extended).any(|rule| {
        let mask = if is_extended { rule.mask } else { rule.mask & CAN_SFF_MASK };
        (rule.id ^ id) & mask == 0
    })
}

fn cmp(Cmp { width, offset, mask, host_order, relation, value }: Cmp, packet: &Packet<'_>) -> bool {
    let at = usize::from(offset);
    let bytes = |count: usize| packet.bytes.get(at..at + count);
    let number = match width {
        CmpWidth::U8 => bytes(1).map(|bytes| u32::from(bytes[0])),
        CmpWidth::U16 => bytes(2)
            .and_then(|bytes| bytes.try_into().ok())
            .map(|bytes| u32::from(if host_order { u16::from_ne_bytes(bytes) } else { u16::from_be_bytes(bytes) })),
        CmpWidth::U32 => bytes(4)
            .and_then(|bytes| bytes.try_into().ok())
            .map(|bytes| if host_order { u32::from_ne_bytes(bytes) } else { u32::from_be_bytes(bytes) }),
    };
    number.is_some_and(|number| compared(number, mask, relation, value))
}

fn meta(Meta { what, mask, relation, value }: Meta, packet: &Packet<'_>) -> bool {
    let number = match what {
        MetaId::Mark => packet.mark,
        MetaId::PacketLength => u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX),
        MetaId::Priority => packet.priority,
        MetaId::Protocol => u32::from(packet.protocol),
    };
    compared(number, mask, relation, value)
}

fn compared(number: u32, mask: u32, relation: Relation, value: u32) -> bool {
    let number = if mask == 0 { number } else { number & mask };
    match relation {
        Relation::Equal => number == value,
        Relation::Greater => number > value,
        Relation::Less => number < value,
    }
}
