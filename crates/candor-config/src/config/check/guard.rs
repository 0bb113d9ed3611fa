//! `guard`: what frames of a route must be like, and how soon they may follow each other.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::check::{Checks, conflict, lengths, value};
use crate::config::code;
use crate::config::spec::{
    AlarmSpec, CheckSpec, ConstantSpec, FrameSpec, GuardSpec, ProtectSpec, RouteSpec, SchemeSpec,
};
use crate::plan::{Alarm, Formats, Guard, Selection};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_EFF_FLAG, CAN_MAX_DLEN, CANFD_MAX_DLEN, Frame};
use candor_core::ids::IdRange;
use candor_core::job::Computed;
use candor_core::payload::PayloadPattern;
use candor_core::units::{BitRate, WrittenFrameRate, parse_frame_rate};
use candor_guard::{Addresses, Claimed, Form, Limits, Need, OnViolation, Pace, Rate, Rule, Shape, States};
use candor_signals::Condition;

/// Frames that may come at once, if the file does not say.
const BURST: u32 = 4;

/// In `j1939`: the addresses that are claimed on the bus.
const CLAIMED: &str = "claimed";

/// Bits of the largest frame without stuff bits: 29 bits of identifier, and 8 or 64 bytes.
const LARGEST: [u32; 2] = [131, 596];

/// The guard of a route, and its checks.
pub(super) fn guard(
    spec: &Table<RouteSpec>,
    (selections, formats): (&[Selection], Formats),
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<(Guard, [Option<Computed>; 3])> {
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
    let claimed = written.j1939.as_ref().map(|list| claimed(list, (written, spec), selections, findings));
    let shape = shape(written, spec, (selections, formats), checks, findings);
    let limits = limits(written, formats, findings);
    let silent = time(written.silent.as_ref(), findings);
    let alarm = written.alarm.as_ref().and_then(|alarm| self::alarm(alarm, checks, findings));
    if let (Some(written), Some(alarm)) = (&written.alarm, &alarm) {
        comes_back(spec, (written, alarm), (selections, formats), findings);
    }
    let (shape, limits) = (shape?, limits?);
    let has_shape = shape != Shape::default();
    let has_pace = limits != Limits::default() || silent.is_some();
    if !has_shape && !has_pace && claimed.is_none() {
        if !written.is_incomplete {
            let help = "add rate = \"120 frames/s\", min-gap = \"8ms\", len = 8 or another limit";
            findings.error(code::GUARD, &written.span, "This guard has no limit", help);
        }
        return None;
    }
    let is_one = matches!(selections, [one] if one.filter.normalise().list == ReceiveList::Exact);
    let states = if is_one || !is_each { States::One } else { States::Each(selections.len()) };
    let claimed = claimed.flatten().map(|(fixed, learns)| Claimed::new(fixed, learns, on_violation));
    let claimed = claimed.map(Computed::new);
    let form = has_shape.then(|| Computed::new(Form::new(shape, on_violation)));
    let pace = has_pace.then(|| Computed::new(Pace::new(limits, states, on_violation)));
    Some((Guard { silent, alarm }, [claimed, form, pace]))
}

/// What `show` says of a guard, a check and a protection.
pub(super) fn told(spec: &RouteSpec) -> Vec<(&'static str, String)> {
    let mut told = Vec::new();
    if let Some(guard) = &spec.guard {
        let to = spec.to.as_ref().map_or("", |to| to.value.as_str());
        told.push(("guard", guard_told(guard, to)));
    }
    told.extend(spec.check.as_ref().map(|check| ("check", check_told(check))));
    told.extend(spec.protect.as_ref().map(|protect| ("protect", protect_told(protect))));
    told
}

/// The same of a composed frame.
pub(super) fn told_of_frame(spec: &FrameSpec) -> Vec<(&'static str, String)> {
    let checks = spec.check.iter().map(|check| ("check", format!("{}: {}", check.name.value, check_told(check))));
    checks.chain(spec.protect.as_ref().map(|protect| ("protect", protect_told(protect)))).collect()
}

fn check_told(check: &CheckSpec) -> String {
    let fate = match check.on_bad.as_ref().map(|word| word.value.as_str()) {
        None | Some("drop") => "dropped",
        Some("pass") => "counted",
        Some(_) => "replaced",
    };
    format!("{}; bad frames are {fate}", scheme_told(&check.scheme))
}

fn protect_told(protect: &ProtectSpec) -> String {
    let SchemeSpec { e2e, counter_at, secoc, .. } = &protect.scheme;
    let follows = protect.counter.as_ref().is_some_and(|word| word.value == "follow");
    let counter = match follows {
        _ if e2e.is_none() && counter_at.is_none() && secoc.secoc.is_none() => "no counter",
        true => "the counter is that of the received frame",
        false => "the counter is of candor",
    };
    format!("{}; {counter}", scheme_told(&protect.scheme))
}

fn guard_told(guard: &GuardSpec, to: &str) -> String {
    let mut parts = Vec::new();
    if let Some(addresses) = &guard.j1939 {
        let of = |text: &Text| if text.value == CLAIMED { format!("claimed on {to}") } else { text.value.clone() };
        let addresses: Vec<_> = addresses.iter().map(of).collect();
        parts.push(format!("no source address {}, and no address claim", addresses.join(" or ")));
    }
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
    for len in written.len.iter().flatten() {
        let bytes = usize::from(len.value);
        lengths::exists(code::GUARD, (bytes, &len.span), formats, findings);
        if let Some(constant) = needs.iter().find(|need| need.rule == Rule::Constant)
            && constant.any.iter().all(|pattern| pattern.bytes() > bytes)
        {
            let message = format!("A frame of {bytes} bytes ends before the bits of `constant`");
            findings.error(code::GUARD, &len.span, message, "write fewer bytes there, or remove this length");
        }
    }
    let lengths = written.len.iter().flatten().map(|len| len.value).collect();
    (findings.errors() == errors).then_some(Shape { lengths, needs })
}

/// Addresses of the file, and whether those that are claimed on the bus are protected, too. `None` after an error.
fn claimed(
    list: &[Text],
    (guard, route): (&Table<GuardSpec>, &RouteSpec),
    selections: &[Selection],
    findings: &mut Findings,
) -> Option<(Addresses, bool)> {
    let errors = findings.errors();
    let (mut fixed, mut learns) = (Addresses::default(), false);
    for text in list {
        if text.value == CLAIMED {
            learns = true;
        } else if let Some(addresses) = addresses(text, findings) {
            addresses.for_each(|address| fixed.insert(address));
        }
    }
    let place = list.first().map_or(&guard.span, |text| &text.span);
    let mut wrong = |message: &str, help: &str| findings.error(code::GUARD, place, message, help);
    if list.is_empty() {
        wrong("`j1939` protects no address", "write j1939 = \"claimed\"");
    }
    let is_short = |selection: &Selection| {
        let filter = selection.filter.normalise();
        // The flag is compared and has to be clear.
        let is_clear = filter.mask & !filter.id & CAN_EFF_FLAG != 0;
        filter.list == ReceiveList::Error || (filter.list != ReceiveList::Inverted && is_clear)
    };
    if selections.iter().all(is_short) {
        wrong("The route matches no 29-bit identifier, and J1939 has no others", "remove `j1939`");
    }
    if let (Some(from), Some(to)) = (&route.from, &route.to)
        && from.value == to.value
    {
        wrong("The route leads back to its bus, whose own nodes claim these addresses", "remove `j1939`");
    }
    (findings.errors() == errors).then_some((fixed, learns))
}

/// `0B`, or `20..2F` with both ends.
fn addresses(written: &Text, findings: &mut Findings) -> Option<RangeInclusive<u8>> {
    let (first, last) = written.value.split_once(IdRange::DOTS).unwrap_or((&written.value, &written.value));
    let address = |text: &str| {
        let number = u8::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'));
        number.filter(|address| *address <= Addresses::LAST)
    };
    match (address(first), address(last)) {
        (Some(first), Some(last)) if first <= last => Some(first..=last),
        _ => {
            let message = format!("{} is no source address of J1939", quote(&written.value));
            let help =
                "write \"claimed\", an address in hex from \"00\" to \"FD\", or an ascending range such as \"20..2F\"";
            findings.error(code::GUARD, &written.span, message, help);
            None
        }
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
    let most = lengths::largest(formats);
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
    let largest = if lengths::largest(formats) == CAN_MAX_DLEN { classic } else { fd };
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
    let wrong = match parse_frame_rate(&text.value) {
        Ok(WrittenFrameRate::FramesPerSecond(rate)) => return Some(rate),
        Ok(WrittenFrameRate::PerMille(_)) => "A guard has no share of the bus".to_owned(),
        Err(wrong) => wrong.to_string(),
    };
    let end = text.value.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.value.len());
    let number = text.value[..end].parse().ok().filter(|number: &u32| *number > 0 && !text.value.contains(['%', '.']));
    let number = number.unwrap_or(120);
    findings.error(code::FRAME_RATE, &text.span, wrong, format!("write a rate, such as \"{number} frames/s\""));
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

/// Warns of an alarm that is sent where the route receives.
fn comes_back(
    route: &RouteSpec,
    (written, alarm): (&AlarmSpec, &Alarm),
    (selections, formats): (&[Selection], Formats),
    findings: &mut Findings,
) {
    let (Some(from), Some(to)) = (&route.from, &written.to) else { return };
    let is_matched = selections.iter().any(|selection| selection.filter.normalise().matches(alarm.frame.id));
    if from.value == to.value && is_matched && formats.list().contains(&alarm.frame.format) {
        findings.report(
            Diagnostic::warning(
                code::ALARM_COMES_BACK,
                to.span.clone(),
                "The route receives the frame of its own alarm",
            )
            .help("send it to another bus, or with an identifier that the route does not match"),
        );
    }
}

#[cfg(test)]
mod tests;
