//! The options of disciplines and classes, and the size table `stab`.

use std::time::Duration;

use crate::discipline::{ByteRate, Discipline, Peak, SizeTable, Tbf};
use crate::kinds::{self, KINDS, Kind, Opt, Unit};
use crate::tree::{HtbClass, Share};
use candor_core::diagnostic::{Diagnostic, Findings};

use super::args::{Arg, Args, Wrong, missing, unknown_kind};
use super::units::{bucket, decimal, number, rate, signed, size, some_size, time};
use super::{code, units};

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

pub(super) fn read(
    kind: &Arg<'_>,
    before: &[&str],
    args: &mut Args<'_, '_>,
    findings: &mut Findings,
) -> Option<Discipline> {
    if kind.text() == "tbf" {
        return tbf(args, findings);
    }
    if let Some(kind) = kinds::kind(kind.text()) {
        return options(kind, args, findings);
    }
    let mut known: Vec<_> = KINDS.iter().map(|kind| kind.name).chain(["tbf", "clsact"]).collect();
    if !REASONS.iter().any(|(name, _)| *name == kind.text()) {
        known.extend(before);
    }
    unknown_kind(kind, "discipline", &known, REASONS, findings);
    args.skip_all();
    None
}

fn options(kind: &Kind, args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Discipline> {
    let mut discipline = (kind.usual)();
    let known: Vec<_> = kind.options.iter().flat_map(|option| option.words).copied().collect();
    let mut required: Vec<_> = kind.options.iter().filter(|option| option.required.is_some()).collect();
    args.options(kind.name, &known, findings, |word, args, findings| {
        let at = kind.options.iter().position(|option| option.is_called(word))?;
        let option = &kind.options[at];
        required.retain(|other| !other.is_called(word));
        match option.unit {
            Unit::Switch => return (option.field.set)(&mut discipline, &[1]),
            Unit::Ignored => {
                let message = format!("`{word}` is left out: CAN frames have no room for a mark of congestion");
                findings.report(Diagnostic::note(code::LEFT_OUT, args.last_span(), message).help("remove it"));
                return Some(());
            }
            _ => {}
        }
        args.takes(option.filler);
        numbers(option, &mut discipline, args, findings)?;
        match kind.options.get(at + 1) {
            Some(next) if next.words.is_empty() && is_number_next(args) => {
                numbers(next, &mut discipline, args, findings)
            }
            _ => Some(()),
        }
    })?;
    if let Some(option) = required.first() {
        let (name, value) = (option.words[0], option.required.unwrap_or_default());
        missing(args, name, &format!("add {name} {value}"), findings);
        return None;
    }
    match (kind.rule)(&mut discipline) {
        Ok(()) => Some(discipline),
        Err((message, help)) => wrong(args, &message, help, findings),
    }
}

fn is_number_next(args: &Args<'_, '_>) -> bool {
    args.next_text().starts_with(|c: char| c.is_ascii_digit())
}

fn numbers(option: &Opt, discipline: &mut Discipline, args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<()> {
    let mut found = vec![args.value(findings, |text| units::described(option, text))?];
    while found.len() < option.most && is_number_next(args) {
        found.push(args.value(findings, |text| units::described(option, text))?);
    }
    (option.field.set)(discipline, &found)
}

fn wrong<T>(args: &Args<'_, '_>, message: &str, help: &str, findings: &mut Findings) -> Option<T> {
    findings.report(Diagnostic::error(code::VALUE, args.span(), message).help(help));
    None
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

/// Bytes that wait no longer than this: rate × latency + burst.
fn room(rate: ByteRate, burst_bytes: u32, latency: Duration) -> u128 {
    u128::from(rate.0) * latency.as_nanos() / 1_000_000_000 + u128::from(burst_bytes)
}

/// Default MTU of `tc`.
const TC_MTU_BYTES: u64 = 1600;

const CLASS_REASONS: &[(&str, &str)] = &[
    ("prio", "its classes are there with it, one for each band"),
    ("ets", "its classes are there with it, one for each band"),
    ("tbf", "its class is there with it"),
    ("cbq", "kernels since 6.3 have it no more; htb does the same"),
    ("hfsc", "htb does what CAN needs of it"),
];

pub(super) fn class(kind: &Arg<'_>, args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Share> {
    match kind.text() {
        "htb" => htb(args, findings).map(Share::Htb),
        "drr" => {
            let mut quantum_bytes = None;
            args.options("drr", &["quantum"], findings, |_, args, findings| {
                quantum_bytes = Some(args.value(findings, some_size)?);
                Some(())
            })?;
            Some(Share::Drr { quantum_bytes })
        }
        _ => {
            unknown_kind(kind, "class of", &["htb", "drr"], CLASS_REASONS, findings);
            args.skip_all();
            None
        }
    }
}

fn htb(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<HtbClass> {
    const LAST_PRIO: u32 = 7;
    let (mut rate_given, mut ceil, mut burst, mut ceil_burst) = (None, None, None, None);
    let (mut quantum_bytes, mut prio) = (None, 0);
    let known =
        &["rate", "ceil", "burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst", "quantum", "prio", "mtu"];
    args.options("htb", known, findings, |option, args, findings| {
        match option {
            "rate" => rate_given = Some(args.value(findings, rate)?),
            "ceil" => ceil = Some(args.value(findings, rate)?),
            "quantum" => quantum_bytes = Some(args.value(findings, some_size)?),
            "prio" => prio = args.value(findings, decimal)?,
            "burst" | "buffer" | "maxburst" => burst = Some(args.value(findings, bucket)?),
            "mtu" => {
                args.value(findings, some_size)?;
                let message = "`mtu` is left out: the kernel makes no use of it";
                findings.report(Diagnostic::note(code::LEFT_OUT, args.last_span(), message).help("remove it"));
            }
            _ => ceil_burst = Some(args.value(findings, bucket)?),
        }
        Some(())
    })?;
    let Some(rate) = rate_given else {
        missing(args, "rate", "a class of htb wants one, such as rate 100frames/s", findings);
        return None;
    };
    if prio > LAST_PRIO {
        let message = format!("The kernel takes prio {prio} for {LAST_PRIO}, the last one");
        findings.report(Diagnostic::note(code::MEANING, args.span(), message).help("write 0 to 7"));
    }
    let ceil = ceil.unwrap_or(rate);
    Some(HtbClass {
        rate,
        ceil,
        burst_bytes: burst.unwrap_or_else(|| usual_burst(rate)),
        ceil_burst_bytes: ceil_burst.unwrap_or_else(|| usual_burst(ceil)),
        quantum_bytes,
        prio: prio.min(LAST_PRIO),
    })
}

/// The default burst of `tc`: the rate times a kernel tick, 1 ns with high-resolution timers, and a long Ethernet frame.
fn usual_burst(rate: ByteRate) -> u32 {
    u32::try_from(rate.0 / 1_000_000_000 + TC_MTU_BYTES).unwrap_or(u32::MAX)
}

/// Reads `stab` up to the first word that is not an option of it.
pub(super) fn stab(args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<SizeTable> {
    const MOST_SLOTS: u32 = 4096;
    let (mut overhead, mut mpu, mut mtu, mut slots) = (0, 0, 2047, 512);
    loop {
        let option = args.next_text();
        match option {
            "overhead" | "mpu" | "mtu" | "tsize" | "linklayer" => args.take(),
            _ => break,
        };
        match option {
            "overhead" => overhead = args.value(findings, signed)?,
            "mpu" => mpu = args.value(findings, size)?,
            "mtu" => mtu = args.value(findings, some_size)?,
            "tsize" => {
                slots = args.value(findings, |text| match number(text)? {
                    slots if (1..=MOST_SLOTS).contains(&slots) => Ok(slots),
                    _ => Err(Wrong::new("A size table has 1 to 4096 slots", "write tsize 512")),
                })?
            }
            _ => args.value(findings, |text| match text {
                "ethernet" => Ok(()),
                _ => Err(Wrong::new("CAN has no cells as ATM has", "leave linklayer out")),
            })?,
        }
    }
    // A table for more slots than 16 bits of memory hold is no table; u32 fits usize wherever this runs.
    Some(SizeTable::even(overhead, mpu, mtu, usize::try_from(slots).unwrap_or(usize::MAX)))
}
