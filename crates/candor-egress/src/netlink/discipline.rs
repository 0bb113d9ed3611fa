//! `TCA_OPTIONS` of a queueing discipline.

use crate::discipline::Discipline;

use super::error::EncodeError;
use super::read::{self, Unread};
use super::write::AttributeList;
use super::{TCA_OPTIONS, bands, queues, shaper};
use candor_netlink::codec::{Attribute, DecodeError};

/// Writes `TCA_KIND` and, where there are any, `TCA_OPTIONS`.
pub(super) fn encode(discipline: &Discipline, list: &mut AttributeList) -> Result<(), EncodeError> {
    list.put_kind(super::TCA_KIND, discipline.kind())?;
    let options = match discipline {
        Discipline::Bfifo { limit_bytes: limit }
        | Discipline::Pfifo { limit_frames: limit }
        | Discipline::PfifoHeadDrop { limit_frames: limit }
        | Discipline::Skbprio { limit_frames: limit } => limit.map(|limit| limit.to_ne_bytes().to_vec()),
        Discipline::Clsact | Discipline::Drr | Discipline::PfifoFast => None,
        Discipline::Etf(etf) => Some(queues::encode_etf(etf)?),
        Discipline::Ets(ets) => return list.nest_marked(TCA_OPTIONS, &bands::encode_ets(ets)?),
        Discipline::FqCodel(fq_codel) => queues::encode_fq_codel(fq_codel)?,
        Discipline::Htb(htb) => Some(shaper::encode_htb(htb)?),
        Discipline::Netem(netem) => Some(queues::encode_netem(netem)?),
        Discipline::Other { options, .. } => Some(options.clone()).filter(|options| !options.is_empty()),
        Discipline::Prio(prio) => Some(bands::encode_prio(prio)),
        Discipline::Sfq(sfq) => queues::encode_sfq(sfq),
        Discipline::Tbf(tbf) => Some(shaper::encode_tbf(tbf)?),
        // `noqueue`, and what a later candor knows.
        _ => return Err(EncodeError::Kind { kind: discipline.kind().to_owned() }),
    };
    options.map_or(Ok(()), |options| list.put(TCA_OPTIONS, &options))
}

/// The discipline of this kind with these options.
pub(super) fn decode(kind: &str, options: Option<Attribute<'_>>) -> Result<Discipline, DecodeError> {
    let kept = || Discipline::Other {
        kind: kind.to_owned(),
        options: options.map(|options| options.value.to_vec()).unwrap_or_default(),
    };
    read::or_kept(known(kind, options), kept)
}

fn known(kind: &str, options: Option<Attribute<'_>>) -> Result<Discipline, Unread> {
    let limit = || read::u32_of(options);
    let needed = || read::needed(options, TCA_OPTIONS);
    Ok(match kind {
        "bfifo" => Discipline::Bfifo { limit_bytes: limit()? },
        "clsact" => Discipline::Clsact,
        "drr" => Discipline::Drr,
        "etf" => Discipline::Etf(queues::decode_etf(needed()?)?),
        "ets" => Discipline::Ets(bands::decode_ets(needed()?)?),
        "fq_codel" => Discipline::FqCodel(queues::decode_fq_codel(options)?),
        "htb" => Discipline::Htb(shaper::decode_htb(needed()?)?),
        "netem" => Discipline::Netem(queues::decode_netem(needed()?)?),
        "noqueue" => Discipline::Noqueue,
        "pfifo" => Discipline::Pfifo { limit_frames: limit()? },
        "pfifo_fast" => Discipline::PfifoFast,
        "pfifo_head_drop" => Discipline::PfifoHeadDrop { limit_frames: limit()? },
        "prio" => Discipline::Prio(bands::decode_prio(needed()?)?),
        "sfq" => Discipline::Sfq(queues::decode_sfq(options)?),
        "skbprio" => Discipline::Skbprio { limit_frames: limit()? },
        "tbf" => Discipline::Tbf(shaper::decode_tbf(needed()?)?),
        _ => return Err(Unread::Unspoken),
    })
}
