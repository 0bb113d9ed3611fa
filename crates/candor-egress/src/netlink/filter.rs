//! Filters, and `basic`, `flow`, `fw`, `matchall`.
//!
//! # Source
//! `net/sched/cls_{basic,flow,fw,matchall}.c`; `include/uapi/linux/pkt_cls.h`.

use std::os::fd::BorrowedFd;

use crate::constants::Constant;
use crate::filter::{Classifier, Filter, Flow, FlowKey};
use crate::handle::Handle;

use super::body::{Body, SKIP_SW, common};
use super::constants::{TCA_KIND, TCA_OPTIONS};
use super::error::EncodeError;
use super::names::InterfaceNames;
use super::read::{self, Unread, speakable};
use super::stats::Hits;
use super::write::AttributeList;
use super::{ematch, u32_key};
use candor_netlink::codec::{Attribute, DecodeError};

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
        Classifier::ControlGroups(groups) => super::program::encode(filter, groups, names, program)?,
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
        Classifier::U32(node) => u32_key::encode(filter, node, names)?,
    };
    list.nest(TCA_OPTIONS, &options)
}

/// What the options of a filter of this kind say.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, DecodeError> {
    let kept = || {
        let options = options.map(|options| options.value.to_vec()).unwrap_or_default();
        Body::new(Classifier::Other { kind: kind.to_owned(), options })
    };
    read::or_kept(known(kind, options, names), kept)
}

fn known(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Body, Unread> {
    let options = options.map(|options| options.value);
    let needed = || options.ok_or(DecodeError::MissingAttribute { kind: TCA_OPTIONS });
    match kind {
        "basic" => {
            let [_, class, matches, actions, police, counted] = read::by_number(needed()?)?;
            speakable(police.is_none())?;
            let expression = matches.map_or(Ok(None), |matches| ematch::decode(matches.value))?;
            let mut body = Body::new(Classifier::Basic(expression)).with(class, actions, names)?;
            body.stats.hits = counted.map(Hits::tested_and_hit).transpose()?;
            Ok(body)
        }
        "bpf" => super::program::decode(needed()?, names),
        "flow" => decode_flow(needed()?, names),
        "fw" => {
            let [_, class, police, interface, actions, mask] = read::by_number(options.unwrap_or_default())?;
            speakable(police.is_none() && interface.is_none())?;
            Ok(Body::new(Classifier::Fw { mask: read::u32_of(mask)? }).with(class, actions, names)?)
        }
        "matchall" => {
            let [_, class, actions, flags, counted] = read::by_number(needed()?)?;
            speakable(read::u32_of(flags)?.unwrap_or(0) & SKIP_SW == 0)?;
            let mut body = Body::new(Classifier::Matchall).with(class, actions, names)?;
            body.stats.hits = counted.map(Hits::all_hit).transpose()?;
            Ok(body)
        }
        "u32" => u32_key::decode(needed()?, names),
        _ => Err(Unread::Unspoken),
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
        read::by_number(options)?;
    speakable([shift, addend, mask, xor, police].into_iter().all(|part| part.is_none()))?;
    speakable(matches.map_or(Ok(None), |matches| ematch::decode(matches.value))?.is_none())?;
    let keys = read::u32_of(keys)?.unwrap_or(0);
    let all = FlowKey::ALL.iter().fold(0, |all, (_, number, _)| all | 1_u32 << number);
    let mode = read::u32_of(mode)?.unwrap_or(FLOW_MODE_MAP);
    speakable(keys & !all == 0 && mode <= FLOW_MODE_HASH)?;
    let flow = Flow {
        keys: FlowKey::ALL.iter().filter(|(_, number, _)| keys & 1 << number != 0).map(|(key, ..)| *key).collect(),
        hashed: mode == FLOW_MODE_HASH,
        base: read::u32_of(base)?.map(Handle),
        divisor: read::u32_of(divisor)?,
        perturb_s: read::u32_of(perturb)?.unwrap_or(0),
    };
    Ok(Body::new(Classifier::Flow(flow)).with(None, actions, names)?)
}
