//! The classifier `u32`: nodes with keys, and hash tables.
//!
//! # Kernel
//! A node that is changed keeps its keys, whatever the new ones are: delete it and make it anew.
//!
//! # Source
//! `u32_change()`, `u32_dump()`, `net/sched/cls_u32.c`; `struct tc_u32_sel`, `include/uapi/linux/pkt_cls.h`.

use crate::filter::{Classifier, Filter, U32, U32Key, U32Link};

use super::body::{Body, SKIP_SW, common};
use super::error::EncodeError;
use super::names::InterfaceNames;
use super::read::{self, Fields, Unread, speakable};
use super::stats::Hits;
use super::write::{AttributeList, Record};
use candor_netlink::codec::Attribute;

const TCA_U32_CLASSID: u16 = 1;
const TCA_U32_HASH: u16 = 2;
const TCA_U32_LINK: u16 = 3;
const TCA_U32_DIVISOR: u16 = 4;
const TCA_U32_SEL: u16 = 5;
const TCA_U32_ACT: u16 = 7;
/// The filter decides here, rather than only leading on.
const TC_U32_TERMINAL: u8 = 1;
/// Bits of a table's number that belong to a node.
const NODE_BITS: u32 = 0xFFF;

pub(super) fn encode(filter: &Filter, node: &U32, names: &InterfaceNames) -> Result<AttributeList, EncodeError> {
    if let Some(slots) = node.divisor {
        let decides = filter.class.is_some() || !filter.actions.is_empty();
        if decides || node.table != 0 || !node.keys.is_empty() || node.link.is_some() {
            return Err(EncodeError::TableDecides);
        }
        let mut list = AttributeList::default();
        list.put_u32(TCA_U32_DIVISOR, slots)?;
        return Ok(list);
    }
    if node.table & NODE_BITS != 0 {
        return Err(EncodeError::TableNumber { table: node.table });
    }
    let mut list = common(filter, names, Some(TCA_U32_CLASSID), TCA_U32_ACT)?;
    list.put_some(TCA_U32_HASH, Some(node.table).filter(|&table| table != 0))?;
    list.put_some(TCA_U32_LINK, node.link.map(|link| link.table))?;
    list.put(TCA_U32_SEL, &selector(filter, node)?)?;
    Ok(list)
}

/// `struct tc_u32_sel`.
fn selector(filter: &Filter, node: &U32) -> Result<Vec<u8>, EncodeError> {
    let decides = filter.class.is_some() || !filter.actions.is_empty();
    let too_many = |_| EncodeError::Keys { count: node.keys.len() };
    let count = u8::try_from(node.keys.len()).map_err(too_many)?;
    let (mask, offset) = node.link.map_or((0, 0), |link| (link.mask, link.offset));
    let offset = i16::try_from(offset).map_err(|_too_far| EncodeError::LinkOffset { offset })?;
    let record = Record::default().u8(if decides { TC_U32_TERMINAL } else { 0 }).u8(0).u8(count).u8(0);
    let record = record.u16(0).u16(0).i16(0).i16(offset).bytes(&mask.to_be_bytes());
    let with_key = |record: Record, key: &U32Key| {
        record.bytes(&key.mask.to_be_bytes()).bytes(&key.value.to_be_bytes()).i32(key.offset).i32(0)
    };
    Ok(node.keys.iter().fold(record, with_key).done())
}

/// Offsets that are read from the frame, and marks beside the keys, have no word here.
pub(super) fn decode(options: &[u8], names: &InterfaceNames) -> Result<Body, Unread> {
    let [_, class, table, link, divisor, selector, police, actions, interface, counted, mark, flags] =
        read::by_number(options)?;
    speakable([police, interface, mark].into_iter().all(|part| part.is_none()))?;
    speakable(read::u32_of(flags)?.unwrap_or(0) & SKIP_SW == 0)?;
    if let Some(slots) = read::u32_of(divisor)? {
        return Ok(Body::new(Classifier::U32(U32 { divisor: Some(slots), ..U32::default() })));
    }
    let (keys, mask, offset, terminal) = read_selector(read::needed(selector, TCA_U32_SEL)?)?;
    let link = read::u32_of(link)?.map(|table| U32Link { table, mask, offset });
    speakable(link.is_some() || (mask, offset) == (0, 0))?;
    let table = read::u32_of(table)?.unwrap_or(0) & !NODE_BITS;
    let key_count = keys.len();
    let node = U32 { table, keys, divisor: None, link };
    let mut body = Body::new(Classifier::U32(node)).with(class, actions, names)?;
    speakable(terminal == (body.class.is_some() || !body.actions.is_empty()))?;
    body.stats.hits = counted.map(|counted| Hits::of_keys(counted, key_count)).transpose()?;
    Ok(body)
}

type Selector = (Vec<U32Key>, u32, u16, bool);

fn read_selector(selector: Attribute<'_>) -> Result<Selector, Unread> {
    let mut fields = Fields::of(selector);
    let (flags, shift, count, _pad) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?);
    let (moving_mask, start, moving) = (fields.u16()?, fields.u16()?, fields.i16()?);
    let (offset, mask) = (fields.i16()?, u32::from_be_bytes(fields.take()?));
    speakable(flags & !TC_U32_TERMINAL == 0 && shift == 0 && (moving_mask, start, moving) == (0, 0, 0))?;
    let mut keys = Vec::new();
    for _ in 0..count {
        let [mask, value] = [fields.take()?, fields.take()?].map(u32::from_be_bytes);
        let (offset, moving) = (fields.i32()?, fields.i32()?);
        speakable(moving == 0)?;
        keys.push(U32Key { mask, value, offset });
    }
    let offset = u16::try_from(offset).map_err(|_before| Unread::Unspoken)?;
    Ok((keys, mask, offset, flags & TC_U32_TERMINAL != 0))
}
