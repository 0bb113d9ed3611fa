//! `TCA_OPTIONS` of a class: `htb`, `drr`.
//!
//! # Source
//! Linux 6.1: [`htb_change_class()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_htb.c#L1753),
//! [`htb_dump_class()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_htb.c#L1239),
//! [`drr_change_class()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_drr.c#L59).

use crate::tree::{HtbClass, Share};

use super::codec::{self, AttributeList, Fields, StructWriter, Unread};
use super::error::EncodeError;
use super::message::{TCA_KIND, TCA_OPTIONS};
use candor_netlink::codec::{Attribute, DecodeError};

const TCA_DRR_QUANTUM: u16 = 1;
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_RATE64: u16 = 6;
const TCA_HTB_CEIL64: u16 = 7;

/// Writes `TCA_KIND` and `TCA_OPTIONS`.
pub(super) fn encode(share: &Share, list: &mut AttributeList) -> Result<(), EncodeError> {
    list.put_kind(TCA_KIND, share.kind())?;
    match share {
        Share::Drr { quantum_bytes } => {
            // The kernel needs options, even empty ones.
            let mut options = AttributeList::default();
            options.put_some(TCA_DRR_QUANTUM, *quantum_bytes)?;
            list.nest(TCA_OPTIONS, &options)
        }
        Share::Htb(class) => list.nest(TCA_OPTIONS, &encode_htb(class)?),
        Share::Other { options, .. } if options.is_empty() => Ok(()),
        Share::Other { options, .. } => list.put(TCA_OPTIONS, options),
    }
}

/// The share of a class of a discipline of this kind.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>) -> Result<Share, DecodeError> {
    let kept = || Share::Other { kind: kind.to_owned(), options: codec::bytes_of(options) };
    codec::or_kept(known(kind, options), kept)
}

/// True if classes of this kind are created one by one, rather than by their discipline.
pub(super) fn is_made(kind: &str) -> bool {
    matches!(kind, "cbq" | "drr" | "hfsc" | "htb" | "qfq")
}

fn known(kind: &str, options: Option<Attribute<'_>>) -> Result<Share, Unread> {
    let needed = || codec::needed(options, TCA_OPTIONS);
    match kind {
        "drr" => {
            let [_, quantum] = codec::by_number(needed()?.value)?;
            Ok(Share::Drr { quantum_bytes: codec::u32_of(quantum)? })
        }
        "htb" => decode_htb(needed()?).map(Share::Htb),
        _ => Err(Unread::Unsupported),
    }
}

/// `struct tc_htb_opt`.
fn encode_htb(class: &HtbClass) -> Result<AttributeList, EncodeError> {
    let parameters = StructWriter::default()
        .bytes(&codec::rate_spec(class.rate, 0)?)
        .bytes(&codec::rate_spec(class.ceil, 0)?)
        .u32(codec::burst_ticks(class.burst_bytes, class.rate)?)
        .u32(codec::burst_ticks(class.ceil_burst_bytes, class.ceil)?)
        .u32(class.quantum_bytes.unwrap_or(0))
        .u32(0)
        .u32(class.prio);
    let mut list = AttributeList::default();
    list.put(TCA_HTB_PARMS, &parameters.done())?;
    codec::put_wide(&mut list, TCA_HTB_RATE64, class.rate)?;
    codec::put_wide(&mut list, TCA_HTB_CEIL64, class.ceil)?;
    Ok(list)
}

fn decode_htb(options: Attribute<'_>) -> Result<HtbClass, Unread> {
    let [_, parameters, _, _, _, _, rate64, ceil64] = codec::by_number(options.value)?;
    let mut fields = Fields::of(codec::needed(parameters, TCA_HTB_PARMS)?);
    let rate = codec::read_rate(&mut fields, rate64)?;
    let ceil = codec::read_rate(&mut fields, ceil64)?;
    let (ticks, ceil_ticks, quantum) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (_level, prio) = (fields.u32()?, fields.u32()?);
    Ok(HtbClass {
        rate,
        ceil,
        burst_bytes: codec::burst_bytes(ticks, rate),
        ceil_burst_bytes: codec::burst_bytes(ceil_ticks, ceil),
        quantum_bytes: Some(quantum).filter(|&quantum| quantum > 0),
        prio,
    })
}
