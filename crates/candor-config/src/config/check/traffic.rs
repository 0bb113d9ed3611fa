//! `[[traffic]]`: what other nodes and programs send, for bounds of response times.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::check::{Checks, value};
use crate::config::code;
use crate::config::spec::{Spec, TrafficSpec, is_true};
use crate::plan::{Bus, BusIndex, Traffic};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Text, quote};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, FrameFormat, RawId};

/// As many messages as a node can have identifiers of 11 bits.
const MOST_MESSAGES: usize = 2048;

/// The traffic of a file; `None` after an error.
pub(super) fn traffic(
    spec: &Spec,
    buses: &[Bus],
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Vec<Traffic>> {
    let errors = findings.errors();
    if let Some(first) = spec.traffic.get(MOST_MESSAGES) {
        let message = format!("The file has more than {MOST_MESSAGES} messages");
        findings.error(code::TRAFFIC, &first.span, message, "leave out the buses that do not matter");
        return None;
    }
    let messages: Vec<_> = spec.traffic.iter().map(|written| message(written, buses, checks, findings)).collect();
    // By bus and identifier: the first message and its place.
    let mut known: BTreeMap<(BusIndex, RawId), Span> = BTreeMap::new();
    for (written, message) in spec.traffic.iter().zip(&messages) {
        let (Some(message), Some(id)) = (message, &written.id) else { continue };
        if let Some(other) = known.insert((message.bus, message.id), id.span.clone()) {
            let text = format!("Identifier {} is sent twice on this bus", quote(&id.value));
            let finding = Diagnostic::error(code::TRAFFIC, id.span.clone(), text).also(other, "here, too");
            findings.report(
                finding.help("write one entry for each identifier; two nodes with one identifier are an error on CAN"),
            );
        }
    }
    let messages = messages.into_iter().collect::<Option<Vec<_>>>()?;
    (findings.errors() == errors).then_some(messages)
}

/// `None` after an error.
fn message(
    written: &Table<TrafficSpec>,
    buses: &[Bus],
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Option<Traffic> {
    let errors = findings.errors();
    let bus = written.bus.as_ref().and_then(|bus| checks.buses.index(bus, findings));
    let id = written.id.as_ref().and_then(|text| identifier(text, findings));
    let formats = [("classic", FrameFormat::Classic), ("fd", FrameFormat::Fd)];
    let format = match &written.frames {
        None => FrameFormat::Classic,
        Some(text) => value::word(text, (code::TRAFFIC, "frame format", ""), &formats, findings)?,
    };
    let mut time = |text: &Option<Text>| text.as_ref().map(|text| value::duration(text, findings));
    let period = time(&written.period).or_else(|| time(&written.min_gap));
    let (jitter, deadline, forwarded) =
        (time(&written.jitter), time(&written.deadline), time(&written.deadline_forwarded));
    let _offset = time(&written.offset);
    if let (Some(period), Some(gap)) = (&written.period, &written.min_gap) {
        let finding = Diagnostic::error(code::TRAFFIC, gap.span.clone(), "`min-gap` does not go with `period`");
        findings.report(finding.also(period.span.clone(), "its period").help("remove one of the two"));
    }
    if period.is_none() && !written.is_incomplete {
        let help = "add period = \"10ms\" with its period, or min-gap with the shortest time between two frames";
        findings.error(code::TRAFFIC, &written.span, "The message has neither `period` nor `min-gap`", help);
    }
    if let (Some(length), FrameFormat::Classic) = (&written.length, format)
        && usize::from(length.value) > format.max_len()
    {
        let message = format!("A classic frame has up to 8 bytes, not {}", length.value);
        findings.error(code::TRAFFIC, &length.span, message, "add frames = \"fd\", or correct the length");
    }
    if let (Some(BusIndex(at)), FrameFormat::Fd) = (bus, format) {
        let bus = &buses[at];
        if bus.bitrate.is_some() && bus.data_bitrate.is_none() {
            let place = written.frames.as_ref().map_or(&written.span, |frames| &frames.span);
            let message = format!("Bus {} has no data bit rate, so it carries no FD frame", quote(&bus.name));
            findings.error(code::TRAFFIC, place, message, "add `data-bitrate` to the bus");
        }
    }
    let switch = written.bit_rate_switch.is_none() || is_true(&written.bit_rate_switch);
    let is_whole = !written.is_incomplete && findings.errors() == errors;
    let period = period.flatten().filter(|_| is_whole)?;
    let deadline = deadline.flatten().unwrap_or(period);
    Some(Traffic {
        bus: bus?,
        id: id?,
        format,
        bit_rate_switch: format == FrameFormat::Fd && switch,
        len: written.length.as_ref()?.value,
        period,
        jitter: jitter.flatten().unwrap_or(Duration::ZERO),
        deadline,
        deadline_forwarded: forwarded.flatten().unwrap_or(deadline),
        sender: written.sender.as_ref().map(|sender| sender.value.clone()),
    })
}

/// Up to three hexadecimal digits for 11 bits, eight for 29 bits.
fn identifier(text: &Text, findings: &mut Findings) -> Option<RawId> {
    let is_hex = text.value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(&text.value, 16).ok().filter(|_| is_hex);
    let id = match (number, text.value.len()) {
        (Some(number), 1..=3) if number <= CAN_SFF_MASK => Some(RawId(number)),
        (Some(number), 8) if number <= CAN_EFF_MASK => Some(RawId(number | CAN_EFF_FLAG)),
        _ => None,
    };
    if id.is_none() {
        let message = format!("{} is no identifier", quote(&text.value));
        let help = "write 3 hexadecimal digits up to 7FF for 11 bits, or 8 digits up to 1FFFFFFF for 29 bits";
        findings.error(code::TRAFFIC, &text.span, message, help);
    }
    id
}

#[cfg(test)]
mod tests;
