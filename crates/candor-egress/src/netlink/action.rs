//! Actions: the list of a filter, and `gact`, `mirred`, `skbedit`.
//!
//! # Source
//! `tcf_action_init()`, `net/sched/act_api.c`; `net/sched/act_{gact,mirred,skbedit}.c`; `include/uapi/linux/tc_act/`.

use crate::action::{Action, Verdict};
use crate::constants::Constant;
use crate::handle::Handle;

use super::error::EncodeError;
use super::names::InterfaceNames;
use super::police;
use super::read::{self, Fields, Unread, speakable};
use super::stats::{self, QdiscStats};
use super::write::{AttributeList, Record};
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
/// `TCA_GACT_PARMS`, `TCA_MIRRED_PARMS`, `TCA_SKBEDIT_PARMS`.
const PARAMETERS: u16 = 2;
const TCA_SKBEDIT_PRIORITY: u16 = 3;
const TCA_SKBEDIT_MARK: u16 = 5;
/// `TCA_ACT_MAX_PRIO`.
const MAX_ACTIONS: usize = 32;

/// The actions of a filter, in the order in which they are done.
pub(super) fn encode(actions: &[Action], names: &InterfaceNames) -> Result<AttributeList, EncodeError> {
    if actions.len() > MAX_ACTIONS {
        return Err(EncodeError::TooManyActions { count: actions.len() });
    }
    let mut list = AttributeList::default();
    for (place, action) in (1..).zip(actions) {
        list.nest(place, &encode_one(action, names)?)?;
    }
    Ok(list)
}

/// The actions, and what each has counted.
pub(super) fn decode(list: &[u8], names: &InterfaceNames) -> Result<(Vec<Action>, Vec<QdiscStats>), DecodeError> {
    let mut found = (Vec::new(), Vec::new());
    for action in Attributes::new(list) {
        let [_, kind, options, _, counted] = read::by_number(action?.value)?;
        let kind = read::needed(kind, TCA_ACT_KIND)?.text();
        let kept = || Action::Other {
            kind: kind.clone(),
            options: options.map(|options| options.value.to_vec()).unwrap_or_default(),
        };
        found.0.push(read::or_kept(known(&kind, options, names), kept)?);
        found.1.push(counted.map(|counted| stats::queue(counted.value)).transpose()?.unwrap_or_default());
    }
    Ok(found)
}

fn encode_one(action: &Action, names: &InterfaceNames) -> Result<AttributeList, EncodeError> {
    let mut options = AttributeList::default();
    let kind = match action {
        Action::Gact { verdict } => {
            options.put(PARAMETERS, &general(*verdict).done())?;
            "gact"
        }
        Action::Mirred { interface, how, verdict } => {
            let index = names.index(interface).ok_or_else(|| EncodeError::NoInterface { name: interface.clone() })?;
            options.put(PARAMETERS, &general(*verdict).i32(how.number()).u32(index.number()).done())?;
            "mirred"
        }
        Action::Other { kind, options } => {
            let mut list = AttributeList::default();
            list.put_kind(TCA_ACT_KIND, kind)?;
            list.put(TCA_ACT_OPTIONS, options)?;
            return Ok(list);
        }
        Action::Police(limits) => {
            options = police::encode(limits)?;
            "police"
        }
        Action::Skbedit { priority, mark, verdict } => {
            options.put(PARAMETERS, &general(*verdict).done())?;
            options.put_some(TCA_SKBEDIT_PRIORITY, priority.map(|priority| priority.0))?;
            options.put_some(TCA_SKBEDIT_MARK, *mark)?;
            "skbedit"
        }
    };
    let mut list = AttributeList::default();
    list.put_kind(TCA_ACT_KIND, kind)?;
    list.nest(TCA_ACT_OPTIONS, &options)?;
    Ok(list)
}

fn known(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Action, Unread> {
    let options = || read::needed(options, TCA_ACT_OPTIONS).map(|options| options.value);
    match kind {
        "gact" => {
            let [_, _, parameters, chance] = read::by_number(options()?)?;
            speakable(chance.is_none())?;
            let mut fields = Fields::of(read::needed(parameters, PARAMETERS)?);
            Ok(Action::Gact { verdict: read_general(&mut fields)? })
        }
        "mirred" => {
            let [_, _, parameters] = read::by_number(options()?)?;
            let mut fields = Fields::of(read::needed(parameters, PARAMETERS)?);
            let verdict = read_general(&mut fields)?;
            let how = read::constant(fields.i32()?)?;
            Ok(Action::Mirred { interface: names.name(fields.u32()?), how, verdict })
        }
        "police" => police::decode(options()?).map(Action::Police),
        "skbedit" => {
            let [_, _, parameters, priority, queue, mark, _, kind, mask, flags] = read::by_number(options()?)?;
            speakable([queue, kind, mask, flags].into_iter().all(|part| part.is_none()))?;
            let mut fields = Fields::of(read::needed(parameters, PARAMETERS)?);
            let verdict = read_general(&mut fields)?;
            let priority = read::u32_of(priority)?.map(Handle);
            Ok(Action::Skbedit { priority, mark: read::u32_of(mark)?, verdict })
        }
        _ => Err(Unread::Unspoken),
    }
}

/// `tc_gen`: index, capabilities, verdict, references, bindings. Index 0 makes a new action.
fn general(verdict: Verdict) -> Record {
    Record::default().u32(0).u32(0).i32(verdict.number()).i32(0).i32(0)
}

fn read_general(fields: &mut Fields<'_>) -> Result<Verdict, Unread> {
    let (_index, _capabilities, number) = (fields.u32()?, fields.u32()?, fields.i32()?);
    let (_references, _bindings) = (fields.i32()?, fields.i32()?);
    read::constant(number)
}
