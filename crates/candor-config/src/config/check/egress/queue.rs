//! `rate`, `queue`, `fair`, `when-full` and `max-age` of a band.

use super::{Facts, one_of};
use crate::config::check::lateness::duration;
use crate::config::code;
use crate::config::spec::BandSpec;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_core::units::{WrittenFrameRate, parse_frame_rate};
use candor_egress::policy::{Fair, FrameRate, Full, Queue};

/// Ten times the queue that a driver has by default; 27 ms of the longest classic frames at 500 kbit/s.
const DEFAULT_FRAMES: u32 = 100;

/// `200 frames/s` or `20 %`.
pub(super) fn rate(written: &Spanned<String>, facts: Facts<'_>, findings: &mut Findings) -> Option<FrameRate> {
    let wrong = |message: String, help: &str| {
        Diagnostic::error(code::FRAME_RATE, written.span.clone(), message).help(help.to_owned())
    };
    let share = match parse_frame_rate(&written.value) {
        Ok(WrittenFrameRate::FramesPerSecond(rate)) => return FrameRate::new(rate),
        Ok(WrittenFrameRate::PerMille(share)) => share,
        Err(error) => {
            let help = "write a rate, such as \"200 frames/s\", or a share of the bus, such as \"20 %\"";
            findings.report(wrong(error.to_string(), help));
            return None;
        }
    };
    if share > 1000 {
        findings.report(wrong("A rate cannot exceed 100 % of the bus".to_owned(), "write 100 % or less"));
        return None;
    }
    // A bus that is wrong has been reported.
    let bus = facts.bus?;
    let Some(bitrate) = bus.bitrate else {
        let message = format!("A share of bus {} requires its `bitrate`", quote(&bus.name));
        findings.report(wrong(message, "add bitrate = \"500kbit/s\" to [bus.NAME], or write frames/s here"));
        return None;
    };
    let rate = FrameRate::share(bitrate, share);
    if rate.is_none() {
        let message = format!("{} of {bitrate} is less than one 160-bit frame per second", written.value.trim());
        findings.report(wrong(message, "write a larger share"));
    }
    rate
}

pub(super) fn queue(
    spec: &BandSpec,
    rate: Option<FrameRate>,
    facts: Facts<'_>,
    findings: &mut Findings,
) -> Option<Queue> {
    let fairs = [("per-socket", Fair::PerSocket), ("per-mark", Fair::PerMark), ("per-user", Fair::PerUser)];
    let fair = spec.fair.as_ref().map_or(Some(Fair::No), |written| one_of(written, "`fair`", &fairs, findings));
    let fulls = [("refuse", Full::Refuse), ("drop-oldest", Full::DropOldest)];
    let full =
        spec.when_full.as_ref().map_or(Some(Full::Refuse), |written| one_of(written, "`when-full`", &fulls, findings));
    let (fair, full) = (fair?, full?);
    let aged = match &spec.max_age {
        Some(written) => Some(by_age(written, spec, rate, fair, findings)?),
        None => None,
    };
    let (frames, span) = match (aged, &spec.queue, facts.queue) {
        (Some(frames), ..) => (frames, spec.max_age.as_ref().map(|age| &age.span)),
        (None, Some(own), _) => (own.value, Some(&own.span)),
        // What is said for all bands is not said of each sender.
        (None, None, Some(all)) => (all.value.min(fair.most_frames().into()), Some(&all.span)),
        (None, None, None) => (DEFAULT_FRAMES.into(), None),
    };
    if let (Some(written), Full::DropOldest) = (&spec.when_full, full) {
        let message = "This band drops frames silently";
        findings.report(
            Diagnostic::note(code::DROPS_SILENTLY, written.span.clone(), message)
                .help("write() succeeds for frames that are dropped later; with \"refuse\" the sender gets ENOBUFS"),
        );
    }
    let place = span.unwrap_or(&spec.header);
    match u32::try_from(frames).map(|frames| Queue::new(fair, frames, full)) {
        Ok(Ok(queue)) => Some(queue),
        _ => {
            let of_each = if fair == Fair::No { "" } else { " per sender" };
            let message = format!("A queue must have 1 to {} frames{of_each}, not {frames}", fair.most_frames());
            let help = if fair == Fair::No { "write another number" } else { "write another number, or remove `fair`" };
            findings.report(Diagnostic::error(code::RANGE, place.clone(), message).help(help));
            None
        }
    }
}

/// `queue` of a bus, whose bands may be fair or not.
pub(super) fn of_all(written: &Spanned<i64>, findings: &mut Findings) -> Option<()> {
    let frames = u32::try_from(written.value).ok().map(|frames| Queue::new(Fair::No, frames, Full::Refuse));
    if let Some(Ok(_queue)) = frames {
        return Some(());
    }
    let message = format!("A queue must have 1 to {} frames, not {}", Fair::No.most_frames(), written.value);
    findings.report(Diagnostic::error(code::RANGE, written.span.clone(), message).help("write another number"));
    None
}

/// Number of frames sent in that time, which bounds the age of the last one queued.
fn by_age(
    written: &Spanned<String>,
    spec: &BandSpec,
    rate: Option<FrameRate>,
    fair: Fair,
    findings: &mut Findings,
) -> Option<i64> {
    let age = duration(written, findings)?;
    let wrong = |message: &str, help: &str| {
        Diagnostic::error(code::MAX_AGE, written.span.clone(), message).help(help.to_owned())
    };
    if let Some(queue) = &spec.queue {
        let diagnostic = wrong("`max-age` and `queue` both set the length of the queue", "remove one of them");
        findings.report(diagnostic.also(queue.span.clone(), "set here"));
        return None;
    }
    if fair != Fair::No {
        let help = "the waiting time depends on the number of senders; set `queue`, or remove `fair`";
        findings.report(wrong("`max-age` cannot be combined with `fair`", help));
        return None;
    }
    if spec.rate.is_none() {
        let help = "no discipline drops frames by their age: add a rate, from which a queue follows that is never older; \
                    or write max-age in the routes that lead here, which candor keeps in user space";
        findings.report(wrong("`max-age` requires a `rate`", help));
        return None;
    }
    // A rate that is wrong has been reported.
    let frames = u128::from(rate?.frames_per_second()) * age.as_micros() / 1_000_000;
    if frames == 0 {
        let help = "write a longer time, or a higher rate";
        findings.report(wrong("At this rate, not a single frame is sent within this time", help));
        return None;
    }
    Some(i64::try_from(frames).unwrap_or(i64::MAX))
}
