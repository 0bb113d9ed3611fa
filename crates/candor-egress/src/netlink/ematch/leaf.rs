//! The matches themselves.
//!
//! # Source
//! Linux 6.1: [`em_canid_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_canid.c#L120),
//! [`em_cmp_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_cmp.c#L21),
//! [`em_meta_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_meta.c#L906),
//! [`em_nbyte_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_nbyte.c#L22),
//! [`em_u32_match()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/em_u32.c#L17);
//! [`struct tcf_em_cmp`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_ematch/tc_em_cmp.h#L8),
//! [`struct tcf_meta_hdr`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_ematch/tc_em_meta.h#L88),
//! [`struct tcf_em_nbyte`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_ematch/tc_em_nbyte.h#L8).

use crate::constants::Constant;
use crate::ematch::{CanRule, Cmp, Ematch, Meta, MetaId, Relation};

use super::super::codec::{self, AttributeList, Fields, StructWriter, Unread, ensure_supported};
use super::super::error::EncodeError;
use candor_netlink::codec::Attribute;

pub(super) const TCF_EM_CONTAINER: u16 = 0;
const TCF_EM_CMP: u16 = 1;
const TCF_EM_NBYTE: u16 = 2;
const TCF_EM_U32: u16 = 3;
const TCF_EM_META: u16 = 4;
const TCF_EM_CANID: u16 = 7;
/// `EM_CAN_RULES_MAX`.
const MAX_RULES: usize = 500;
const MAX_NBYTE_BYTES: u16 = 0x0FFF;
/// `TCF_LAYER_LINK` and `TCF_LAYER_NETWORK`: of a CAN frame both begin where it does.
const LAYER_LINK: u8 = 0;
const LAYER_NETWORK: u8 = 1;
const TCF_EM_CMP_TRANS: u8 = 1;
const TCA_EM_META_HDR: u16 = 1;
const TCA_EM_META_LVALUE: u16 = 2;
const TCA_EM_META_RVALUE: u16 = 3;
const TCF_META_TYPE_INT: u16 = 1;
const TCF_META_ID_VALUE: u16 = 0;

pub(super) fn encode(leaf: &Ematch) -> Result<Option<(u16, Vec<u8>)>, EncodeError> {
    Ok(Some(match leaf {
        Ematch::And(_) | Ematch::Not(_) | Ematch::Or(_) => return Ok(None),
        Ematch::Canid(rules) if rules.is_empty() || rules.len() > MAX_RULES => {
            return Err(EncodeError::CanidRules { count: rules.len() });
        }
        Ematch::Canid(rules) => {
            (TCF_EM_CANID, rules.iter().flat_map(|rule| [rule.id, rule.mask]).flat_map(u32::to_ne_bytes).collect())
        }
        Ematch::Cmp(cmp) => (TCF_EM_CMP, encode_cmp(cmp)),
        Ematch::Meta(meta) => (TCF_EM_META, encode_meta(meta)?),
        Ematch::Nbyte { offset, bytes } => {
            let too_long = |_| EncodeError::NbyteLength { len: bytes.len() };
            let len = u16::try_from(bytes.len()).map_err(too_long)?;
            if len > MAX_NBYTE_BYTES {
                return Err(EncodeError::NbyteLength { len: bytes.len() });
            }
            (TCF_EM_NBYTE, StructWriter::default().u16(*offset).u16(len_field(len)).bytes(bytes).done())
        }
        Ematch::Other { kind: TCF_EM_CONTAINER, .. } => return Err(EncodeError::Kind { kind: "container".to_owned() }),
        Ematch::Other { kind, data } => (*kind, data.clone()),
        Ematch::U32 { mask, value, offset } => {
            let record = StructWriter::default().bytes(&mask.to_be_bytes()).bytes(&value.to_be_bytes());
            (TCF_EM_U32, record.i32(*offset).i32(0).done())
        }
    }))
}

pub(super) fn decode(kind: u16, data: &[u8]) -> Result<Ematch, Unread> {
    let attribute = Attribute { kind, value: data };
    let read = match kind {
        TCF_EM_CANID => decode_canid(data),
        TCF_EM_CMP => decode_cmp(attribute).map(Ematch::Cmp),
        TCF_EM_META => decode_meta(data).map(Ematch::Meta),
        TCF_EM_NBYTE => decode_nbyte(attribute),
        TCF_EM_U32 => decode_u32(attribute),
        _ => Err(Unread::Unsupported),
    };
    Ok(codec::or_kept(read, || Ematch::Other { kind, data: data.to_vec() })?)
}

fn decode_canid(data: &[u8]) -> Result<Ematch, Unread> {
    let (numbers, rest) = data.as_chunks::<4>();
    let (rules, odd) = numbers.as_chunks::<2>();
    ensure_supported(!rules.is_empty() && rules.len() <= MAX_RULES && rest.is_empty() && odd.is_empty())?;
    let rule = |[id, mask]: &[[u8; 4]; 2]| CanRule { id: u32::from_ne_bytes(*id), mask: u32::from_ne_bytes(*mask) };
    Ok(Ematch::Canid(rules.iter().map(rule).collect()))
}

/// `struct tcf_em_cmp`, whose last two bytes are two fields each.
fn encode_cmp(cmp: &Cmp) -> Vec<u8> {
    let flags = if cmp.host_order { TCF_EM_CMP_TRANS } else { 0 };
    let record = StructWriter::default().u32(cmp.value).u32(cmp.mask).u16(cmp.offset);
    record.u8(nibbles(byte(cmp.width), flags)).u8(nibbles(LAYER_LINK, byte(cmp.relation))).done()
}

fn decode_cmp(data: Attribute<'_>) -> Result<Cmp, Unread> {
    let mut fields = Fields::of(data);
    let (value, mask, offset) = (fields.u32()?, fields.u32()?, fields.u16()?);
    let (align, flags) = of_nibbles(fields.u8()?);
    let (layer, opnd) = of_nibbles(fields.u8()?);
    ensure_supported(layer <= LAYER_NETWORK && flags & !TCF_EM_CMP_TRANS == 0)?;
    let (width, relation) = (codec::constant(align)?, codec::constant(opnd)?);
    Ok(Cmp { width, offset, mask, host_order: flags & TCF_EM_CMP_TRANS != 0, relation, value })
}

fn decode_nbyte(data: Attribute<'_>) -> Result<Ematch, Unread> {
    let mut fields = Fields::of(data);
    let (offset, (len, layer)) = (fields.u16()?, of_len_field(fields.u16()?));
    ensure_supported(layer <= LAYER_NETWORK)?;
    let bytes = fields.rest().get(..usize::from(len)).ok_or(Unread::Unsupported)?;
    Ok(Ematch::Nbyte { offset, bytes: bytes.to_vec() })
}

/// `struct tc_u32_key`. Offsets after an IP header are not supported.
fn decode_u32(data: Attribute<'_>) -> Result<Ematch, Unread> {
    let mut fields = Fields::of(data);
    let [mask, value] = [fields.take()?, fields.take()?].map(u32::from_be_bytes);
    let (offset, moving) = (fields.i32()?, fields.i32()?);
    ensure_supported(moving == 0)?;
    Ok(Ematch::U32 { mask, value, offset })
}

/// `struct tcf_meta_hdr`, the mask and the value.
fn encode_meta(meta: &Meta) -> Result<Vec<u8>, EncodeError> {
    if meta.what == MetaId::Protocol && meta.relation != Relation::Equal {
        return Err(EncodeError::ProtocolOrder);
    }
    let kind = |id: u16| TCF_META_TYPE_INT << 12 | id;
    let left = StructWriter::default().u16(kind(byte(meta.what).into())).u8(0).u8(byte(meta.relation));
    let mut list = AttributeList::default();
    list.put(TCA_EM_META_HDR, &left.u16(kind(TCF_META_ID_VALUE)).u16(0).done())?;
    if meta.mask != 0 {
        list.put_u32(TCA_EM_META_LVALUE, as_kept(meta.what, meta.mask))?;
    }
    list.put_u32(TCA_EM_META_RVALUE, as_kept(meta.what, meta.value))?;
    Ok(list.into_bytes())
}

fn decode_meta(data: &[u8]) -> Result<Meta, Unread> {
    let [_, header, mask, value] = codec::by_number(data)?;
    let mut fields = Fields::of(codec::needed(header, TCA_EM_META_HDR)?);
    let (left, shift, opnd) = (fields.u16()?, fields.u8()?, fields.u8()?);
    let (right, right_shift, _opnd) = (fields.u16()?, fields.u8()?, fields.u8()?);
    ensure_supported(shift == 0 && right_shift == 0 && right == TCF_META_TYPE_INT << 12 | TCF_META_ID_VALUE)?;
    ensure_supported(left >> 12 == TCF_META_TYPE_INT)?;
    let (what, relation) = (codec::constant(left & 0x07FF)?, codec::constant(opnd)?);
    ensure_supported(what != MetaId::Protocol || relation == Relation::Equal)?;
    let number = |of: Option<Attribute<'_>>| of.map_or(Ok(0), long).map(|number| as_kept(what, number));
    Ok(Meta { what, mask: number(mask)?, relation, value: number(value)? })
}

/// tc writes a `long` of its own machine.
fn long(number: Attribute<'_>) -> Result<u32, Unread> {
    match number.value.first_chunk() {
        Some(long) => u32::try_from(u64::from_ne_bytes(*long)).map_err(|_too_long| Unread::Unsupported),
        None => Ok(number.u32()?),
    }
}

/// The protocol is big-endian in the kernel; the same way there and back.
fn as_kept(what: MetaId, number: u32) -> u32 {
    let [high, low] = [number & 0xFFFF_0000, number & 0xFFFF];
    match (what, u16::try_from(low)) {
        (MetaId::Protocol, Ok(low)) => high | u32::from(low.to_be()),
        _ => number,
    }
}

/// The number of an enumeration; all fit a byte.
fn byte(value: impl Constant) -> u8 {
    u8::try_from(value.number()).unwrap_or_default()
}

/// Two bit fields of C, which begin at the lower end on little-endian machines and at the upper on others.
const fn nibbles(first: u8, second: u8) -> u8 {
    if cfg!(target_endian = "little") { first | second << 4 } else { first << 4 | second }
}

const fn of_nibbles(byte: u8) -> (u8, u8) {
    if cfg!(target_endian = "little") { (byte & 0x0F, byte >> 4) } else { (byte >> 4, byte & 0x0F) }
}

/// The length of 12 bits and the layer of 4 in `struct tcf_em_nbyte`; the layer is the link.
const fn len_field(len: u16) -> u16 {
    if cfg!(target_endian = "little") { len } else { len << 4 }
}

fn of_len_field(field: u16) -> (u16, u8) {
    let (len, layer) =
        if cfg!(target_endian = "little") { (field & 0x0FFF, field >> 12) } else { (field >> 4, field & 15) };
    (len, layer.to_le_bytes()[0])
}
