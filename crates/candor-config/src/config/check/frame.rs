//! `[[frame]]`: frames that candor composes of signals of other frames.

mod input;
mod watch;

use std::collections::HashSet;
use std::time::Duration;

use crate::config::check::value::{distance, duration, word};
use crate::config::check::{Checks, buses, guard, integrity};
use crate::config::code;
use crate::config::names::overlapping;
use crate::config::spec::{FrameSpec, Spec, is_true};
use crate::plan::{BusIndex, ComposedFrame, FrameSource, MOST_COMPOSING_BUSES, Plan};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::{Named, Table};
use candor_core::document::{Text, quote};
use candor_core::frame::{CAN_MAX_DLEN, CANFD_MAX_DLEN, FD_LENGTHS, FrameFormat};
use candor_core::job::Computed;
use candor_signals::compose::{Activity, Composer, Composition, FastCycle, SendRule, Time};
use candor_signals::{Codec, Message, SendMode, Signal};

use crate::config::spec::SourceSpec;
use input::Inputs;
pub(super) use watch::watched;

const MODES: [(&str, SendMode); 4] = [
    ("direct", SendMode::Direct),
    ("periodic", SendMode::Periodic),
    ("mixed", SendMode::Mixed),
    ("none", SendMode::None),
];
/// Of all frames together. Each frame that is received is compared with them.
const MOST_FRAMES: usize = 1024;

/// A frame that is being checked.
struct Composing<'c, 's> {
    checks: &'c Checks<'s>,
    spec: &'s Table<FrameSpec>,
    message: &'c Message,
}

/// The frames of a file; `None` after an error.
pub(super) fn frames(spec: &Spec, checks: &Checks<'_>, findings: &mut Findings) -> Option<Vec<ComposedFrame>> {
    if let Some(first) = spec.frames.get(MOST_FRAMES) {
        let message = format!("The file has more than {MOST_FRAMES} frames");
        findings.error(code::FRAME, &first.span, message, "run a second candor for the others");
        return None;
    }
    let mut names: HashSet<&str> =
        spec.routes.iter().filter_map(|route| Some(route.name.as_ref()?.value.as_str())).collect();
    let mut found: Vec<Option<ComposedFrame>> = Vec::with_capacity(spec.frames.len());
    for written in &spec.frames {
        if findings.is_full() {
            return None;
        }
        let name = written.name.as_ref().or(written.message.as_ref());
        if let Some(name) = name {
            buses::name(name, findings);
            if !names.insert(&name.value) {
                let message = format!("The name {} is used already", quote(&name.value));
                findings.error(
                    code::DUPLICATE_ROUTE,
                    &name.span,
                    message,
                    "give each route and frame a name of its own",
                );
            }
        }
        let frame = frame(written, checks, findings);
        let same =
            |other: &&ComposedFrame| frame.as_ref().is_some_and(|frame| (frame.to, frame.id) == (other.to, other.id));
        if let Some(other) = found.iter().flatten().find(same) {
            let message = format!("Frame {} has the same identifier on this bus", quote(&other.name));
            findings.error(code::FRAME, &written.span, message, "compose it in one [[frame]]");
        }
        found.push(frame);
    }
    let found: Vec<ComposedFrame> = found.into_iter().collect::<Option<_>>()?;
    for (frame, written) in found.iter().zip(&spec.frames) {
        let is_source = |other: &&ComposedFrame| frame.sources.contains(&FrameSource { bus: other.to, id: other.id });
        if let Some(other) = found.iter().find(is_source) {
            let message = format!(
                "Frame {} takes signals from {}, which is composed here",
                quote(&frame.name),
                quote(&other.name)
            );
            let help = "take them from the frames that the other one is composed of";
            findings.error(code::FRAME, &written.span, message, help);
        }
    }
    Some(found)
}

/// Reports more buses than one thread can wait for.
pub(super) fn can_wait_for_all(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let count = plan.composing_buses().count();
    if count > MOST_COMPOSING_BUSES {
        let is_timed = |at: &usize| plan.routes()[*at].timing.is_some();
        let route =
            (0..plan.routes().len()).find(is_timed).and_then(|at| spec.by_route(plan).get(at).map(|route| &route.span));
        let place = spec.frames.first().map(|frame| &frame.span).or(route).cloned().unwrap_or_default();
        let message = format!(
            "Composed frames and routes with a timing use {count} buses; at most {MOST_COMPOSING_BUSES} are possible"
        );
        findings.error(code::FRAME, &place, message, "run a second candor for some of the buses");
    }
}

fn frame(spec: &Table<FrameSpec>, checks: &Checks<'_>, findings: &mut Findings) -> Option<ComposedFrame> {
    let errors = findings.errors();
    let to = spec.to.as_ref().and_then(|written| checks.buses.index(written, findings));
    let (bus, written) = (spec.to.as_ref()?, spec.message.as_ref()?);
    let to = to?;
    let message = match checks.names.message(&bus.value, &written.value) {
        Ok(message) => message,
        Err(why) => {
            if !checks.names.is_incomplete() {
                let help = "write a message of the database of this bus: [database], and below it a line for the bus";
                findings.error(code::NOT_IN_DATABASE, &written.span, why, help);
            }
            return None;
        }
    };
    let Some(id) = message.id else {
        let what = format!("Message {} has no identifier that a frame can have", message.name);
        findings.error(code::NOT_IN_DATABASE, &written.span, what, "correct the database");
        return None;
    };
    let (format, len) = format(message, written, findings)?;
    let composing = Composing { checks, spec, message };
    let places = composing.places(findings);
    let mut initial = composing.initial(&places, len, findings);
    let send = composing.send(findings);
    let inputs = Inputs::of(&composing, &places, &initial, findings);
    let bit_rate_switch = spec.bit_rate_switch.as_ref();
    if let Some(flag) = bit_rate_switch.filter(|flag| flag.value && format == FrameFormat::Classic) {
        let help = "remove the key, or correct the length or VFrameFormat of the message in the database";
        findings.error(code::NOT_IN_FORMAT, &flag.span, "A classic frame has one bit rate", help);
    }
    let protect = spec.protect.as_ref().map(|protect| integrity::of_frame(protect, len, findings));
    if let Some((Some(_), written)) = protect.as_ref().zip(spec.protect.as_ref())
        && let Some(other) = written.scheme.len.as_ref().filter(|other| usize::from(other.value) != len)
    {
        let message = format!("Message {} has {len} bytes", message.name);
        findings.error(code::INTEGRITY, &other.span, message, "remove `len`");
    }
    if let Some((Some(protect), written)) = protect.as_ref().zip(spec.protect.as_ref()) {
        let is_overwritten = |signal: &Signal| {
            let bit = |at: u32| integrity::written(protect, at as usize / 8) >> (at % 8) & 1 != 0;
            signal.positions().any(bit)
        };
        for (signal, _, named) in places.iter().filter(|(signal, ..)| is_overwritten(signal)) {
            let message = format!("`protect` writes bits of signal {}", signal.name);
            let help = "correct `protect`, or remove the signal: checksum and counter need no line here";
            let finding = Diagnostic::error(code::INTEGRITY, named.name.span.clone(), message);
            findings.report(finding.also(written.span.clone(), "checksum and counter").help(help));
        }
    }
    let checked = inputs.as_ref().map(|Inputs { sources, .. }| composing.checked(sources, findings));
    let (Some(send), Some(Inputs { inputs, sources, signals }), Some(checks)) = (send, inputs, checked) else {
        return None;
    };
    // Each is set by its value.
    for update in inputs.iter().filter_map(|input| input.signal()?.update) {
        let _is_within = update.set(&mut initial, 0);
    }
    if findings.errors() > errors {
        return None;
    }
    let composition = Composition { initial: initial.into(), inputs: inputs.into(), send };
    if let Err(wrong) = Composer::new(composition.clone(), Time::from_nanos(0)) {
        findings.error(code::FRAME, &spec.span, wrong.to_string(), "see docs/signals.md");
        return None;
    }
    let name = spec.name.as_ref().unwrap_or(written).value.clone();
    let bit_rate_switch = format == FrameFormat::Fd && bit_rate_switch.is_none_or(|flag| flag.value);
    let message = message.name.clone();
    let (id, protect) = (id.raw(), protect.flatten());
    let told = guard::told_of_frame(spec);
    Some(ComposedFrame {
        name,
        to,
        message,
        id,
        format,
        bit_rate_switch,
        sources,
        checks,
        signals,
        composition,
        protect,
        told,
    })
}

/// Format and length, as a frame can have it.
fn format(message: &Message, written: &Text, findings: &mut Findings) -> Option<(FrameFormat, usize)> {
    let len = usize::from(message.len);
    let is_fd = message.format.as_ref().is_some_and(|format| format.to_ascii_uppercase().contains("FD"));
    if len > CANFD_MAX_DLEN {
        let what = format!("Message {} has {len} bytes; a frame has at most {CANFD_MAX_DLEN}", message.name);
        findings.error(code::NOT_IN_FORMAT, &written.span, what, "choose another message, or correct the database");
        return None;
    }
    if len <= CAN_MAX_DLEN {
        return Some((if is_fd { FrameFormat::Fd } else { FrameFormat::Classic }, len));
    }
    Some((FrameFormat::Fd, FD_LENGTHS.into_iter().map(usize::from).find(|fits| len <= *fits).unwrap_or(len)))
}

impl<'c> Composing<'c, '_> {
    /// The signals of `[frame.signals]` that the message has.
    fn places(&self, findings: &mut Findings) -> Vec<(&'c Signal, Codec, &'c Named<SourceSpec>)>
    where
        Self: 'c,
    {
        let mut places: Vec<(&Signal, Codec, &Named<SourceSpec>)> = Vec::new();
        for named in &self.spec.signals {
            let Some((signal, codec)) = self.of_message(&named.name, findings) else { continue };
            if let Some((other, _, earlier)) =
                places.iter().find(|(other, ..)| candor_signals::overlap(self.message, signal, other))
            {
                overlapping((signal, &named.name.span), (other, &earlier.name.span), findings);
            }
            places.push((signal, codec, named));
        }
        places
    }

    /// What frames of each source must have.
    fn checked(&self, sources: &[FrameSource], findings: &mut Findings) -> Vec<Option<Computed>> {
        let mut checked = vec![None; sources.len()];
        for Named { name, table } in &self.spec.check {
            let found = self.checks.buses.first_part(&name.value);
            let Some((bus, of_bus)) = found else {
                let help =
                    "write bus and message in quotes, such as \"powertrain.ABS1\" = { e2e = \"P01\", data-id = 0x123 }";
                findings.error(code::UNKNOWN_BUS, &name.span, "The name does not begin with a bus of this file", help);
                continue;
            };
            let message = match self.checks.names.message(of_bus, &name.value[of_bus.len() + 1..]) {
                Ok(message) => message,
                Err(_) if self.checks.names.is_incomplete() => continue,
                Err(why) => {
                    let help = "write bus and message; `candor-lab database FILE` shows the names";
                    findings.error(code::NOT_IN_DATABASE, &name.span, why, help);
                    continue;
                }
            };
            let is_source =
                |source: &FrameSource| source.bus == bus && message.id.map(|id| id.raw()) == Some(source.id);
            let Some(at) = sources.iter().position(is_source) else {
                let what = format!("The frame takes no signal from {}", quote(&name.value));
                findings.error(code::FRAME, &name.span, what, "remove the check, or take a signal from there");
                continue;
            };
            checked[at] = integrity::of_source(&table.value, &name.span, message.len.into(), findings);
        }
        checked
    }

    /// A signal of the message that can be used.
    fn of_message(&self, name: &Text, findings: &mut Findings) -> Option<(&'c Signal, Codec)> {
        let Some(signal) = self.message.signals.iter().find(|signal| signal.name == name.value) else {
            let names: Vec<_> = self.message.signals.iter().map(|signal| signal.name.as_str()).collect();
            let message = format!("Message {} has no signal {}", self.message.name, quote(&name.value));
            let diagnostic = Diagnostic::error(code::NOT_IN_DATABASE, name.span.clone(), message);
            let diagnostic = diagnostic.help("`candor-lab database FILE` shows the names");
            findings.report(match candor_core::document::closest(&name.value, &names) {
                Some(near) => diagnostic.label(format!("did you mean {}?", quote(near))),
                None => diagnostic,
            });
            return None;
        };
        let codec = Codec::new(self.message, signal);
        if codec.is_none() {
            let message = format!("Signal {} cannot be used", signal.name);
            findings.error(code::NOT_IN_DATABASE, &name.span, message, "`candor-lab database FILE` says why");
        }
        Some((signal, codec?))
    }

    /// The payload before anything is received. Switches come before what they select.
    fn initial(&self, places: &[(&Signal, Codec, &Named<SourceSpec>)], len: usize, findings: &mut Findings) -> Vec<u8> {
        let unused = self.spec.unused.as_ref().and_then(|unused| {
            word(unused, (code::FRAME_WORD, "filling", ""), &[("zeros", 0), ("ones", 0xFF)], findings)
        });
        let mut payload = vec![unused.unwrap_or(0); len];
        let mut signals: Vec<&Signal> = self.message.signals.iter().collect();
        let depth = |signal: &&Signal| {
            let above = |signal: &&Signal| Some(&self.message.signals[signal.present.as_ref()?.switch]);
            std::iter::successors(Some(*signal), above).take(self.message.signals.len()).count()
        };
        candor_core::order::sort_by_key(&mut signals, depth);
        for signal in signals {
            let Some(codec) = Codec::new(self.message, signal) else { continue };
            let named = places.iter().find(|(one, ..)| std::ptr::eq(*one, signal)).map(|(.., named)| *named);
            let text = named.and_then(|named| named.fixed.as_ref().or(named.initial.as_ref()));
            let start = || signal.start_value.map_or(0, |raw| codec.scale().saturate(raw).bits);
            let bits = text.map_or_else(start, |text| self.bits(text, signal, findings).unwrap_or(0));
            let is_selected = codec.set(&mut payload, bits);
            if let Some(named) = named.filter(|_| !is_selected) {
                let message = format!("The multiplexer does not select {}", signal.name);
                let help = "give the multiplexer a value that selects it, or remove this signal";
                findings.error(code::FRAME, &named.name.span, message, help);
            }
        }
        payload
    }

    /// The bits of a constant of a signal of this message.
    fn bits(&self, text: &Text, signal: &Signal, findings: &mut Findings) -> Option<u64> {
        self.checks.names.constant(text, (self.message, signal), findings)
    }

    fn send(&self, findings: &mut Findings) -> Option<SendRule> {
        let (spec, timing) = (&self.spec.value, &self.message.timing);
        let cycle = spec.cycle.as_ref().and_then(|time| distance(time, findings)).or(timing.cycle);
        let mode = spec.send.as_ref().map(|mode| word(mode, (code::FRAME_WORD, "send mode", ""), &MODES, findings));
        let has_cycle = cycle.is_some() || spec.cycle.is_some();
        let by_cycle = if has_cycle { SendMode::Mixed } else { SendMode::Direct };
        let is_cyclic = |mode: &SendMode| matches!(mode, SendMode::Periodic | SendMode::Mixed);
        // A cycle in the file is meant, whatever the database says; and who composes a frame wants it to be sent.
        let is_meant = |mode: &SendMode| is_cyclic(mode) || *mode != SendMode::None && spec.cycle.is_none();
        let of_message = timing.send_mode().filter(is_meant);
        let mode = mode.unwrap_or_else(|| Some(of_message.unwrap_or(by_cycle)))?;
        let is_cyclic = is_cyclic(&mode);
        let fast = self.fast(cycle, findings);
        if let Some(written) = spec.fast_while.as_ref().filter(|_| !is_cyclic && fast.is_some()) {
            let help = "write send = \"mixed\" or \"periodic\", or remove `fast-while`";
            findings.error(code::FRAME, &written.span, "The frame is not sent cyclically", help);
        }
        if is_cyclic && !has_cycle && fast.is_none() {
            let place = spec.send.as_ref().or(spec.message.as_ref()).map_or(&self.spec.span, |text| &text.span);
            findings.error(
                code::FRAME,
                place,
                "A frame that is sent cyclically has no `cycle`",
                "add cycle = \"100ms\"",
            );
        }
        if let Some(written) = spec.cycle.as_ref().filter(|_| !is_cyclic) {
            findings.error(
                code::FRAME,
                &written.span,
                "The frame is not sent cyclically",
                "write send = \"mixed\" or \"periodic\", or remove `cycle`",
            );
        }
        let repetitions =
            spec.repeat.as_ref().map_or_else(|| timing.repetitions.unwrap_or(0), |repeat| repeat.value.into());
        let period = spec.repeat_after.as_ref().and_then(|time| distance(time, findings)).or(timing.fast_cycle);
        let sends_events = matches!(mode, SendMode::Direct | SendMode::Mixed);
        if sends_events && repetitions > 0 && period.is_none() {
            let place = spec.repeat.as_ref().map_or(&self.spec.span, |repeat| &repeat.span);
            let message = format!("{repetitions} repetitions have no time between them");
            findings.error(code::FRAME, place, message, "add repeat-after = \"10ms\", or repeat = 0");
        }
        Some(SendRule {
            mode,
            cycle,
            fast,
            offset: spec
                .offset
                .as_ref()
                .and_then(|time| duration(time, findings))
                .or(timing.start_delay)
                .unwrap_or_default(),
            min_delay: spec
                .min_delay
                .as_ref()
                .and_then(|time| duration(time, findings))
                .or(timing.min_delay)
                .unwrap_or_default(),
            delays_all: is_true(&spec.delay_all),
            repetitions: if sends_events { repetitions } else { 0 },
            repetition_period: period.unwrap_or_default(),
        })
    }

    fn fast(&self, slow: Option<Duration>, findings: &mut Findings) -> Option<FastCycle> {
        let spec = &self.spec.value;
        let cycle = spec.fast_cycle.as_ref().and_then(|time| distance(time, findings));
        let Some(condition) = &spec.fast_while else {
            if let Some(written) = &spec.fast_cycle {
                findings.error(
                    code::FRAME,
                    &written.span,
                    "Nothing says when the fast cycle is in force",
                    "add fast-while = \"Hazard == 1\"",
                );
            }
            return None;
        };
        let (text, is_equal) = [("==", true), ("!=", false)]
            .into_iter()
            .find_map(|(sign, is_equal)| Some((condition.value.find(sign)?, is_equal)))
            .unzip();
        let Some(at) = text else {
            findings.error(
                code::CONDITION,
                &condition.span,
                "There is no comparison here",
                "write a signal and a value, such as \"Hazard == 1\"",
            );
            return None;
        };
        let part = |range: std::ops::Range<usize>| {
            let text = &condition.value[range.clone()];
            let start = range.start + text.len() - text.trim_start().len();
            Text { value: text.trim().to_owned(), span: condition.part(start..start + text.trim().len()) }
        };
        let (signal, codec) = self.of_message(&part(0..at), findings)?;
        let bits = self.bits(&part(at + 2..condition.value.len()), signal, findings)?;
        let Some(cycle) = cycle.or(self.message.timing.fast_cycle) else {
            findings.error(code::FRAME, &condition.span, "There is no fast cycle", "add fast-cycle = \"20ms\"");
            return None;
        };
        if slow.is_some_and(|slow| slow < cycle) {
            let place = spec.fast_cycle.as_ref().unwrap_or(condition);
            let what = format!("The fast cycle of {cycle:?} is longer than the other one");
            findings.error(code::FRAME, &place.span, what, "write a shorter fast-cycle, or a longer cycle");
        }
        let active = if is_equal == Some(true) { Activity::Equals(bits) } else { Activity::Differs(bits) };
        Some(FastCycle { cycle, field: *codec.field(), active })
    }
}

/// The bus, message and signal that a text such as `powertrain.ABS1.VehSpd` names.
fn source<'c>(
    composing: &Composing<'c, '_>,
    written: &Text,
    findings: &mut Findings,
) -> Option<(BusIndex, &'c Message, &'c Signal)> {
    let checks = composing.checks;
    let bus =
        checks.buses.first_part(&written.value).map(|(index, name)| (index, name, &written.value[name.len() + 1..]));
    let Some((bus, of_bus, name)) = bus else {
        let help = "write bus, message and signal, such as from = \"powertrain.ABS1.VehSpd\"";
        findings.error(code::UNKNOWN_BUS, &written.span, "The text does not begin with a bus of this file", help);
        return None;
    };
    match checks.names.signal(of_bus, name) {
        Ok((message, signal)) => {
            checks.names.sender_is_elsewhere(of_bus, message, &written.span, findings);
            Some((bus, message, signal))
        }
        Err(why) => {
            if !checks.names.is_incomplete() {
                let start = written.value.len() - name.len();
                let help = "write bus, message and signal; `candor-lab database FILE` shows the names";
                findings.error(code::NOT_IN_DATABASE, &written.part(start..written.value.len()), why, help);
            }
            None
        }
    }
}

#[cfg(test)]
mod tests;
