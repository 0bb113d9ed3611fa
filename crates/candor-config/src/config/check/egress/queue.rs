//! `rate`, `queue`, `fair`, `when-full` and `max-age` of a band.

use super::Facts;
use crate::config::check::value::{duration, word};
use crate::config::code;
use crate::config::spec::BandSpec;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::units::{WrittenFrameRate, parse_frame_rate};
use candor_egress::policy::{Fair, FrameRate, Full, Queue};

/// Ten times the default queue of a driver; 27 ms of the longest classic frames at 500 kbit/s.
pub(super) const DEFAULT_FRAMES: u32 = 100;

/// `200 frames/s` or `20 %`.
pub(super) fn rate(written: &Text, facts: Facts<'_>, findings: &mut Findings) -> Option<FrameRate> {
    let mut refuse = |message: String, help: &str| {
        findings.error(code::FRAME_RATE, &written.span, message, help);
        None
    };
    let share = match parse_frame_rate(&written.value) {
        Ok(WrittenFrameRate::FramesPerSecond(rate)) => return FrameRate::new(rate),
        Ok(WrittenFrameRate::PerMille(share)) => share,
        Err(error) => {
            let help = "write a rate, such as \"200 frames/s\", or a share of the bus, such as \"20 %\"";
            return refuse(error.to_string(), help);
        }
    };
    if share > 1000 {
        return refuse("A rate cannot exceed 100 % of the bus".to_owned(), "write 100 % or less");
    }
    let bus = facts.bus?;
    let Some(bitrate) = bus.bitrate else {
        let message = format!("A share of bus {} requires its `bitrate`", quote(&bus.name));
        return refuse(message, "add bitrate = \"500kbit/s\" to [bus.NAME], or write frames/s here");
    };
    let rate = FrameRate::share(bitrate, share);
    if rate.is_none() {
        let message = format!("{} of {bitrate} is less than one 160-bit frame per second", written.value.trim());
        return refuse(message, "write a larger share");
    }
    rate
}

pub(super) fn queue(
    spec: &Table<BandSpec>,
    rate: Option<FrameRate>,
    facts: Facts<'_>,
    findings: &mut Findings,
) -> Option<Queue> {
    let fairs = [("per-socket", Fair::PerSocket), ("per-mark", Fair::PerMark), ("per-user", Fair::PerUser)];
    let fulls = [("refuse", Full::Refuse), ("drop-oldest", Full::DropOldest)];
    let fair = spec.fair.as_ref().map(|written| word(written, (code::EGRESS_WORD, "`fair`", ""), &fairs, findings));
    let full = spec.when_full.as_ref();
    let full = full.map(|written| word(written, (code::EGRESS_WORD, "`when-full`", ""), &fulls, findings));
    let (fair, full) = (fair.unwrap_or(Some(Fair::No))?, full.unwrap_or(Some(Full::Refuse))?);
    let (frames, span) = match (&spec.max_age, &spec.queue, facts.queue) {
        (Some(age), ..) => (by_age(age, spec, rate, fair, findings)?, &age.span),
        (None, Some(own), _) => (own.value, &own.span),
        // The queue of all bands is not a queue of each sender.
        (None, None, Some(all)) => (all.value.min(fair.most_frames()).into(), &all.span),
        (None, None, None) => (DEFAULT_FRAMES.into(), &spec.span),
    };
    if let (Some(written), Full::DropOldest) = (&spec.when_full, full) {
        let message = "This band drops frames silently";
        findings.report(
            Diagnostic::note(code::DROPS_SILENTLY, written.span.clone(), message)
                .help("write() succeeds for frames that are dropped later; with \"refuse\" the sender gets ENOBUFS"),
        );
    }
    let queue = u32::try_from(frames).ok().and_then(|frames| Queue::new(fair, frames, full).ok());
    if queue.is_none() {
        let (of_each, help) = match fair {
            Fair::No => ("", "write another number"),
            _ => (" per sender", "write another number, or remove `fair`"),
        };
        let message = format!("A queue must have 1 to {} frames{of_each}, not {frames}", fair.most_frames());
        findings.error(code::RANGE, span, message, help);
    }
    queue
}

/// The number of frames sent in that time, which bounds the age of the last one in the queue.
fn by_age(
    written: &Text,
    spec: &BandSpec,
    rate: Option<FrameRate>,
    fair: Fair,
    findings: &mut Findings,
) -> Option<i64> {
    let age = duration(written, findings)?;
    let mut refuse = |message: &str, help: &str| {
        findings.error(code::MAX_AGE, &written.span, message, help);
        None
    };
    if fair != Fair::No {
        let help = "the waiting time depends on the number of senders; set `queue`, or remove `fair`";
        return refuse("`max-age` cannot be combined with `fair`", help);
    }
    if spec.rate.is_none() {
        let help = "no qdisc drops frames by age: add a rate, from which a queue length follows; or write max-age in the \
                    routes to this bus, which user space enforces";
        return refuse("`max-age` requires a `rate`", help);
    }
    if let Some(queue) = &spec.queue {
        let message = "`max-age` and `queue` both set the length of the queue";
        findings.report(
            Diagnostic::error(code::MAX_AGE, written.span.clone(), message)
                .also(queue.span.clone(), "set here")
                .help("remove one of them"),
        );
        return None;
    }
    let frames = u128::from(rate?.frames_per_second()) * age.as_micros() / 1_000_000;
    if frames == 0 {
        let help = "write a longer time, or a higher rate";
        return refuse("At this rate, not a single frame is sent within this time", help);
    }
    Some(i64::try_from(frames).unwrap_or(i64::MAX))
}
