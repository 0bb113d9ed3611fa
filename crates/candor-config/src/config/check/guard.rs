//! `guard`: what frames of a route must be like, and how soon they may follow each other.

use std::sync::Arc;
use std::time::Duration;

use crate::config::check::{Checks, conflict, value};
use crate::config::code;
use crate::config::spec::{AlarmSpec, ConstantSpec, GuardSpec, RouteSpec, SchemeSpec};
use crate::plan::{Alarm, Formats, Guard, Selection};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::filter::ReceiveList;
use candor_core::frame::{CANFD_MAX_DLEN, Frame};
use candor_core::job::Computed;
use candor_core::payload::PayloadPattern;
use candor_core::units::{BitRate, WrittenFrameRate, parse_frame_rate};
use candor_guard::{Form, Limits, Need, OnViolation, Pace, Rate, Rule, Shape, States};
use candor_signals::Condition;

/// Frames that may come at once, if the file does not say.
const BURST: u32 = 4;

/// Bits of the largest frame without stuff bits: 29 bits of identifier, and 8 or 64 bytes.
const LARGEST: [u32; 2] = [131, 596];

/// The guard of a route, and its checks.
pub(super) fn guard(
    spec: &Table<RouteSpec>,
    (selections, formats): (&[Selection], Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<(Guard, [Option<Computed>; 2])> {
    let written = spec.guard.as_ref()?;
    others(spec, formats, &written.span, findings);
    let on_violation = match &written.on_violation {
        None => OnViolation::Count,
        Some(text) => {
            let words = [("count", OnViolation::Count), ("drop", OnViolation::Drop)];
            value::word(text, (code::GUARD, "`on-violation`", ""), &words, findings)?
        }
    };
    let is_each = match &written.per {
        None => true,
        Some(text) => {
            let words = [("identifier", true), ("route", false)];
            value::word(text, (code::GUARD, "`per`", ""), &words, findings)?
        }
    };
    let shape = shape(written, spec, (selections, formats), checks, findings);
    let limits = limits(written, formats, findings);
    let silent = time(written.silent.as_ref(), findings);
    let alarm = written.alarm.as_ref().and_then(|alarm| self::alarm(alarm, checks, findings));
    let (shape, limits) = (shape?, limits?);
    let has_shape = shape != Shape::default();
    let has_pace = limits != Limits::default() || silent.is_some();
    if !has_shape && !has_pace {
        let help = "add rate = \"120 frames/s\", min-gap = \"8ms\", len = 8 or another limit";
        findings.error(code::GUARD, &written.span, "This guard has no limit", help);
        return None;
    }
    let is_one = matches!(selections, [one] if one.filter.normalise().list == ReceiveList::Exact);
    let states = if is_one || !is_each { States::One } else { States::Each(selections.len()) };
    let form = has_shape.then(|| Computed::new(Arc::new(Form::new(shape, on_violation))));
    let pace = has_pace.then(|| Computed::new(Arc::new(Pace::new(limits, states, on_violation))));
    Some((Guard { silent, alarm }, [form, pace]))
}

/// What `show` says of a guard, a check and a protection.
pub(super) fn told(spec: &RouteSpec) -> Vec<(&'static str, String)> {
    let mut told = Vec::new();
    if let Some(guard) = &spec.guard {
        told.push(("guard", guard_told(guard)));
    }
    if let Some(check) = &spec.check {
        let fate = match check.on_bad.as_ref().map(|word| word.value.as_str()) {
            None | Some("drop") => "dropped",
            Some("pass") => "counted",
            Some(_) => "replaced",
        };
        told.push(("check", format!("{}; bad frames are {fate}", scheme_told(&check.scheme))));
    }
    if let Some(protect) = &spec.protect {
        let follows = protect.counter.as_ref().is_some_and(|word| word.value == "follow");
        let counter = if follows { "that of the received frame" } else { "of candor" };
        told.push(("protect", format!("{}; the counter is {counter}", scheme_told(&protect.scheme))));
    }
    told
}

fn guard_told(guard: &GuardSpec) -> String {
    let mut parts = Vec::new();
    if let Some(lengths) = &guard.len {
        let lengths: Vec<_> = lengths.iter().map(|len| len.value.to_string()).collect();
        parts.push(format!("length {}", lengths.join(" or ")));
    }
    if let Some(constant) = &guard.constant {
        let text = |text: &Option<Text>| text.as_ref().map_or(String::new(), |text| text.value.clone());
        parts.push(format!("bits {} are {}", text(&constant.value.mask), text(&constant.value.value)));
    }
    parts.extend(guard.values.iter().flatten().map(|text| text.value.clone()));
    let burst = guard.burst.as_ref().map_or(BURST, |burst| burst.value);
    let rates = [&guard.rate, &guard.bit_rate].into_iter().flatten();
    parts.extend(rates.map(|text| format!("at most {} after {burst} at once", text.value)));
    parts.extend(guard.min_gap.as_ref().map(|text| format!("gaps from {}", text.value)));
    parts.extend(guard.silent.as_ref().map(|text| format!("silent for less than {}", text.value)));
    let drops = guard.on_violation.as_ref().is_some_and(|word| word.value == "drop");
    format!("{}; other frames are {}", parts.join(", "), if drops { "dropped" } else { "counted" })
}

fn scheme_told(scheme: &SchemeSpec) -> String {
    match (&scheme.e2e, &scheme.secoc.secoc, &scheme.checksum) {
        (Some(profile), ..) => format!("E2E {}", profile.value),
        (_, Some(profile), _) => format!("SecOC {}", profile.value),
        (.., Some(name)) => name.value.clone(),
        _ => "CRC".to_owned(),
    }
}

/// Keys that a guard excludes.
fn others(spec: &RouteSpec, formats: Formats, guard: &Span, findings: &mut Findings) {
    let both_ways = spec.both_ways.as_ref().filter(|flag| flag.value).map(|flag| &flag.span);
    if let Some(place) = both_ways {
        let help = "write a route for each direction";
        conflict(place, "A guard holds for one direction", (guard, "a guard"), help, findings);
    }
    let texts = [&spec.cycle, &spec.min_delay, &spec.timeout].map(|text| Some(&text.as_ref()?.span));
    let timing = texts.into_iter().flatten().chain(spec.on_change.as_ref().map(|on_change| &on_change.span)).next();
    if let Some(place) = timing {
        let message = "A route with a timing sends at its own times, and a guard needs those of the received frames";
        conflict(place, message, (guard, "a guard"), "guard the route that brings the frames here", findings);
    }
    if formats == Formats::Xl {
        findings.error(code::GUARD, guard, "CAN XL frames have no guard", "remove `guard`");
    }
}

/// `None` after an error.
fn shape(
    written: &GuardSpec,
    route: &RouteSpec,
    (selections, formats): (&[Selection], Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Shape> {
    let mut needs = Vec::new();
    let errors = findings.errors();
    if let Some(constant) = &written.constant {
        let pattern = constant_bits(constant, formats, findings)?;
        needs.push(Need { rule: Rule::Constant, id: None, any: vec![pattern] });
    }
    let bus = route.from.as_ref().map_or("", |from| from.value.as_str());
    for text in written.values.iter().flatten() {
        match Condition::parse(&text.value, |name| checks.names.signal(bus, name)) {
            Ok(Condition { id, patterns }) => {
                let id = id.raw();
                if selections.iter().all(|selection| !selection.filter.normalise().matches(id)) {
                    let help = "write the message into `match`, or remove the condition";
                    findings.error(code::GUARD, &text.span, "The route does not match this message", help);
                }
                needs.push(Need { rule: Rule::Values, id: Some(id), any: patterns });
            }
            Err(_) if checks.names.is_incomplete() => {}
            Err(wrong) => checks.names.wrong(text, code::GUARD, wrong, findings),
        }
    }
    let most = usize::from(largest_payload(formats));
    for len in written.len.iter().flatten().filter(|len| usize::from(len.value) > most) {
        let help = "write a length of this format, or change `frames`";
        findings.error(code::GUARD, &len.span, format!("Classic frames have at most {most} bytes"), help);
    }
    let lengths = written.len.iter().flatten().map(|len| len.value).collect();
    (findings.errors() == errors).then_some(Shape { lengths, needs })
}

const fn largest_payload(formats: Formats) -> u8 {
    match formats {
        Formats::Only(candor_core::frame::FrameFormat::Classic) => 8,
        _ => 64,
    }
}

fn constant_bits(written: &ConstantSpec, formats: Formats, findings: &mut Findings) -> Option<PayloadPattern> {
    let (mask_text, value_text) = (written.mask.as_ref()?, written.value.as_ref()?);
    let (mask, value) = (value::bytes(mask_text, findings)?, value::bytes(value_text, findings)?);
    if mask.len() != value.len() {
        let message = format!("The value has {} bytes and the mask {}", value.len(), mask.len());
        findings.error(code::GUARD, &value_text.span, message, "write as many bytes in both");
        return None;
    }
    let most = usize::from(largest_payload(formats));
    if mask.len() > most {
        let message = format!("A frame of this route has at most {most} bytes");
        findings.error(code::GUARD, &mask_text.span, message, "write fewer bytes");
        return None;
    }
    if let Some(at) = value.iter().zip(&mask).position(|(value, mask)| value & !mask != 0) {
        let message = format!("Byte {at} of the value has bits that the mask does not compare");
        findings.error(code::GUARD, &value_text.span, message, "add the bits to the mask, or clear them here");
        return None;
    }
    let mut pattern = PayloadPattern::ANY;
    let whole = |bytes: &[u8]| {
        let mut whole = [0; CANFD_MAX_DLEN];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        whole
    };
    (pattern.mask, pattern.value) = (whole(&mask), whole(&value));
    if pattern == PayloadPattern::ANY {
        findings.error(code::GUARD, &mask_text.span, "The mask compares no bit", "set the bits that never change");
        return None;
    }
    Some(pattern)
}

/// `None` after an error.
fn limits(written: &GuardSpec, formats: Formats, findings: &mut Findings) -> Option<Limits> {
    let errors = findings.errors();
    let burst = written.burst.as_ref().map_or(BURST, |burst| burst.value);
    if let (Some(burst), None, None) = (&written.burst, &written.rate, &written.bit_rate) {
        findings.error(code::GUARD, &burst.span, "There is no `rate`", "add rate = \"120 frames/s\"");
    }
    let [classic, fd] = LARGEST;
    let largest = if largest_payload(formats) == 8 { classic } else { fd };
    let rate = written.rate.as_ref().and_then(|text| Rate::frames(frame_rate(text, findings)?.into(), burst).ok());
    let bit_rate = written.bit_rate.as_ref().and_then(|text| {
        let rate: Result<BitRate, _> = text.value.parse();
        if let Err(wrong) = &rate {
            let help = "write a rate such as \"20kbit/s\"";
            findings.error(code::BIT_RATE, &text.span, wrong.to_string(), help);
        }
        Rate::bits(rate.ok()?.bits_per_second().into(), burst, largest).ok()
    });
    let gap = time(written.min_gap.as_ref(), findings);
    (findings.errors() == errors).then_some(Limits { rate, bit_rate, gap })
}

fn frame_rate(text: &Text, findings: &mut Findings) -> Option<u32> {
    const HELP: &str = "write a rate, such as \"120 frames/s\"";
    match parse_frame_rate(&text.value) {
        Ok(WrittenFrameRate::FramesPerSecond(rate)) => return Some(rate),
        Ok(WrittenFrameRate::PerMille(_)) => {
            findings.error(code::FRAME_RATE, &text.span, "A guard has no share of the bus", HELP);
        }
        Err(wrong) => findings.error(code::FRAME_RATE, &text.span, wrong.to_string(), HELP),
    }
    None
}

fn time(text: Option<&Text>, findings: &mut Findings) -> Option<Duration> {
    text.and_then(|text| value::distance(text, findings))
}

fn alarm(written: &AlarmSpec, checks: &Checks<'_>, findings: &mut Findings) -> Option<Alarm> {
    let to = checks.buses.index(written.to.as_ref()?, findings);
    let text = written.frame.as_ref()?;
    let frame: Result<Frame, _> = text.value.parse();
    if let Err(wrong) = &frame {
        let message = format!("{} is no frame: {wrong}", quote(&text.value));
        findings.error(code::GUARD, &text.span, message, "write a frame as for cansend, such as \"7F0#01\"");
    }
    Some(Alarm { to: to?, frame: frame.ok()? })
}

#[cfg(test)]
mod tests;
