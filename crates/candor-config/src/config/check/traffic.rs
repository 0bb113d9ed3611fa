//! `[[traffic]]`: what other nodes and programs send, for bounds of response times.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::bounds::{Model, Question};
use crate::config::check::{Checks, value};
use crate::config::code;
use crate::config::spec::{Spec, TrafficSpec, is_true};
use crate::plan::{Bus, BusIndex, Plan, Sending, Traffic};
use candor_bounds::{Controller, Judgement, Queue};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::{Spanned, Text, quote};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, FrameFormat, RawId};

/// Makes a queue.
type NewQueue = fn() -> Queue;

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
    let mut messages = messages.into_iter().collect::<Option<Vec<_>>>()?;
    senders(spec, &mut messages, findings);
    (findings.errors() == errors).then_some(messages)
}

/// Reports buses with more traffic than they can carry, and deadlines that are shorter than their frames.
pub(super) fn can_hold(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    if plan.traffic().is_empty() {
        return;
    }
    // Loads do not depend on the latency.
    let question = Question { latency: Some(Duration::ZERO), ..Question::default() };
    let Ok(model) = Model::of(plan, &question) else { return };
    for judgement in model.network.judgements(question.assumptions).unwrap_or_default() {
        // The message with the largest share.
        let message = match &judgement {
            Judgement::DeadlineShorterThanFrame { message, .. } => Some(*message),
            Judgement::Overload { load, .. } => load.terms.first().map(|term| term.message),
        };
        let Some(message) = message.map(|message| model.first(message)) else { continue };
        let id = model.network.messages[message.0].id;
        let bus = model.buses[model.network.bus_of(message).0];
        let is_it = |known: &Traffic| (known.bus, known.id) == (bus, id);
        let written = plan.traffic().iter().position(is_it).and_then(|at| spec.traffic.get(at));
        let place = written.map_or(0..0, |written| written.span.clone());
        let finding = Diagnostic::warning(code::CANNOT_HOLD, place, upper(&model.sum(&judgement)));
        findings.report(
            finding.help("send less often, shorter frames or at a higher bit rate; `candor bounds` has all bounds"),
        );
    }
}

fn upper(text: &str) -> String {
    // `bus`, or an identifier in hexadecimal digits.
    text.strip_prefix("bus ").map_or_else(|| text.to_owned(), |rest| format!("Bus {rest}"))
}

/// Gives all messages of a sender what one of them has written about it.
fn senders(spec: &Spec, messages: &mut [Traffic], findings: &mut Findings) {
    // By bus and sender.
    let mut known: BTreeMap<(BusIndex, String), (Sending, &Span)> = BTreeMap::new();
    for (written, message) in spec.traffic.iter().zip(&*messages) {
        let (Some(sender), Some(place)) = (&message.sender, place_of_sending(written)) else { continue };
        if sender == Traffic::THIS_MACHINE {
            let help = "write the queue of this machine in [egress.BUS], and give --controller to candor bounds";
            findings.error(code::TRAFFIC, place, "Frames of this machine have the queue of `[egress.BUS]`", help);
            continue;
        }
        let key = (message.bus, sender.clone());
        if let Some((sending, other)) = known.get(&key) {
            if *sending != message.sending {
                let text = format!("The sender {} has another queue or controller here", quote(sender));
                let finding = Diagnostic::error(code::TRAFFIC, place.clone(), text).also((*other).clone(), "than here");
                findings.report(finding.help("write it once for each sender and bus, or name another sender"));
            }
        } else {
            known.insert(key, (message.sending.clone(), place));
        }
    }
    for message in messages {
        let key = message.sender.clone().map(|sender| (message.bus, sender));
        if let Some((sending, _)) = key.and_then(|key| known.get(&key)) {
            message.sending = sending.clone();
        }
    }
}

/// The first key about the sender's queue or controller.
fn place_of_sending(written: &Table<TrafficSpec>) -> Option<&Span> {
    let queue = written.queue.as_ref().map(|queue| &queue.span);
    let frames = [&written.controller, &written.mailboxes].into_iter().flatten().map(|frames| &frames.span);
    queue.into_iter().chain(frames).next()
}

/// `None` after an error.
fn sending(written: &Table<TrafficSpec>, findings: &mut Findings) -> Option<Sending> {
    let queues: [(&str, NewQueue); 2] = [("priority", || Queue::Arbitration), ("fifo", Queue::fifo)];
    let queue = match &written.queue {
        None => Queue::Arbitration,
        Some(text) => value::word(text, (code::TRAFFIC, "queue", ""), &queues, findings)?(),
    };
    let frames =
        |written: &Option<Spanned<u8>>| written.as_ref().and_then(|frames| NonZeroU32::new(frames.value.into()));
    let controller = match (frames(&written.controller), frames(&written.mailboxes)) {
        (None, None) if queue == Queue::Arbitration => Controller::Abortable,
        (None, None) => Controller::Fifo(NonZeroU32::MIN),
        (Some(frames), None) => Controller::Fifo(frames),
        (None, Some(frames)) => Controller::Mailboxes(frames),
        (Some(_), Some(_)) => {
            let (one, other) = (written.controller.as_ref()?, written.mailboxes.as_ref()?);
            let text = "`mailboxes` does not go with `controller`";
            let finding = Diagnostic::error(code::TRAFFIC, other.span.clone(), text);
            findings.report(finding.also(one.span.clone(), "its controller").help("remove one of the two"));
            return None;
        }
    };
    Some(Sending { queue, controller })
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
    let sending = sending(written, findings);
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
        sending: sending?,
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
