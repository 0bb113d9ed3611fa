//! Disciplines with bands: `prio`, `ets`.
//!
//! # Source
//! `prio_tune()`, `net/sched/sch_prio.c`; `ets_qdisc_change()`, `net/sched/sch_ets.c`.

use crate::discipline::{Ets, Prio};

use super::error::EncodeError;
use super::read::{self, Fields, Unread, speakable};
use super::write::{AttributeList, Record};
use candor_netlink::codec::{Attribute, Attributes, DecodeError};

const TCA_ETS_NBANDS: u16 = 1;
const TCA_ETS_NSTRICT: u16 = 2;
const TCA_ETS_QUANTA: u16 = 3;
const TCA_ETS_QUANTA_BAND: u16 = 4;
const TCA_ETS_PRIOMAP: u16 = 5;
const TCA_ETS_PRIOMAP_BAND: u16 = 6;

/// `struct tc_prio_qopt`.
pub(super) fn encode_prio(prio: &Prio) -> Vec<u8> {
    Record::default().u32(prio.bands.into()).bytes(&prio.priomap).done()
}

pub(super) fn decode_prio(options: Attribute<'_>) -> Result<Prio, Unread> {
    let mut fields = Fields::of(options);
    let bands = u8::try_from(fields.u32()?).map_err(|_too_many| Unread::Unspoken)?;
    Ok(Prio { bands, priomap: fields.take()? })
}

/// All of it strictly checked by the kernel, and to be marked as nested.
pub(super) fn encode_ets(ets: &Ets) -> Result<AttributeList, EncodeError> {
    let mut list = AttributeList::default();
    list.put(TCA_ETS_NBANDS, &[ets.bands])?;
    list.put(TCA_ETS_NSTRICT, &[ets.strict])?;
    let mut inner = AttributeList::default();
    ets.quanta_bytes.iter().try_for_each(|&quantum| inner.put_u32(TCA_ETS_QUANTA_BAND, quantum))?;
    if !ets.quanta_bytes.is_empty() {
        list.nest_marked(TCA_ETS_QUANTA, &inner)?;
    }
    let mut inner = AttributeList::default();
    ets.priomap.iter().try_for_each(|&band| inner.put(TCA_ETS_PRIOMAP_BAND, &[band]))?;
    if !ets.priomap.is_empty() {
        list.nest_marked(TCA_ETS_PRIOMAP, &inner)?;
    }
    Ok(list)
}

pub(super) fn decode_ets(options: Attribute<'_>) -> Result<Ets, Unread> {
    let [_, bands, strict, quanta, _, priomap] = read::by_number(options.value)?;
    let strict = strict.map(|strict| strict.u8()).transpose()?.unwrap_or(0);
    let bands = read::needed(bands, TCA_ETS_NBANDS)?.u8()?;
    let quanta_bytes = each(quanta, TCA_ETS_QUANTA_BAND, |quantum| quantum.u32())?;
    let priomap = each(priomap, TCA_ETS_PRIOMAP_BAND, |band| band.u8())?;
    Ok(Ets { bands, strict, quanta_bytes, priomap })
}

fn each<T>(
    list: Option<Attribute<'_>>,
    kind: u16,
    read: fn(&Attribute<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, Unread> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for attribute in Attributes::new(list.value) {
        let attribute = attribute?;
        speakable(attribute.kind == kind)?;
        found.push(read(&attribute)?);
    }
    Ok(found)
}
