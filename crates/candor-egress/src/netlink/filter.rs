//! `TCA_OPTIONS` of a filter.
//!
//! Changing a node of `u32` does not change its keys: delete it and create it again.
//!
//! # Source
//! Linux 6.1: [`basic_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_basic.c#L170),
//! [`cls_bpf_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_bpf.c#L407),
//! [`flow_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_flow.c#L393),
//! [`fw_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_fw.c#L241),
//! [`mall_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_matchall.c#L160),
//! [`u32_change()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L884);
//! [`TCA_U32_…`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L223) and the attributes of the others.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::action::Action;
use crate::constants::Constant;
use crate::control_group;
use crate::filter::{Classifier, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use candor_io::bpf;
use candor_netlink::codec::{Attribute, DecodeError};

use super::codec::{AttributeList, Fields, StructWriter, Unread, ensure_supported};
use super::error::{EncodeError, ProgramError};
use super::message::{InterfaceNames, TCA_KIND, TCA_OPTIONS};
use super::stats::{FilterStats, Hits};
use super::{action, codec, ematch};

/// Numbers of the attributes that classifiers have in common.
struct Layout {
    kind: &'static str,
    /// 0 if the classifier computes the class.
    class: u16,
    actions: u16,
    /// Flags of offloading, or 0: a filter with [`SKIP_SW`] is not supported.
    flags: u16,
    /// Attribute of the counters, or 0 if the kind has none.
    counted: u16,
    /// Attributes that [`Classifier`] cannot express.
    unsupported: &'static [u16],
}

const LAYOUTS: &[Layout] = &[
    Layout { kind: "basic", class: 1, actions: 3, flags: 0, counted: 5, unsupported: &[4] },
    Layout { kind: "bpf", class: 3, actions: 1, flags: 9, counted: 0, unsupported: &[2, 5] },
    Layout { kind: "flow", class: 0, actions: 9, flags: 0, counted: 0, unsupported: &[4, 5, 6, 7, 10] },
    Layout { kind: "fw", class: 1, actions: 4, flags: 0, counted: 0, unsupported: &[2, 3] },
    Layout { kind: "matchall", class: 1, actions: 2, flags: 3, counted: 4, unsupported: &[] },
    Layout { kind: "u32", class: 1, actions: 7, flags: 11, counted: 9, unsupported: &[6, 8, 10] },
];
const ATTRIBUTES: usize = 13;

const TCA_BASIC_EMATCHES: u16 = 2;
pub(super) const TCA_BPF_FD: u16 = 6;
pub(super) const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_FLOW_KEYS: u16 = 1;
const TCA_FLOW_MODE: u16 = 2;
const TCA_FLOW_BASECLASS: u16 = 3;
const TCA_FLOW_DIVISOR: u16 = 8;
const TCA_FLOW_EMATCHES: u16 = 11;
const TCA_FLOW_PERTURB: u16 = 12;
const TCA_FW_MASK: u16 = 5;
const TCA_U32_HASH: u16 = 2;
const TCA_U32_LINK: u16 = 3;
const TCA_U32_DIVISOR: u16 = 4;
const TCA_U32_SEL: u16 = 5;
const FLOW_MODE_MAP: u32 = 0;
const FLOW_MODE_HASH: u32 = 1;
/// `TCA_CLS_FLAGS_SKIP_SW`: only the hardware runs it.
const SKIP_SW: u32 = 2;
/// `TCA_BPF_FLAG_ACT_DIRECT`: the program returns an action, and no class.
const ACT_DIRECT: u32 = 1;
/// The filter decides here, rather than only leading on.
const TC_U32_TERMINAL: u8 = 1;
/// Bits of a table's number that belong to a node.
const NODE_BITS: u32 = 0xFFF;

/// Options of a filter, and its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) classifier: Classifier,
    pub(super) class: Option<Handle>,
    pub(super) actions: Vec<Action>,
    pub(super) stats: FilterStats,
}

impl Body {
    pub(super) const fn new(classifier: Classifier) -> Self {
        Self { classifier, class: None, actions: Vec::new(), stats: FilterStats { hits: None, actions: Vec::new() } }
    }
}

/// Loads the program of a filter, if it has one. The filter keeps it; the descriptor is for the request.
pub(super) fn load_program(filter: &Filter) -> Result<Option<OwnedFd>, ProgramError> {
    let Classifier::ControlGroups(groups) = &filter.classifier else { return Ok(None) };
    Ok(Some(bpf::load_classifier(c"candor_cgroup", &control_group::program(groups))?))
}

/// Writes `TCA_KIND` and, if there are any, `TCA_OPTIONS`. Without the descriptor of its program the kernel rejects a filter
/// that is one.
pub(super) fn encode(
    filter: &Filter,
    names: &InterfaceNames,
    program: Option<BorrowedFd<'_>>,
    list: &mut AttributeList,
) -> Result<(), EncodeError> {
    let kind = filter.classifier.kind();
    list.put_kind(TCA_KIND, kind)?;
    let decides = filter.class.is_some() || !filter.actions.is_empty();
    if let Classifier::Other { options, .. } = &filter.classifier {
        return match options.as_slice() {
            _ if decides => Err(EncodeError::OtherDecides),
            [] => Ok(()),
            options => list.put(TCA_OPTIONS, options),
        };
    }
    let layout = LAYOUTS.iter().find(|layout| layout.kind == kind).expect("every classifier has a layout");
    let mut options = AttributeList::default();
    match (layout.class, filter.class) {
        (0, Some(_)) => return Err(EncodeError::ClassOfFlow),
        (number, Some(class)) => options.put_u32(number, class.0)?,
        (_, None) => {}
    }
    if !filter.actions.is_empty() {
        options.nest(layout.actions, &action::encode(&filter.actions, names)?)?;
    }
    match &filter.classifier {
        Classifier::Basic(Some(expression)) => options.nest(TCA_BASIC_EMATCHES, &ematch::encode(expression)?)?,
        Classifier::Basic(None) | Classifier::Matchall | Classifier::Other { .. } => {}
        Classifier::ControlGroups(groups) => {
            options.put_some(TCA_BPF_FD, program.map(|program| program.as_raw_fd().cast_unsigned()))?;
            options.put(TCA_BPF_NAME, &[control_group::label(groups).as_bytes(), &[0]].concat())?;
        }
        Classifier::Flow(flow) => put_flow(flow, &mut options)?,
        Classifier::Fw { mask: None } if !decides && filter.handle == 0 => return Err(EncodeError::OldFw),
        Classifier::Fw { mask } => options.put_some(TCA_FW_MASK, *mask)?,
        Classifier::U32(node) => put_u32(node, decides, &mut options)?,
    }
    list.nest(TCA_OPTIONS, &options)
}

/// Reads the options of a filter of this kind.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, DecodeError> {
    let kept = || Body::new(Classifier::Other { kind: kind.to_owned(), options: codec::bytes_of(options) });
    codec::or_kept(known(kind, options, names), kept)
}

fn known(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, Unread> {
    let layout = LAYOUTS.iter().find(|layout| layout.kind == kind).ok_or(Unread::Unsupported)?;
    let options = match options {
        Some(options) => options.value,
        None if kind == "fw" => &[],
        None => return Err(DecodeError::MissingAttribute { kind: TCA_OPTIONS }.into()),
    };
    let all: [_; ATTRIBUTES] = codec::by_number(options)?;
    let of = |number: u16| all[usize::from(number)].filter(|_| number > 0);
    ensure_supported(layout.unsupported.iter().all(|number| of(*number).is_none()))?;
    ensure_supported(codec::u32_of(of(layout.flags))?.unwrap_or(0) & SKIP_SW == 0)?;
    let mut body = Body::new(match kind {
        "basic" => Classifier::Basic(of(TCA_BASIC_EMATCHES).map_or(Ok(None), |found| ematch::decode(found.value))?),
        "bpf" => {
            ensure_supported(codec::u32_of(of(TCA_BPF_FLAGS))?.unwrap_or(0) & ACT_DIRECT == 0)?;
            let name = of(TCA_BPF_NAME).map(|name| name.text()).unwrap_or_default();
            Classifier::ControlGroups(control_group::labelled(&name).ok_or(Unread::Unsupported)?)
        }
        "flow" => Classifier::Flow(flow(of)?),
        "fw" => Classifier::Fw { mask: codec::u32_of(of(TCA_FW_MASK))? },
        "matchall" => Classifier::Matchall,
        _ => match codec::u32_of(of(TCA_U32_DIVISOR))? {
            None => Classifier::U32(node(of)?),
            slots => return Ok(Body::new(Classifier::U32(U32 { divisor: slots, ..U32::default() }))),
        },
    });
    body.class = codec::u32_of(of(layout.class))?.map(Handle);
    if let Some(actions) = of(layout.actions) {
        (body.actions, body.stats.actions) = action::decode(actions.value, names)?;
    }
    let mut keys = 0;
    if let (Classifier::U32(node), Some(selector)) = (&body.classifier, of(TCA_U32_SEL)) {
        let is_terminal = Fields::of(selector).u8()? & TC_U32_TERMINAL != 0;
        ensure_supported(is_terminal == (body.class.is_some() || !body.actions.is_empty()))?;
        keys = node.keys.len();
    }
    body.stats.hits = of(layout.counted).map(|counted| Hits::read(counted, kind, keys)).transpose()?;
    Ok(body)
}

fn put_flow(flow: &Flow, options: &mut AttributeList) -> Result<(), EncodeError> {
    let keys = flow.keys.iter().fold(0, |keys, key| keys | 1_u32 << key.number());
    options.put_some(TCA_FLOW_KEYS, Some(keys).filter(|&keys| keys != 0))?;
    options.put_u32(TCA_FLOW_MODE, if flow.hashed { FLOW_MODE_HASH } else { FLOW_MODE_MAP })?;
    options.put_some(TCA_FLOW_BASECLASS, flow.base.map(|base| base.0))?;
    options.put_some(TCA_FLOW_DIVISOR, flow.divisor)?;
    options.put_some(TCA_FLOW_PERTURB, Some(flow.perturb_s).filter(|&seconds| seconds > 0))
}

/// Arithmetic with the keys, and matches, are not supported.
fn flow<'a>(of: impl Fn(u16) -> Option<Attribute<'a>>) -> Result<Flow, Unread> {
    let matches = of(TCA_FLOW_EMATCHES).map_or(Ok(None), |matches| ematch::decode(matches.value))?;
    let keys = codec::u32_of(of(TCA_FLOW_KEYS))?.unwrap_or(0);
    let all = FlowKey::ALL.iter().fold(0, |all, (_, number, _)| all | 1_u32 << number);
    let mode = codec::u32_of(of(TCA_FLOW_MODE))?.unwrap_or(FLOW_MODE_MAP);
    ensure_supported(matches.is_none() && keys & !all == 0 && mode <= FLOW_MODE_HASH)?;
    Ok(Flow {
        keys: FlowKey::ALL.iter().filter(|(_, number, _)| keys & 1 << number != 0).map(|(key, ..)| *key).collect(),
        hashed: mode == FLOW_MODE_HASH,
        base: codec::u32_of(of(TCA_FLOW_BASECLASS))?.map(Handle),
        divisor: codec::u32_of(of(TCA_FLOW_DIVISOR))?,
        perturb_s: codec::u32_of(of(TCA_FLOW_PERTURB))?.unwrap_or(0),
    })
}

fn put_u32(node: &U32, decides: bool, options: &mut AttributeList) -> Result<(), EncodeError> {
    if let Some(slots) = node.divisor {
        if decides || node.table != 0 || !node.keys.is_empty() || node.link.is_some() {
            return Err(EncodeError::TableDecides);
        }
        return options.put_u32(TCA_U32_DIVISOR, slots);
    }
    if node.table & NODE_BITS != 0 {
        return Err(EncodeError::TableNumber { table: node.table });
    }
    options.put_some(TCA_U32_HASH, Some(node.table).filter(|&table| table != 0))?;
    options.put_some(TCA_U32_LINK, node.link.map(|link| link.table))?;
    options.put(TCA_U32_SEL, &selector(node, decides)?)
}

/// `struct tc_u32_sel`.
fn selector(node: &U32, decides: bool) -> Result<Vec<u8>, EncodeError> {
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

/// Offsets that are read from the frame, and marks next to the keys, are not supported.
fn node<'a>(of: impl Fn(u16) -> Option<Attribute<'a>>) -> Result<U32, Unread> {
    let mut fields = Fields::of(codec::needed(of(TCA_U32_SEL), TCA_U32_SEL)?);
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
    let link = codec::u32_of(of(TCA_U32_LINK))?.map(|table| U32Link { table, mask, offset });
    ensure_supported(link.is_some() || (mask, offset) == (0, 0))?;
    let table = codec::u32_of(of(TCA_U32_HASH))?.unwrap_or(0) & !NODE_BITS;
    Ok(U32 { table, keys, divisor: None, link })
}
