//! Actions of a filter: `gact`, `mirred`, `police`, `skbedit`.
//!
//! # Kernel
//! A `police` limit in bytes needs a rate table, which the kernel looks for and does not read. Limits in frames exist since
//! Linux 5.13, and not together with one in bytes.
//!
//! # Source
//! Linux 6.1: [`tcf_action_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_api.c#L1455),
//! [`tcf_gact_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_gact.c#L52),
//! [`tcf_mirred_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_mirred.c#L91),
//! [`tcf_police_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_police.c#L38),
//! [`tcf_skbedit_init()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/act_skbedit.c#L115),
//! [`qdisc_get_rtab()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L417);
//! [`struct tc_gact`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_act/tc_gact.h#L8),
//! [`struct tc_mirred`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_act/tc_mirred.h#L13),
//! [`struct tc_police`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/pkt_cls.h#L148),
//! [`struct tc_skbedit`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/tc_act/tc_skbedit.h#L21).

use crate::action::{Action, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::discipline::ByteRate;
use crate::handle::Handle;
use crate::ticks;
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

use super::codec::{AttributeList, Fields, StructWriter, Unread, ensure_supported};
use super::error::EncodeError;
use super::message::InterfaceNames;
use super::stats::QdiscStats;
use super::{codec, stats};

pub(super) const TCA_ACT_KIND: u16 = 1;
pub(super) const TCA_ACT_OPTIONS: u16 = 2;
/// `TCA_GACT_PARMS`, `TCA_MIRRED_PARMS`, `TCA_SKBEDIT_PARMS`.
pub(super) const PARAMETERS: u16 = 2;
const TCA_SKBEDIT_PRIORITY: u16 = 3;
const TCA_SKBEDIT_MARK: u16 = 5;
const TCA_SKBEDIT_MASK: u16 = 8;
/// `TCA_ACT_MAX_PRIO`.
const MAX_ACTIONS: usize = 32;

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

pub(super) fn decode(list: &[u8], names: &InterfaceNames) -> Result<(Vec<Action>, Vec<QdiscStats>), DecodeError> {
    let mut found = (Vec::new(), Vec::new());
    for action in Attributes::new(list) {
        let [_, kind, options, _, counted] = codec::by_number(action?.value)?;
        let kind = codec::needed(kind, TCA_ACT_KIND)?.text();
        let kept = || Action::Other { kind: kind.clone(), options: codec::bytes_of(options) };
        found.0.push(codec::or_kept(known(&kind, options, names), kept)?);
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
            options = encode_police(limits)?;
            "police"
        }
        Action::Skbedit { priority, mark, mask, verdict } => {
            options.put(PARAMETERS, &general(*verdict).done())?;
            options.put_some(TCA_SKBEDIT_PRIORITY, priority.map(|priority| priority.0))?;
            options.put_some(TCA_SKBEDIT_MARK, *mark)?;
            options.put_some(TCA_SKBEDIT_MASK, *mask)?;
            "skbedit"
        }
    };
    let mut list = AttributeList::default();
    list.put_kind(TCA_ACT_KIND, kind)?;
    list.nest(TCA_ACT_OPTIONS, &options)?;
    Ok(list)
}

fn known(kind: &str, options: Option<Attribute<'_>>, names: &InterfaceNames) -> Result<Action, Unread> {
    let options = || codec::needed(options, TCA_ACT_OPTIONS).map(|options| options.value);
    match kind {
        "gact" => {
            let [_, _, parameters, chance] = codec::by_number(options()?)?;
            ensure_supported(chance.is_none())?;
            let mut fields = Fields::of(codec::needed(parameters, PARAMETERS)?);
            Ok(Action::Gact { verdict: read_general(&mut fields)? })
        }
        "mirred" => {
            let [_, _, parameters] = codec::by_number(options()?)?;
            let mut fields = Fields::of(codec::needed(parameters, PARAMETERS)?);
            let verdict = read_general(&mut fields)?;
            let how = codec::constant(fields.i32()?)?;
            Ok(Action::Mirred { interface: names.name(fields.u32()?), how, verdict })
        }
        "police" => decode_police(options()?).map(Action::Police),
        "skbedit" => {
            let [_, _, parameters, priority, queue, mark, _, kind, mask, flags] = codec::by_number(options()?)?;
            ensure_supported([queue, kind, flags].into_iter().all(|part| part.is_none()))?;
            let mut fields = Fields::of(codec::needed(parameters, PARAMETERS)?);
            let verdict = read_general(&mut fields)?;
            let priority = codec::u32_of(priority)?.map(Handle);
            Ok(Action::Skbedit { priority, mark: codec::u32_of(mark)?, mask: codec::u32_of(mask)?, verdict })
        }
        _ => Err(Unread::Unsupported),
    }
}

/// `tc_gen`: index, capabilities, verdict, references, bindings. Index 0 makes a new action.
fn general(verdict: Verdict) -> StructWriter {
    StructWriter::default().u32(0).u32(0).i32(verdict.number()).i32(0).i32(0)
}

fn read_general(fields: &mut Fields<'_>) -> Result<Verdict, Unread> {
    let (_index, _capabilities, number) = (fields.u32()?, fields.u32()?, fields.i32()?);
    let (_references, _bindings) = (fields.i32()?, fields.i32()?);
    codec::constant(number)
}

const TCA_POLICE_TBF: u16 = 1;
const TCA_POLICE_RATE: u16 = 2;
const TCA_POLICE_RESULT: u16 = 5;
const TCA_POLICE_RATE64: u16 = 8;
const TCA_POLICE_PKTRATE64: u16 = 10;
const TCA_POLICE_PKTBURST64: u16 = 11;
/// Default of `tc` for rate tables.
const DEFAULT_MTU_BYTES: u32 = 2047;
const TABLE_CELLS: u64 = 256;
/// Bytes of `struct tc_ratespec`.
const SPEC_BYTES: usize = 12;

pub(super) fn encode_police(police: &Police) -> Result<AttributeList, EncodeError> {
    if police.bytes.is_none() && police.frames.is_none() {
        return Err(EncodeError::NoLimit);
    }
    let cell_log = police.bytes.map_or(0, |bytes| cell_log(bytes.mtu_bytes));
    let spec = police.bytes.map_or_else(|| Ok(vec![0; SPEC_BYTES]), |bytes| codec::rate_spec(bytes.rate, cell_log))?;
    let burst = police.bytes.map_or(Ok(0), |bytes| codec::burst_ticks(bytes.burst_bytes, bytes.rate))?;
    let parameters = StructWriter::default()
        .u32(0)
        .i32(police.exceed.number())
        .u32(0)
        .u32(burst)
        .u32(police.bytes.map_or(0, |bytes| bytes.mtu_bytes))
        .bytes(&spec)
        .bytes(&[0; SPEC_BYTES])
        .i32(0)
        .i32(0)
        .u32(0);
    let mut list = AttributeList::default();
    list.put(TCA_POLICE_TBF, &parameters.done())?;
    if let Some(bytes) = police.bytes {
        list.put(TCA_POLICE_RATE, &table(bytes.rate, cell_log))?;
        codec::put_wide(&mut list, TCA_POLICE_RATE64, bytes.rate)?;
    }
    list.put(TCA_POLICE_RESULT, &police.conform.number().to_ne_bytes())?;
    if let Some(frames) = police.frames {
        let ticks = ticks::ticks(frames.burst_frames, frames.per_second);
        let ticks =
            ticks.ok_or(if frames.per_second == 0 { EncodeError::ZeroRate } else { EncodeError::BurstTooLong })?;
        list.put_u64(TCA_POLICE_PKTRATE64, frames.per_second)?;
        list.put_u64(TCA_POLICE_PKTBURST64, ticks)?;
    }
    Ok(list)
}

pub(super) fn decode_police(options: &[u8]) -> Result<Police, Unread> {
    let [_, parameters, _table, _, average, result, _, _, rate64, peak64, frame_rate, frame_burst] =
        codec::by_number(options)?;
    let mut fields = Fields::of(codec::needed(parameters, TCA_POLICE_TBF)?);
    let (_index, exceed, _limit) = (fields.u32()?, fields.i32()?, fields.u32()?);
    let (burst, mtu_bytes) = (fields.u32()?, fields.u32()?);
    let rate = codec::read_rate(&mut fields, rate64)?;
    let peak = codec::read_rate(&mut fields, peak64)?;
    ensure_supported(peak == ByteRate(0) && average.is_none())?;
    let bytes =
        (rate != ByteRate(0)).then(|| PoliceBytes { rate, burst_bytes: codec::burst_bytes(burst, rate), mtu_bytes });
    let frames = match (codec::u64_of(frame_rate)?, codec::u64_of(frame_burst)?) {
        (None | Some(0), _) => None,
        (Some(per_second), burst) => {
            Some(PoliceFrames { per_second, burst_frames: ticks::amount(burst.unwrap_or(0), per_second) })
        }
    };
    ensure_supported(bytes.is_some() || frames.is_some())?;
    let conform = result.map(|result| result.array().map(|number| i32::from_ne_bytes(*number))).transpose()?;
    let conform = conform.map_or(Ok(Verdict::Pass), codec::constant)?;
    Ok(Police { bytes, frames, exceed: codec::constant(exceed)?, conform })
}

/// The least that covers the longest frame; the kernel rejects 0.
fn cell_log(mtu_bytes: u32) -> u8 {
    let mtu = if mtu_bytes == 0 { DEFAULT_MTU_BYTES } else { mtu_bytes };
    (1..u8::MAX).find(|&log| u64::from(mtu) >> log < TABLE_CELLS).unwrap_or(u8::MAX)
}

fn table(rate: ByteRate, cell_log: u8) -> Vec<u8> {
    let ticks = |cell: u64| ticks::ticks((cell + 1) << cell_log, rate.0).and_then(|ticks| u32::try_from(ticks).ok());
    (0..TABLE_CELLS).flat_map(|cell| ticks(cell).unwrap_or(u32::MAX).to_ne_bytes()).collect()
}
