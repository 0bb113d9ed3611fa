//! What a class may send.

use super::args::{Arg, Args, missing, unknown_kind};
use super::code;
use super::units::{bucket, decimal, rate, some_size};
use crate::discipline::ByteRate;
use crate::tree::{HtbClass, Share};
use candor_core::diagnostic::{Diagnostic, Findings};

/// What `tc` takes for the longest frame where nobody says it.
const TC_MTU_BYTES: u64 = 1600;

const OTHERS: &[(&str, &str)] = &[
    ("prio", "its classes are there with it, one for each band"),
    ("ets", "its classes are there with it, one for each band"),
    ("tbf", "its class is there with it"),
    ("cbq", "kernels since 6.3 have it no more; htb does the same"),
    ("hfsc", "htb does what CAN needs of it"),
];

pub(super) fn read(kind: &Arg<'_>, args: &mut Args<'_, '_>, findings: &mut Findings) -> Option<Share> {
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
            unknown_kind(kind, "class of", &["htb", "drr"], OTHERS, findings);
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

/// The burst that `tc` sends where none is written: what a rate brings in a tick of the kernel, 1 ns since timers have high
/// resolution, and a long frame of Ethernet.
fn usual_burst(rate: ByteRate) -> u32 {
    u32::try_from(rate.0 / 1_000_000_000 + TC_MTU_BYTES).unwrap_or(u32::MAX)
}
