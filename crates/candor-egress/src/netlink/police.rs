//! The action `police`.
//!
//! # Kernel
//! A limit in bytes needs a table of rates, the last thing in the kernel that does: it is looked for and not looked at.
//! Limits in frames since Linux 5.13, and not together with one in bytes.
//!
//! # Source
//! `tcf_police_init()`, `tcf_police_dump()`, `net/sched/act_police.c`; `qdisc_get_rtab()`, `net/sched/sch_api.c`.

use crate::action::{Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::discipline::ByteRate;
use crate::ticks;

use super::error::EncodeError;
use super::rate;
use super::read::{self, Fields, Unread, speakable};
use super::write::{AttributeList, Record};

const TCA_POLICE_TBF: u16 = 1;
const TCA_POLICE_RATE: u16 = 2;
const TCA_POLICE_RESULT: u16 = 5;
const TCA_POLICE_RATE64: u16 = 8;
const TCA_POLICE_PKTRATE64: u16 = 10;
const TCA_POLICE_PKTBURST64: u16 = 11;
/// What a table of rates is made for where no length is given (`tc`).
const DEFAULT_MTU_BYTES: u32 = 2047;
const TABLE_CELLS: u64 = 256;
/// Bytes of `struct tc_ratespec`.
const SPEC_BYTES: usize = 12;

pub(super) fn encode(police: &Police) -> Result<AttributeList, EncodeError> {
    if police.bytes.is_none() && police.frames.is_none() {
        return Err(EncodeError::NoLimit);
    }
    let cell_log = police.bytes.map_or(0, |bytes| cell_log(bytes.mtu_bytes));
    let spec = police.bytes.map_or_else(|| Ok(vec![0; SPEC_BYTES]), |bytes| rate::spec(bytes.rate, cell_log))?;
    let burst = police.bytes.map_or(Ok(0), |bytes| rate::burst_ticks(bytes.burst_bytes, bytes.rate))?;
    let parameters = Record::default()
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
        rate::put_wide(&mut list, TCA_POLICE_RATE64, bytes.rate)?;
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

pub(super) fn decode(options: &[u8]) -> Result<Police, Unread> {
    let [_, parameters, _table, _, average, result, _, _, rate64, peak64, frame_rate, frame_burst] =
        read::by_number(options)?;
    let mut fields = Fields::of(read::needed(parameters, TCA_POLICE_TBF)?);
    let (_index, exceed, _limit) = (fields.u32()?, fields.i32()?, fields.u32()?);
    let (burst, mtu_bytes) = (fields.u32()?, fields.u32()?);
    let rate = rate::read(&mut fields, rate64)?;
    let peak = rate::read(&mut fields, peak64)?;
    speakable(peak == ByteRate(0) && average.is_none())?;
    let bytes =
        (rate != ByteRate(0)).then(|| PoliceBytes { rate, burst_bytes: rate::burst_bytes(burst, rate), mtu_bytes });
    let frames = match (read::u64_of(frame_rate)?, read::u64_of(frame_burst)?) {
        (None | Some(0), _) => None,
        (Some(per_second), burst) => {
            Some(PoliceFrames { per_second, burst_frames: ticks::amount(burst.unwrap_or(0), per_second) })
        }
    };
    speakable(bytes.is_some() || frames.is_some())?;
    let conform = result.map(|result| result.array().map(|number| i32::from_ne_bytes(*number))).transpose()?;
    let conform = conform.map_or(Ok(Verdict::Pass), read::constant)?;
    Ok(Police { bytes, frames, exceed: read::constant(exceed)?, conform })
}

/// So that the longest frame is within the table; the kernel does not take 0.
fn cell_log(mtu_bytes: u32) -> u8 {
    let mtu = if mtu_bytes == 0 { DEFAULT_MTU_BYTES } else { mtu_bytes };
    (1..u8::MAX).find(|&log| u64::from(mtu) >> log < TABLE_CELLS).unwrap_or(u8::MAX)
}

/// How long a frame of each length takes.
fn table(rate: ByteRate, cell_log: u8) -> Vec<u8> {
    let ticks = |cell: u64| ticks::ticks((cell + 1) << cell_log, rate.0).and_then(|ticks| u32::try_from(ticks).ok());
    (0..TABLE_CELLS).flat_map(|cell| ticks(cell).unwrap_or(u32::MAX).to_ne_bytes()).collect()
}
