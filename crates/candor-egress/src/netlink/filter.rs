//! `TCA_OPTIONS` of a filter.
//!
//! A node of `u32` that is changed keeps its keys, whatever the new ones are: delete it and make it again.
//!
//! # Source
//! `net/sched/cls_{basic,bpf,flow,fw,matchall,u32}.c`; `include/uapi/linux/pkt_cls.h`.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::action::Action;
use crate::constants::Constant;
use crate::control_group::{self, ControlGroup};
use crate::filter::{Classifier, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use candor_io::bpf;
use candor_netlink::codec::{Attribute, DecodeError};

use super::codec::{AttributeList, Fields, StructWriter, Unread, ensure_supported};
use super::error::{EncodeError, ProgramError};
use super::message::{InterfaceNames, TCA_KIND, TCA_OPTIONS};
use super::stats::{FilterStats, Hits};
use super::{action, codec, ematch};

const TCA_BASIC_CLASSID: u16 = 1;
const TCA_BASIC_EMATCHES: u16 = 2;
const TCA_BASIC_ACT: u16 = 3;
const TCA_FLOW_KEYS: u16 = 1;
const TCA_FLOW_MODE: u16 = 2;
const TCA_FLOW_BASECLASS: u16 = 3;
const TCA_FLOW_DIVISOR: u16 = 8;
const TCA_FLOW_ACT: u16 = 9;
const TCA_FLOW_PERTURB: u16 = 12;
const TCA_FW_CLASSID: u16 = 1;
const TCA_FW_ACT: u16 = 4;
const TCA_FW_MASK: u16 = 5;
const TCA_MATCHALL_CLASSID: u16 = 1;
const TCA_MATCHALL_ACT: u16 = 2;
const FLOW_MODE_MAP: u32 = 0;
const FLOW_MODE_HASH: u32 = 1;
/// Writes `TCA_KIND` and, where there are any, `TCA_OPTIONS`.
///
/// A filter that is a program wants the descriptor of it, as long as which the program is there.
pub(super) fn encode(
    filter: &Filter,
    names: &InterfaceNames,
    program: Option<BorrowedFd<'_>>,
    list: &mut AttributeList,
) -> Result<(), EncodeError> {
    list.put_kind(TCA_KIND, filter.classifier.kind())?;
    let decides = filter.class.is_some() || !filter.actions.is_empty();
    let options = match &filter.classifier {
        Classifier::Basic(expression) => {
            let mut options = common(filter, names, Some(TCA_BASIC_CLASSID), TCA_BASIC_ACT)?;
            if let Some(expression) = expression {
                options.nest(TCA_BASIC_EMATCHES, &ematch::encode(expression)?)?;
            }
            options
        }
        Classifier::ControlGroups(groups) => encode_program(filter, groups, names, program)?,
        Classifier::Flow(flow) => {
            let mut options = common(filter, names, None, TCA_FLOW_ACT)?;
            put_flow(flow, &mut options)?;
            options
        }
        Classifier::Fw { mask: None } if !decides && filter.handle == 0 => return Err(EncodeError::OldFw),
        Classifier::Fw { mask } => {
            let mut options = common(filter, names, Some(TCA_FW_CLASSID), TCA_FW_ACT)?;
            options.put_some(TCA_FW_MASK, *mask)?;
            options
        }
        Classifier::Matchall => common(filter, names, Some(TCA_MATCHALL_CLASSID), TCA_MATCHALL_ACT)?,
        Classifier::Other { .. } if decides => return Err(EncodeError::OtherDecides),
        Classifier::Other { options, .. } if options.is_empty() => return Ok(()),
        Classifier::Other { options, .. } => return list.put(TCA_OPTIONS, options),
        Classifier::U32(node) => encode_u32(filter, node, names)?,
    };
    list.nest(TCA_OPTIONS, &options)
}

/// What the options of a filter of this kind say.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, DecodeError> {
    let kept = || {
        let options = options.map(|options| options.value.to_vec()).unwrap_or_default();
        Body::new(Classifier::Other { kind: kind.to_owned(), options })
    };
    codec::or_kept(known(kind, options, names), kept)
}

fn known(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, Unread> {
    let options = options.map(|options| options.value);
    let needed = || options.ok_or(DecodeError::MissingAttribute { kind: TCA_OPTIONS });
    match kind {
        "basic" => {
            let [_, class, matches, actions, police, counted] = codec::by_number(needed()?)?;
            ensure_supported(police.is_none())?;
            let expression = matches.map_or(Ok(None), |matches| ematch::decode(matches.value))?;
            let mut body = Body::new(Classifier::Basic(expression)).with(class, actions, names)?;
            body.stats.hits = counted.map(Hits::tested_and_hit).transpose()?;
            Ok(body)
        }
        "bpf" => decode_program(needed()?, names),
        "flow" => decode_flow(needed()?, names),
        "fw" => {
            let [_, class, police, interface, actions, mask] = codec::by_number(options.unwrap_or_default())?;
            ensure_supported(police.is_none() && interface.is_none())?;
            Ok(Body::new(Classifier::Fw { mask: codec::u32_of(mask)? }).with(class, actions, names)?)
        }
        "matchall" => {
            let [_, class, actions, flags, counted] = codec::by_number(needed()?)?;
            ensure_supported(codec::u32_of(flags)?.unwrap_or(0) & SKIP_SW == 0)?;
            let mut body = Body::new(Classifier::Matchall).with(class, actions, names)?;
            body.stats.hits = counted.map(Hits::all_hit).transpose()?;
            Ok(body)
        }
        "u32" => decode_u32(needed()?, names),
        _ => Err(Unread::Unsupported),
    }
}

fn put_flow(flow: &Flow, options: &mut AttributeList) -> Result<(), EncodeError> {
    let keys = flow.keys.iter().fold(0, |keys, key| keys | 1_u32 << key.number());
    if keys != 0 {
        options.put_u32(TCA_FLOW_KEYS, keys)?;
    }
    options.put_u32(TCA_FLOW_MODE, if flow.hashed { FLOW_MODE_HASH } else { FLOW_MODE_MAP })?;
    options.put_some(TCA_FLOW_BASECLASS, flow.base.map(|base| base.0))?;
    options.put_some(TCA_FLOW_DIVISOR, flow.divisor)?;
    options.put_some(TCA_FLOW_PERTURB, Some(flow.perturb_s).filter(|&seconds| seconds > 0))
}

/// Arithmetic with the keys, and matches beside them, have no word here.
fn decode_flow(options: &[u8], names: &InterfaceNames) -> Result<Body, Unread> {
    let [_, keys, mode, base, shift, addend, mask, xor, divisor, actions, police, matches, perturb] =
        codec::by_number(options)?;
    ensure_supported([shift, addend, mask, xor, police].into_iter().all(|part| part.is_none()))?;
    ensure_supported(matches.map_or(Ok(None), |matches| ematch::decode(matches.value))?.is_none())?;
    let keys = codec::u32_of(keys)?.unwrap_or(0);
    let all = FlowKey::ALL.iter().fold(0, |all, (_, number, _)| all | 1_u32 << number);
    let mode = codec::u32_of(mode)?.unwrap_or(FLOW_MODE_MAP);
    ensure_supported(keys & !all == 0 && mode <= FLOW_MODE_HASH)?;
    let flow = Flow {
        keys: FlowKey::ALL.iter().filter(|(_, number, _)| keys & 1 << number != 0).map(|(key, ..)| *key).collect(),
        hashed: mode == FLOW_MODE_HASH,
        base: codec::u32_of(base)?.map(Handle),
        divisor: codec::u32_of(divisor)?,
        perturb_s: codec::u32_of(perturb)?.unwrap_or(0),
    };
    Ok(Body::new(Classifier::Flow(flow)).with(None, actions, names)?)
}

/// `TCA_CLS_FLAGS_SKIP_SW`: only the hardware looks.
pub(super) const SKIP_SW: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) classifier: Classifier,
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
    pub(super) stats: FilterStats,
}

impl Body {
    pub(super) const fn new(classifier: Classifier) -> Self {
        Self { classifier, class: None, actions: Vec::new(), stats: FilterStats::new() }
    }

    pub(super) fn with(
        mut self,
        class: Option<Attribute<'_>>,
        actions: Option<Attribute<'_>>,
        names: &InterfaceNames,
    ) -> Result<Self, DecodeError> {
        self.class = codec::u32_of(class)?.map(Handle);
        if let Some(actions) = actions {
            (self.actions, self.stats.actions) = action::decode(actions.value, names)?;
        }
        Ok(self)
    }
}

/// Class and actions, under the numbers that this classifier has for them.
pub(super) fn common(
    filter: &Filter,
    names: &InterfaceNames,
    class: Option<u16>,
    actions: u16,
) -> Result<AttributeList, EncodeError> {
    let mut list = AttributeList::default();
    match (class, filter.class) {
        (Some(number), Some(class)) => list.put_u32(number, class.0)?,
        (None, Some(_)) => return Err(EncodeError::ClassOfFlow),
        (_, None) => {}
    }
    if !filter.actions.is_empty() {
        list.nest(actions, &action::encode(&filter.actions, names)?)?;
    }
    Ok(list)
}

const TCA_BPF_ACT: u16 = 1;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
/// `TCA_BPF_FLAG_ACT_DIRECT`: what the program returns is an action, and no class.
const ACT_DIRECT: u32 = 1;

/// Loads the program of a filter, if it has one. The filter keeps it; the descriptor is for asking.
pub(super) fn load_program(filter: &Filter) -> Result<Option<OwnedFd>, ProgramError> {
    let Classifier::ControlGroups(groups) = &filter.classifier else { return Ok(None) };
    Ok(Some(bpf::load_classifier(c"candor_cgroup", &control_group::program(groups))?))
}

/// The options. Without a program the kernel takes them for a mistake.
pub(super) fn encode_program(
    filter: &Filter,
    groups: &[ControlGroup],
    names: &InterfaceNames,
    program: Option<BorrowedFd<'_>>,
) -> Result<AttributeList, EncodeError> {
    let mut options = common(filter, names, Some(TCA_BPF_CLASSID), TCA_BPF_ACT)?;
    if let Some(program) = program {
        options.put_u32(TCA_BPF_FD, program.as_raw_fd().cast_unsigned())?;
    }
    let label = control_group::label(groups);
    options.put(TCA_BPF_NAME, &[label.as_bytes(), &[0]].concat())?;
    Ok(options)
}

/// What the name says; programs of others are kept as bytes.
pub(super) fn decode_program(options: &[u8], names: &InterfaceNames) -> Result<Body, Unread> {
    let [_, actions, police, class, _, classic, _, name, flags, hardware] = codec::by_number(options)?;
    let flag = |attribute, flag| Ok::<_, Unread>(codec::u32_of(attribute)?.unwrap_or(0) & flag != 0);
    ensure_supported(police.is_none() && classic.is_none())?;
    ensure_supported(!flag(flags, ACT_DIRECT)? && !flag(hardware, SKIP_SW)?)?;
    let name = name.map(|name| name.text()).unwrap_or_default();
    let groups = control_group::labelled(&name).ok_or(Unread::Unsupported)?;
    Ok(Body::new(Classifier::ControlGroups(groups)).with(class, actions, names)?)
}

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

pub(super) fn encode_u32(filter: &Filter, node: &U32, names: &InterfaceNames) -> Result<AttributeList, EncodeError> {
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
    let record = StructWriter::default().u8(if decides { TC_U32_TERMINAL } else { 0 }).u8(0).u8(count).u8(0);
    let record = record.u16(0).u16(0).i16(0).i16(offset).bytes(&mask.to_be_bytes());
    let with_key = |record: StructWriter, key: &U32Key| {
        record.bytes(&key.mask.to_be_bytes()).bytes(&key.value.to_be_bytes()).i32(key.offset).i32(0)
    };
    Ok(node.keys.iter().fold(record, with_key).done())
}

/// Offsets that are read from the frame, and marks beside the keys, have no word here.
pub(super) fn decode_u32(options: &[u8], names: &InterfaceNames) -> Result<Body, Unread> {
    let [_, class, table, link, divisor, selector, police, actions, interface, counted, mark, flags] =
        codec::by_number(options)?;
    ensure_supported([police, interface, mark].into_iter().all(|part| part.is_none()))?;
    ensure_supported(codec::u32_of(flags)?.unwrap_or(0) & SKIP_SW == 0)?;
    if let Some(slots) = codec::u32_of(divisor)? {
        return Ok(Body::new(Classifier::U32(U32 { divisor: Some(slots), ..U32::default() })));
    }
    let (keys, mask, offset, terminal) = read_selector(codec::needed(selector, TCA_U32_SEL)?)?;
    let link = codec::u32_of(link)?.map(|table| U32Link { table, mask, offset });
    ensure_supported(link.is_some() || (mask, offset) == (0, 0))?;
    let table = codec::u32_of(table)?.unwrap_or(0) & !NODE_BITS;
    let key_count = keys.len();
    let node = U32 { table, keys, divisor: None, link };
    let mut body = Body::new(Classifier::U32(node)).with(class, actions, names)?;
    ensure_supported(terminal == (body.class.is_some() || !body.actions.is_empty()))?;
    body.stats.hits = counted.map(|counted| Hits::of_keys(counted, key_count)).transpose()?;
    Ok(body)
}

type Selector = (Vec<U32Key>, u32, u16, bool);

fn read_selector(selector: Attribute<'_>) -> Result<Selector, Unread> {
    let mut fields = Fields::of(selector);
    let (flags, shift, count, _pad) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.u8()?);
    let (moving_mask, start, moving) = (fields.u16()?, fields.u16()?, fields.i16()?);
    let (offset, mask) = (fields.i16()?, u32::from_be_bytes(fields.take()?));
    ensure_supported(flags & !TC_U32_TERMINAL == 0 && shift == 0 && (moving_mask, start, moving) == (0, 0, 0))?;
    let mut keys = Vec::new();
    for _ in 0..count {
        let [mask, value] = [fields.take()?, fields.take()?].map(u32::from_be_bytes);
        let (offset, moving) = (fields.i32()?, fields.i32()?);
        ensure_supported(moving == 0)?;
        keys.push(U32Key { mask, value, offset });
    }
    let offset = u16::try_from(offset).map_err(|_before| Unread::Unsupported)?;
    Ok((keys, mask, offset, flags & TC_U32_TERMINAL != 0))
}
