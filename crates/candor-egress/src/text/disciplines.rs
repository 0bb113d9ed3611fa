//! The options of disciplines.

use std::time::Duration;

use super::args::{Arg, Args, missing, unknown_kind};
use super::code;
use super::units::{self, bucket, rate, size, time};
use crate::discipline::{ByteRate, Discipline, Peak, Tbf};
use crate::kinds::{self, KINDS, Kind, Opt, Unit};
use candor_core::diagnostic::{Diagnostic, Findings};

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

/// The discipline with the options that follow.
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

/// What waits so long at most: that, and what leaves at once.
fn room(rate: ByteRate, burst_bytes: u32, latency: Duration) -> u128 {
    u128::from(rate.0) * latency.as_nanos() / 1_000_000_000 + u128::from(burst_bytes)
}
