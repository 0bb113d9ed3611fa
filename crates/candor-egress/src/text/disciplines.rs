//! The options of disciplines and classes, and the size table `stab`.

use std::time::Duration;

use crate::discipline::{ByteRate, Discipline, Peak, SizeTable, Tbf};
use crate::kinds::{self, KINDS, Kind, Opt, Unit};
use crate::tree::{HtbClass, Share};

use super::args::{Arg, Args, Wrong};
use super::units::{bucket, decimal, number, rate, signed, size, some_size, time};
use super::{code, units};

/// Qdiscs that are not useful on CAN, with the reason.
///
/// # Source
/// [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011), appendix B.
const REASONS: &[(&str, &str)] = &[
    ("cbq", "htb does the same and is simpler; removed in Linux 6.3"),
    ("choke", "it needs addresses, which CAN frames do not have"),
    ("codel", "it drops frames silently"),
    ("fq", "it treats all CAN frames as one flow"),
    ("fq_pie", "it treats all CAN frames as one flow"),
    ("hfsc", "htb covers what CAN needs"),
    ("hhf", "it treats all CAN frames as one flow"),
    ("mq", "it needs an interface with several queues, which no CAN driver has"),
    ("mqprio", "it needs an interface with several queues, which no CAN driver has"),
    ("multiq", "it needs an interface with several queues, which no CAN driver has"),
    ("noqueue", "it is the default of vcan and cannot be created"),
    ("red", "it drops frames at random"),
    ("sfb", "it penalizes flows that do not react to drops, and no CAN sender does"),
    ("taprio", "it needs an interface with several queues, which no CAN driver has"),
];

pub(super) fn read(kind: &Arg<'_>, before: &[&str], args: &mut Args<'_>) -> Option<Discipline> {
    if kind.text() == "tbf" {
        return tbf(args);
    }
    if let Some(kind) = kinds::kind(kind.text()) {
        return options(kind, args);
    }
    let mut known: Vec<_> = KINDS.iter().map(|kind| kind.name).chain(["tbf", "clsact"]).collect();
    if !REASONS.iter().any(|(name, _)| *name == kind.text()) {
        known.extend(before);
    }
    args.unknown_kind(kind, "qdisc", &known, REASONS)
}

fn options(kind: &Kind, args: &mut Args<'_>) -> Option<Discipline> {
    let mut discipline = (kind.usual)();
    let known: Vec<_> = kind.options.iter().flat_map(|option| option.words).copied().collect();
    let mut required: Vec<_> = kind.options.iter().filter(|option| option.required.is_some()).collect();
    args.options(kind.name, &known, |word, args| {
        let at = kind.options.iter().position(|option| option.is_called(word))?;
        let option = &kind.options[at];
        required.retain(|other| !other.is_called(word));
        match option.unit {
            Unit::Switch => return (option.field.set)(&mut discipline, &[1]),
            Unit::Ignored => {
                let message = format!("`{word}` is ignored: CAN frames have no congestion mark");
                args.note(code::LEFT_OUT, args.last_span(), message, "remove it");
                return Some(());
            }
            _ => {}
        }
        args.takes(option.filler);
        numbers(option, &mut discipline, args)?;
        match kind.options.get(at + 1) {
            Some(next) if next.words.is_empty() && is_number_next(args) => numbers(next, &mut discipline, args),
            _ => Some(()),
        }
    })?;
    if let Some(option) = required.first() {
        let (name, value) = (option.words[0], option.required.unwrap_or_default());
        return args.missing(name, &format!("add {name} {value}"));
    }
    match (kind.rule)(&mut discipline) {
        Ok(()) => Some(discipline),
        Err((message, help)) => wrong(args, &message, help),
    }
}

fn is_number_next(args: &mut Args<'_>) -> bool {
    args.next_text().starts_with(|c: char| c.is_ascii_digit())
}

fn numbers(option: &Opt, discipline: &mut Discipline, args: &mut Args<'_>) -> Option<()> {
    let mut found = vec![args.value(|text| units::described(option, text))?];
    while found.len() < option.most && is_number_next(args) {
        found.push(args.value(|text| units::described(option, text))?);
    }
    (option.field.set)(discipline, &found)
}

fn wrong<T>(args: &mut Args<'_>, message: &str, help: &str) -> Option<T> {
    args.fail(code::VALUE, args.span(), message, help)
}

fn tbf(args: &mut Args<'_>) -> Option<Discipline> {
    let (mut rate_given, mut burst, mut limit, mut latency) = (None, None, None, None);
    let (mut peak_rate, mut peak_burst) = (None, None);
    let known = &["rate", "burst", "buffer", "maxburst", "limit", "latency", "peakrate", "mtu", "minburst"];
    args.options("tbf", known, |option, args| {
        match option {
            "rate" => rate_given = Some(args.value(rate)?),
            "limit" => limit = Some(args.value(size)?),
            "latency" => latency = Some(args.value(time)?),
            "peakrate" => peak_rate = Some(args.value(rate)?),
            "mtu" | "minburst" => peak_burst = Some(args.value(bucket)?),
            _ => burst = Some(args.value(bucket)?),
        }
        Some(())
    })?;
    let (Some(rate), Some(burst_bytes)) = (rate_given, burst) else {
        return args.missing("rate or burst", "tbf needs both, such as rate 100frames/s burst 16");
    };
    let peak = match (peak_rate, peak_burst) {
        (Some(rate), Some(burst_bytes)) => Some(Peak { rate, burst_bytes }),
        (Some(_), None) => {
            return args.missing("mtu", "peakrate needs it, at least one frame: mtu 16");
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
                wrong(args, "The latency results in a limit of more than 32 bits", "write a shorter latency, or limit")
            })?
        }
        (None, None) => {
            return args.missing("limit", "add a limit in bytes, or a latency such as latency 70ms");
        }
        (Some(_), Some(_)) => {
            return wrong(args, "limit and latency both set the length of the queue", "remove one of them");
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
    ("prio", "its classes are created with it, one for each band"),
    ("ets", "its classes are created with it, one for each band"),
    ("tbf", "its class is created with it"),
    ("cbq", "removed in Linux 6.3; htb does the same"),
    ("hfsc", "htb covers what CAN needs"),
];

pub(super) fn class(kind: &Arg<'_>, args: &mut Args<'_>) -> Option<Share> {
    match kind.text() {
        "htb" => htb(args).map(Share::Htb),
        "drr" => {
            let mut quantum_bytes = None;
            args.options("drr", &["quantum"], |_, args| {
                quantum_bytes = Some(args.value(some_size)?);
                Some(())
            })?;
            Some(Share::Drr { quantum_bytes })
        }
        _ => args.unknown_kind(kind, "class", &["htb", "drr"], CLASS_REASONS),
    }
}

fn htb(args: &mut Args<'_>) -> Option<HtbClass> {
    const LAST_PRIO: u32 = 7;
    let (mut rate_given, mut ceil, mut burst, mut ceil_burst) = (None, None, None, None);
    let (mut quantum_bytes, mut prio) = (None, 0);
    let known =
        &["rate", "ceil", "burst", "buffer", "maxburst", "cburst", "cbuffer", "cmaxburst", "quantum", "prio", "mtu"];
    args.options("htb", known, |option, args| {
        match option {
            "rate" => rate_given = Some(args.value(rate)?),
            "ceil" => ceil = Some(args.value(rate)?),
            "quantum" => quantum_bytes = Some(args.value(some_size)?),
            "prio" => prio = args.value(decimal)?,
            "burst" | "buffer" | "maxburst" => burst = Some(args.value(bucket)?),
            "mtu" => {
                args.value(some_size)?;
                let message = "`mtu` is ignored: the kernel does not use it";
                args.note(code::LEFT_OUT, args.last_span(), message, "remove it");
            }
            _ => ceil_burst = Some(args.value(bucket)?),
        }
        Some(())
    })?;
    let Some(rate) = rate_given else {
        return args.missing("rate", "an htb class needs a rate, such as rate 100frames/s");
    };
    if prio > LAST_PRIO {
        let message = format!("The kernel treats prio {prio} as {LAST_PRIO}, the maximum");
        args.note(code::MEANING, args.span(), message, "write 0 to 7");
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
pub(super) fn stab(args: &mut Args<'_>) -> Option<SizeTable> {
    const MOST_SLOTS: u32 = 4096;
    let (mut overhead, mut mpu, mut mtu, mut slots) = (0, 0, 2047, 512);
    loop {
        let option = args.next_text();
        match option {
            "overhead" | "mpu" | "mtu" | "tsize" | "linklayer" => args.take(),
            _ => break,
        };
        match option {
            "overhead" => overhead = args.value(signed)?,
            "mpu" => mpu = args.value(size)?,
            "mtu" => mtu = args.value(some_size)?,
            "tsize" => {
                slots = args.value(|text| match number(text)? {
                    slots if (1..=MOST_SLOTS).contains(&slots) => Ok(slots),
                    _ => Err(Wrong::new("A size table has 1 to 4096 slots", "write tsize 512")),
                })?
            }
            _ => args.value(|text| match text {
                "ethernet" => Ok(()),
                _ => Err(Wrong::new("CAN has no cells, unlike ATM", "remove linklayer")),
            })?,
        }
    }
    // A table for more slots than 16 bits of memory hold is no table; u32 fits usize wherever this runs.
    Some(SizeTable::even(overhead, mpu, mtu, usize::try_from(slots).unwrap_or(usize::MAX)))
}
