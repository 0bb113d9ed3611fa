//! The options of disciplines.

use std::time::Duration;

use super::args::{Arg, Args, Wrong, missing};
use super::code;
use super::command::unknown_kind;
use super::units::{bucket, decimal, hex, microseconds, number, percent, rate, signed, size, some_size, time};
use crate::discipline::{ByteRate, Discipline, Etf, Ets, FqCodel, Htb, Netem, Peak, Prio, Sfq, Tbf};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::quote;

const KINDS: &[&str] = &[
    "pfifo",
    "bfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "prio",
    "tbf",
    "sfq",
    "htb",
    "drr",
    "ets",
    "fq_codel",
    "skbprio",
    "netem",
    "etf",
    "clsact",
];

/// Disciplines that are not for CAN, and why.
///
/// # Source
/// Appendix B of the report of 2011.
const REASONS: &[(&str, &str)] = &[
    ("cbq", "it is too complex, and htb does the same; kernels since 6.3 have it no more"),
    ("choke", "it knows flows by addresses, which CAN has not"),
    ("codel", "it drops frames without telling the sender"),
    ("fq", "all CAN frames are one flow to it"),
    ("fq_pie", "all CAN frames are one flow to it"),
    ("hfsc", "htb does what CAN needs of it"),
    ("hhf", "all CAN frames are one flow to it"),
    ("mq", "it needs an interface with several queues, which no CAN driver has"),
    ("mqprio", "it needs an interface with several queues, which no CAN driver has"),
    ("multiq", "it needs an interface with several queues, which no CAN driver has"),
    ("noqueue", "it is what vcan has without any line"),
    ("red", "it drops frames at random"),
    ("sfb", "it penalizes flows that do not answer to drops, and no CAN sender does"),
    ("taprio", "it needs an interface with several queues, which no CAN driver has"),
];

/// Reads the options of a discipline.
pub(super) fn read(
    kind: &Arg<'_>,
    before: &[&str],
    args: &mut Args<'_, '_>,
    findings: &mut Findings,
) -> Option<Discipline> {
    match kind.text() {
        name @ ("pfifo" | "pfifo_head_drop" | "skbprio") => {
            let limit_frames = limit(name, args, findings, number)?;
            Some(match name {
                "pfifo" => Discipline::Pfifo { limit_frames },
                "skbprio" => Discipline::Skbprio { limit_frames },
                _ => Discipline::PfifoHeadDrop { limit_frames },
            })
        }
        "bfifo" => limit("bfifo", args, findings, size).map(|limit_bytes| Discipline::Bfifo { limit_bytes }),
        "pfifo_fast" => args.options("pfifo_fast", &[], findings, |_, _, _| None).map(|()| Discipline::PfifoFast),
        "drr" => args.options("drr", &[], findings, |_, _, _| None).map(|()| Discipline::Drr),
        "prio" => prio(args, findings),
        "tbf" => tbf(args, findings),
        "sfq" => sfq(args, findings),
        "htb" => htb(args, findings),
        "ets" => ets(args, findings),
        "fq_codel" => fq_codel(args, findings),
        "netem" => netem(args, findings),
        "etf" => etf(args, findings),
        _ => {
            let known: Vec<_> = KINDS.iter().chain(before).copied().collect();
            let known = if REASONS.iter().any(|(name, _)| *name == kind.text()) { KINDS } else { &known };
            unknown_kind(kind, "discipline", known, REASONS, findings);
            args.skip_all();
            None
        }
    }
}

fn limit(
    of: &str,
    args: &mut Args<'_, '_>,
    findings: &mut Findings,
    unit: fn(&str) -> Result<u32, Wrong>,
) -> Option<Option<u32>> {
    let mut limit = None;
    args.options(of, &["limit"], findings, |_, args, findings| {
        limit = Some(args.value(findings, unit)?);
        Some(())
    })?;
    Some(limit)
}

fn wrong<T>(args: &Args<'_, '_>, message: &str, help: &str, findings: &mut Findings) -> Option<T> {
    findings.report(Diagnostic::error(code::VALUE, args.span(), message).help(help));
    None
}

/// Numbers up to the next word; `most` of them.
fn numbers(
    args: &mut Args<'_, '_>,
    most: usize,
    findings: &mut Findings,
    mut read: impl FnMut(&str) -> Result<u32, Wrong>,
) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    while args.next_text().starts_with(|c: char| c.is_ascii_digit()) {
        found.push(args.value(findings, &mut read)?);
    }
    if found.is_empty() || found.len() > most {
        let message = format!("Here stand {} numbers, and {most} fit", found.len());
        findings.report(Diagnostic::error(code::VALUE, args.last_span(), message).help("write 1 to so many of them"));
        return None;
    }
    Some(found)
}

const MOST_BANDS: u32 = 16;

fn bands(text: &str) -> Result<u8, Wrong> {
    let bands = decimal(text)?;
    u8::try_from(bands)
        .ok()
        .filter(|_| (1..=MOST_BANDS).contains(&bands))
        .ok_or_else(|| Wrong::new(format!("There are no {bands} bands"), "write 1 to 16"))
}

fn priomap(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Vec<u8>> {
    let band = |text: &str| {
        let band = decimal(text)?;
        if band < MOST_BANDS { Ok(band) } else { Err(Wrong::new(format!("There is no band {band}"), "write 0 to 15")) }
    };
    let found = numbers(args, 16, findings, band)?;
    found.into_iter().map(|band| u8::try_from(band).ok()).collect()
}

fn prio(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut prio = Prio { bands: 3, priomap: Prio::PRIOMAP };
    args.options("prio", &["bands", "priomap"], findings, |option, args, findings| {
        match option {
            "bands" => prio.bands = args.value(findings, bands)?,
            _ => {
                let map = priomap(args, findings)?;
                prio.priomap[..map.len()].copy_from_slice(&map);
            }
        }
        Some(())
    })?;
    if prio.bands < 2 {
        return wrong(args, "prio has 2 bands at least", "write bands 2, or take pfifo", findings);
    }
    if prio.priomap.iter().any(|band| *band >= prio.bands) {
        let message =
            format!("The map of priorities names a band that is not there; the last one is {}", prio.bands - 1);
        return wrong(args, &message, "write priomap with 16 numbers below that of bands", findings);
    }
    Some(Discipline::Prio(prio))
}

fn ets(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let (mut bands_given, mut ets) = (None, Ets { bands: 0, strict: 0, quanta_bytes: vec![], priomap: vec![] });
    args.options("ets", &["bands", "strict", "quanta", "priomap"], findings, |option, args, findings| {
        match option {
            "bands" => bands_given = Some(args.value(findings, bands)?),
            "strict" => {
                ets.strict = args.value(findings, |text| if text == "0" { Ok(0) } else { bands(text) })?;
            }
            "quanta" => {
                ets.quanta_bytes = numbers(args, 16, findings, |text| match decimal(text)? {
                    0 => Err(Wrong::new("A band without bytes never sends", "write 1 or more")),
                    bytes => Ok(bytes),
                })?;
            }
            _ => ets.priomap = priomap(args, findings)?,
        }
        Some(())
    })?;
    let implied = usize::from(ets.strict) + ets.quanta_bytes.len();
    let count = bands_given.map_or(implied, usize::from);
    if count == 0 || count > 16 || implied > count {
        let message = format!("ets has {count} bands here, of which strict and quanta name {implied}");
        return wrong(args, &message, "write bands with a number from 1 to 16 that covers both", findings);
    }
    ets.bands = u8::try_from(count).ok()?;
    if ets.priomap.iter().any(|band| *band >= ets.bands) {
        let message =
            format!("The map of priorities names a band that is not there; the last one is {}", ets.bands - 1);
        return wrong(args, &message, "write smaller numbers, or more bands", findings);
    }
    Some(Discipline::Ets(ets))
}

fn tbf(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let (mut rate_given, mut burst, mut limit, mut latency) = (None, None, None, None);
    let (mut peak_rate, mut peak_burst) = (None, None);
    let known = &["rate", "burst", "buffer", "maxburst", "limit", "latency", "peakrate", "mtu", "minburst"];
    args.options("tbf", known, findings, |option, args, findings| {
        match option {
            "rate" => rate_given = Some(args.value(findings, rate)?),
            "limit" => limit = Some(args.value(findings, size)?),
            "latency" => latency = Some(args.value(findings, time)?),
            "peakrate" => peak_rate = Some(args.value(findings, rate)?),
            "mtu" | "minburst" => peak_burst = Some(args.value(findings, bucket)?),
            _ => burst = Some(args.value(findings, bucket)?),
        }
        Some(())
    })?;
    let (Some(rate), Some(burst_bytes)) = (rate_given, burst) else {
        missing(args, "rate or burst", "tbf wants both, such as rate 100frames/s burst 16", findings);
        return None;
    };
    let peak = match (peak_rate, peak_burst) {
        (Some(rate), Some(burst_bytes)) => Some(Peak { rate, burst_bytes }),
        (Some(_), None) => {
            missing(args, "mtu", "peakrate wants it, a frame at least: mtu 16", findings);
            return None;
        }
        (None, _) => None,
    };
    let limit_bytes = match (limit, latency) {
        (Some(limit), None) => limit,
        (None, Some(latency)) => {
            let waits = |rate, burst| room(rate, burst, latency);
            let limit = waits(rate, burst_bytes);
            let limit = peak.map_or(limit, |peak| limit.min(waits(peak.rate, peak.burst_bytes)));
            u32::try_from(limit).ok().or_else(|| {
                wrong(args, "The latency makes a limit of more than 32 bits", "write a shorter one, or limit", findings)
            })?
        }
        (None, None) => {
            missing(args, "limit", "add limit with bytes, or latency with a time, such as latency 70ms", findings);
            return None;
        }
        (Some(_), Some(_)) => {
            return wrong(args, "Both limit and latency say how much may wait", "remove one of them", findings);
        }
    };
    Some(Discipline::Tbf(Tbf { rate, burst_bytes, limit_bytes, peak }))
}

/// What waits so long at most: that, and what leaves at once.
fn room(rate: ByteRate, burst_bytes: u32, latency: Duration) -> u128 {
    u128::from(rate.0) * latency.as_nanos() / 1_000_000_000 + u128::from(burst_bytes)
}

fn sfq(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut sfq = Sfq::default();
    let known = &["limit", "quantum", "perturb", "divisor", "flows", "depth", "headdrop"];
    args.options("sfq", known, findings, |option, args, findings| {
        match option {
            "limit" => sfq.limit_frames = Some(args.value(findings, number)?),
            "quantum" => sfq.quantum_bytes = Some(args.value(findings, some_size)?),
            "perturb" => {
                sfq.perturb_s = Some(args.value(findings, |text| match number(text)? {
                    seconds if i32::try_from(seconds).is_ok() => Ok(seconds),
                    _ => Err(Wrong::new("The time is too long", "write fewer seconds")),
                })?)
            }
            "divisor" => {
                sfq.divisor = Some(args.value(findings, |text| match number(text)? {
                    slots if slots.is_power_of_two() && slots <= 65_536 => Ok(slots),
                    _ => Err(Wrong::new("A table has a power of 2 of slots, up to 65536", "write one, such as 1024")),
                })?)
            }
            "flows" => sfq.flows = Some(args.value(findings, number)?),
            "depth" => sfq.depth_frames = Some(args.value(findings, number)?),
            _ => sfq.head_drop = true,
        }
        Some(())
    })?;
    Some(Discipline::Sfq(sfq))
}

fn htb(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut htb = Htb { default: 0, rate_to_quantum: 10, direct_frames: None };
    args.options("htb", &["default", "r2q", "direct_qlen"], findings, |option, args, findings| {
        match option {
            "default" => {
                htb.default = args.value(findings, |text| {
                    let digits = text.strip_prefix(':').unwrap_or(text);
                    u16::try_from(hex(digits)?).map_err(|_too_large| {
                        Wrong::new(
                            "The number of a class has 16 bits",
                            "write what stands behind the colon of its name",
                        )
                    })
                })?
            }
            "r2q" => {
                htb.rate_to_quantum = args.value(findings, |text| match decimal(text)? {
                    0 => Err(Wrong::new("Nothing can be divided by 0", "write 1 or more")),
                    divisor => Ok(divisor),
                })?
            }
            _ => htb.direct_frames = Some(args.value(findings, decimal)?),
        }
        Some(())
    })?;
    Some(Discipline::Htb(htb))
}

fn fq_codel(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut fq_codel = FqCodel::default();
    let known = &["limit", "flows", "quantum", "target", "interval", "memory_limit", "ecn", "noecn"];
    args.options("fq_codel", known, findings, |option, args, findings| {
        match option {
            "limit" => fq_codel.limit_frames = Some(args.value(findings, number)?),
            "flows" => fq_codel.flows = Some(args.value(findings, number)?),
            "quantum" => fq_codel.quantum_bytes = Some(args.value(findings, number)?),
            "target" => fq_codel.target_us = Some(args.value(findings, microseconds)?),
            "interval" => fq_codel.interval_us = Some(args.value(findings, microseconds)?),
            "memory_limit" => fq_codel.memory_limit_bytes = Some(args.value(findings, size)?),
            _ => {
                let message = format!("`{option}` is left out: CAN frames have no room for a mark of congestion");
                findings.report(Diagnostic::note(code::LEFT_OUT, args.last_span(), message).help("remove it"));
            }
        }
        Some(())
    })?;
    Some(Discipline::FqCodel(fq_codel))
}

fn netem(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut netem = Netem::default();
    args.options("netem", &["limit", "delay", "latency", "loss", "duplicate"], findings, |option, args, findings| {
        match option {
            "limit" => netem.limit_frames = Some(args.value(findings, number)?),
            "delay" | "latency" => {
                netem.delay = args.value(findings, time)?;
                if args.next_text().starts_with(|c: char| c.is_ascii_digit()) {
                    netem.jitter = args.value(findings, time)?;
                }
            }
            "loss" => {
                args.takes("random");
                netem.loss = args.value(findings, percent)?;
            }
            _ => netem.duplicate = args.value(findings, percent)?,
        }
        Some(())
    })?;
    Some(Discipline::Netem(netem))
}

/// The clocks that `tc` knows by name.
pub(super) const CLOCKS: &[(&str, i32)] =
    &[("CLOCK_REALTIME", 0), ("CLOCK_MONOTONIC", 1), ("CLOCK_BOOTTIME", 7), ("CLOCK_TAI", 11)];

fn etf(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut etf = Etf { delta_ns: 0, clock_id: -1, deadline_mode: false, offload: false, skip_sock_check: false };
    let known = &["clockid", "delta", "deadline_mode", "offload", "skip_sock_check"];
    args.options("etf", known, findings, |option, args, findings| {
        match option {
            "clockid" => {
                etf.clock_id = args.value(findings, |text| {
                    let upper = text.to_ascii_uppercase();
                    let is_it = |name: &str| name == upper || name.strip_prefix("CLOCK_") == Some(upper.as_str());
                    let clock = CLOCKS.iter().find(|(name, _)| is_it(name));
                    clock.map(|(_, id)| *id).ok_or_else(|| {
                        Wrong::new(format!("{} is no clock that tc knows", quote(text)), "write CLOCK_TAI")
                    })
                })?
            }
            "delta" => etf.delta_ns = args.value(findings, signed)?,
            "deadline_mode" => etf.deadline_mode = true,
            "offload" => etf.offload = true,
            _ => etf.skip_sock_check = true,
        }
        Some(())
    })?;
    if etf.clock_id < 0 {
        missing(args, "clockid", "add clockid CLOCK_TAI, the only one that the kernel takes", findings);
        return None;
    }
    Some(Discipline::Etf(etf))
}
