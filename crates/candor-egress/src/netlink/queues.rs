//! Disciplines without classes that somebody makes: `etf`, `fq_codel`, `netem`, `sfq`.
//!
//! # Source
//! `net/sched/sch_{etf,fq_codel,netem,sfq}.c`.

use std::time::Duration;

use crate::discipline::{Etf, FqCodel, Netem, Sfq};
use crate::ticks::TICK_NS;

use super::TCA_OPTIONS;
use super::error::EncodeError;
use super::read::{self, Fields, Unread, speakable};
use super::write::{AttributeList, Record};
use candor_netlink::codec::{Attribute, DecodeError};

const TCA_ETF_PARMS: u16 = 1;
const TC_ETF_DEADLINE_MODE_ON: u32 = 1;
const TC_ETF_OFFLOAD_ON: u32 = 2;
const TC_ETF_SKIP_SOCK_CHECK: u32 = 4;
const TCA_FQ_CODEL_TARGET: u16 = 1;
const TCA_FQ_CODEL_LIMIT: u16 = 2;
const TCA_FQ_CODEL_INTERVAL: u16 = 3;
const TCA_FQ_CODEL_FLOWS: u16 = 5;
const TCA_FQ_CODEL_QUANTUM: u16 = 6;
const TCA_FQ_CODEL_MEMORY_LIMIT: u16 = 9;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
/// What `tc` asks for: the kernel has no default.
const NETEM_LIMIT_FRAMES: u32 = 1000;
/// Bytes of `struct tc_netem_qopt`, with which its options begin.
const NETEM_BYTES: usize = 24;
/// Bytes of `struct tc_sfq_qopt_v1` from the limits of RED on.
const SFQ_RED_BYTES: usize = 44;

/// `struct tc_etf_qopt`.
pub(super) fn encode_etf(etf: &Etf) -> Result<Vec<u8>, EncodeError> {
    let flags = [
        (etf.deadline_mode, TC_ETF_DEADLINE_MODE_ON),
        (etf.offload, TC_ETF_OFFLOAD_ON),
        (etf.skip_sock_check, TC_ETF_SKIP_SOCK_CHECK),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag);
    let mut list = AttributeList::default();
    list.put(TCA_ETF_PARMS, &Record::default().i32(etf.delta_ns).i32(etf.clock_id).u32(flags).done())?;
    Ok(list.into_bytes())
}

pub(super) fn decode_etf(options: Attribute<'_>) -> Result<Etf, Unread> {
    let [_, parameters] = read::by_number(options.value)?;
    let mut fields = Fields::of(read::needed(parameters, TCA_ETF_PARMS)?);
    let (delta_ns, clock_id, flags) = (fields.i32()?, fields.i32()?, fields.u32()?);
    let all = TC_ETF_DEADLINE_MODE_ON | TC_ETF_OFFLOAD_ON | TC_ETF_SKIP_SOCK_CHECK;
    speakable(flags & !all == 0)?;
    Ok(Etf {
        delta_ns,
        clock_id,
        deadline_mode: flags & TC_ETF_DEADLINE_MODE_ON != 0,
        offload: flags & TC_ETF_OFFLOAD_ON != 0,
        skip_sock_check: flags & TC_ETF_SKIP_SOCK_CHECK != 0,
    })
}

/// `None` if all is left to the kernel.
pub(super) fn encode_fq_codel(fq_codel: &FqCodel) -> Result<Option<Vec<u8>>, EncodeError> {
    if *fq_codel == FqCodel::default() {
        return Ok(None);
    }
    let mut list = AttributeList::default();
    list.put_some(TCA_FQ_CODEL_TARGET, fq_codel.target_us)?;
    list.put_some(TCA_FQ_CODEL_LIMIT, fq_codel.limit_frames)?;
    list.put_some(TCA_FQ_CODEL_INTERVAL, fq_codel.interval_us)?;
    list.put_some(TCA_FQ_CODEL_FLOWS, fq_codel.flows)?;
    list.put_some(TCA_FQ_CODEL_QUANTUM, fq_codel.quantum_bytes)?;
    list.put_some(TCA_FQ_CODEL_MEMORY_LIMIT, fq_codel.memory_limit_bytes)?;
    Ok(Some(list.into_bytes()))
}

/// Marks of congestion (`ecn`) mean nothing to CAN frames and have no word here.
pub(super) fn decode_fq_codel(options: Option<Attribute<'_>>) -> Result<FqCodel, DecodeError> {
    let Some(options) = options else { return Ok(FqCodel::default()) };
    let [_, target, limit, interval, _ecn, flows, quantum, _threshold, _batch, memory] =
        read::by_number(options.value)?;
    Ok(FqCodel {
        limit_frames: read::u32_of(limit)?,
        flows: read::u32_of(flows)?,
        quantum_bytes: read::u32_of(quantum)?,
        target_us: read::u32_of(target)?,
        interval_us: read::u32_of(interval)?,
        memory_limit_bytes: read::u32_of(memory)?,
    })
}

/// `struct tc_netem_qopt` with the times in ticks, for kernels before 4.15, and behind it the times in nanoseconds.
pub(super) fn encode_netem(netem: &Netem) -> Result<Vec<u8>, EncodeError> {
    let ns = |time: Duration| i64::try_from(time.as_nanos()).map_err(|_too_long| EncodeError::Delay);
    let (latency, jitter) = (ns(netem.delay)?, ns(netem.jitter)?);
    let ticks = |ns: i64| u32::try_from(ns.unsigned_abs() / TICK_NS).unwrap_or(u32::MAX);
    let head = Record::default()
        .u32(ticks(latency))
        .u32(netem.limit_frames.unwrap_or(NETEM_LIMIT_FRAMES))
        .u32(netem.loss)
        .u32(0)
        .u32(netem.duplicate)
        .u32(ticks(jitter));
    let mut list = AttributeList::default();
    list.put(TCA_NETEM_LATENCY64, &latency.to_ne_bytes())?;
    list.put(TCA_NETEM_JITTER64, &jitter.to_ne_bytes())?;
    Ok(head.bytes(&list.into_bytes()).done())
}

pub(super) fn decode_netem(options: Attribute<'_>) -> Result<Netem, Unread> {
    let mut fields = Fields::of(options);
    let (latency, limit, loss) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (gap, duplicate, jitter) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let [_, correlation, _, reorder, corrupt, model, rate, ecn, rate64, _, latency64, jitter64, slot, _] =
        read::by_number(&options.value[NETEM_BYTES..])?;
    let is_plain = |part: Option<Attribute<'_>>| part.is_none_or(|part| part.value.iter().all(|&byte| byte == 0));
    speakable(gap == 0 && [correlation, reorder, corrupt, rate].into_iter().all(is_plain))?;
    speakable([model, ecn, rate64, slot].into_iter().all(|part| part.is_none()))?;
    let time = |ns: Option<Attribute<'_>>, ticks: u32| match read::u64_of(ns)? {
        // A negative delay is none; the kernel takes the size of a negative jitter.
        Some(ns) if i64::try_from(ns).is_err() => Err(Unread::Unspoken),
        Some(ns) => Ok(Duration::from_nanos(ns)),
        None => Ok(Duration::from_nanos(u64::from(ticks) * TICK_NS)),
    };
    let (delay, jitter) = (time(latency64, latency)?, time(jitter64, jitter)?);
    Ok(Netem { limit_frames: Some(limit), delay, jitter, loss, duplicate })
}

/// `struct tc_sfq_qopt_v1`; 0 leaves a number to the kernel, except that of `perturb`. `None` if all is left to it.
pub(super) fn encode_sfq(sfq: &Sfq) -> Option<Vec<u8>> {
    if *sfq == Sfq::default() {
        return None;
    }
    let number = |value: Option<u32>| value.unwrap_or(0);
    let record = Record::default()
        .u32(number(sfq.quantum_bytes))
        .u32(number(sfq.perturb_s))
        .u32(number(sfq.limit_frames))
        .u32(number(sfq.divisor))
        .u32(number(sfq.flows))
        .u32(number(sfq.depth_frames))
        .u32(sfq.head_drop.into())
        .bytes(&[0; SFQ_RED_BYTES]);
    Some(record.done())
}

/// Random early detection has no word here.
pub(super) fn decode_sfq(options: Option<Attribute<'_>>) -> Result<Sfq, Unread> {
    let Some(options) = options else { return Ok(Sfq::default()) };
    let mut fields = Fields::of(Attribute { kind: TCA_OPTIONS, ..options });
    let mut given = || fields.u32().map(|value| Some(value).filter(|&value| value > 0));
    let (quantum_bytes, perturb, limit_frames, divisor, flows) = (given()?, given()?, given()?, given()?, given()?);
    let mut sfq = Sfq {
        limit_frames,
        quantum_bytes,
        perturb_s: Some(perturb.unwrap_or(0)),
        divisor,
        flows,
        depth_frames: None,
        head_drop: false,
    };
    // Older programs, though no kernel since 3.3, end here.
    if !fields.rest().is_empty() {
        sfq.depth_frames = Some(fields.u32()?).filter(|&depth| depth > 0);
        sfq.head_drop = fields.u32()? != 0;
        let (_limit, least, most) = (fields.u32()?, fields.u32()?, fields.u32()?);
        speakable(least == 0 && most == 0)?;
    }
    Ok(sfq)
}
