//! `TCA_OPTIONS` of `tbf`.
//!
//! # Source
//! `tbf_change()`, `tbf_dump()`, `net/sched/sch_tbf.c`.

use crate::discipline::{ByteRate, Peak, Tbf};

use super::error::EncodeError;
use super::rate;
use super::read::{self, Fields, Unread};
use super::write::{AttributeList, Record};
use candor_netlink::codec::Attribute;

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_PRATE64: u16 = 5;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;
/// Bytes of `struct tc_ratespec`.
const SPEC_BYTES: usize = 12;

pub(super) fn encode_tbf(tbf: &Tbf) -> Result<Vec<u8>, EncodeError> {
    let peak = tbf.peak.map(|peak| rate::spec(peak.rate, 0)).transpose()?;
    // The kernel takes the bursts from their own attributes (Linux 3.13) and looks at the ticks no more; but it tells them
    // in ticks, so those that do not fit could not be told.
    let peak_ticks = tbf.peak.map(|peak| rate::burst_ticks(peak.burst_bytes, peak.rate)).transpose()?;
    let parameters = Record::default()
        .bytes(&rate::spec(tbf.rate, 0)?)
        .bytes(&peak.unwrap_or_else(|| vec![0; SPEC_BYTES]))
        .u32(tbf.limit_bytes)
        .u32(rate::burst_ticks(tbf.burst_bytes, tbf.rate)?)
        .u32(peak_ticks.unwrap_or(0));
    let mut list = AttributeList::default();
    list.put(TCA_TBF_PARMS, &parameters.done())?;
    rate::put_wide(&mut list, TCA_TBF_RATE64, tbf.rate)?;
    list.put_u32(TCA_TBF_BURST, tbf.burst_bytes)?;
    if let Some(peak) = tbf.peak {
        rate::put_wide(&mut list, TCA_TBF_PRATE64, peak.rate)?;
        list.put_u32(TCA_TBF_PBURST, peak.burst_bytes)?;
    }
    Ok(list.into_bytes())
}

pub(super) fn decode_tbf(options: Attribute<'_>) -> Result<Tbf, Unread> {
    let [_, parameters, _, _, rate64, peak64, burst, peak_burst] = read::by_number(options.value)?;
    let mut fields = Fields::of(read::needed(parameters, TCA_TBF_PARMS)?);
    let rate = rate::read(&mut fields, rate64)?;
    let peak = rate::read(&mut fields, peak64)?;
    let (limit_bytes, ticks, peak_ticks) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let bytes =
        |given, ticks, rate| Ok::<_, Unread>(read::u32_of(given)?.unwrap_or_else(|| rate::burst_bytes(ticks, rate)));
    let peak = match peak {
        ByteRate(0) => None,
        rate => Some(Peak { rate, burst_bytes: bytes(peak_burst, peak_ticks, rate)? }),
    };
    Ok(Tbf { rate, burst_bytes: bytes(burst, ticks, rate)?, limit_bytes, peak })
}
