//! `[frame.signals]`: where the values of a composed frame come from.

use super::{Composing, source};
use crate::config::check::conflict;
use crate::config::check::value::{distance, word};
use crate::config::code;
use crate::config::names::overlapping;
use crate::config::spec::{SourceSpec, is_true};
use crate::plan::{FrameSignal, FrameSource};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::Named;
use candor_core::document::{Text, quote};
use candor_core::ids::IdRange;
use candor_signals::compose::{
    Conversion, Filter, Input, Invalid, InvalidAction, Other, Rescale, SignalInput, Timeout, TimeoutAction, Trigger,
    Value,
};
use candor_signals::{Codec, Field, Message, Ratio, Signal, constant, raw_distance, raw_within};

/// The inputs of a composition, and what they are called.
pub(super) struct Inputs {
    pub(super) inputs: Vec<Input>,
    pub(super) sources: Vec<FrameSource>,
    pub(super) signals: Vec<FrameSignal>,
}

/// A signal and where its value comes from.
struct Pair<'c, 's> {
    composing: &'c Composing<'c, 's>,
    written: &'c Named<SourceSpec>,
    /// In the composed frame.
    to: &'c Signal,
    from: (&'c Message, &'c Signal),
}

impl Inputs {
    /// `None` after an error. Inputs of a group follow each other.
    pub(super) fn of(
        composing: &Composing<'_, '_>,
        places: &[(&Signal, Codec, &Named<SourceSpec>)],
        initial: &[u8],
        findings: &mut Findings,
    ) -> Option<Self> {
        let group = |named: &Named<SourceSpec>| named.group.as_ref().map(|group| group.value.clone());
        let mut groups: Vec<String> = Vec::new();
        for name in places.iter().filter_map(|(.., named)| group(named)) {
            if !groups.contains(&name) {
                groups.push(name);
            }
        }
        let number = |named: &Named<SourceSpec>| groups.iter().position(|name| Some(name) == group(named).as_ref());
        // Those without a group first.
        let mut sorted: Vec<_> = places.iter().collect();
        candor_core::order::sort_by_key(&mut sorted, |(.., named)| number(named).map_or(0, |group| group + 1));
        let mut found = Self { inputs: Vec::new(), sources: Vec::new(), signals: Vec::new() };
        let mut is_sound = true;
        for (signal, codec, named) in sorted {
            match (&named.from, &named.fixed) {
                (None, Some(_)) => only_from(named, findings),
                (None, None) if named.is_incomplete => is_sound = false,
                (None, None) => {
                    is_sound = false;
                    let help = "add from = \"powertrain.ABS1.VehSpd\" or value = 0";
                    findings.error(
                        code::MISSING_KEY,
                        &named.name.span,
                        "The signal has neither `from` nor `value`",
                        help,
                    );
                }
                (Some(_), Some(value)) => {
                    let from = named.from.as_ref().map_or(&named.name.span, |from| &from.span);
                    let help = "write `initial` for the value before the first reception";
                    conflict(
                        &value.span,
                        "A signal is a constant or has a source",
                        (from, "has a source"),
                        help,
                        findings,
                    );
                }
                (Some(from), None) => {
                    let group = number(named).and_then(|group| u16::try_from(group).ok());
                    let input =
                        found.input(composing, (signal, codec, named), (from, group, initial), places, findings);
                    is_sound &= input.is_some();
                    found.inputs.extend(input);
                }
            }
        }
        is_sound.then_some(found)
    }

    fn input(
        &mut self,
        composing: &Composing<'_, '_>,
        (signal, codec, written): (&Signal, &Codec, &Named<SourceSpec>),
        (from, group, initial): (&Text, Option<u16>, &[u8]),
        places: &[(&Signal, Codec, &Named<SourceSpec>)],
        findings: &mut Findings,
    ) -> Option<Input> {
        let (bus, message, of_source) = source(composing, from, findings)?;
        let unusable = |findings: &mut Findings| {
            let what = format!("Signal {} of {} cannot be used", of_source.name, message.name);
            findings.error(code::NOT_IN_DATABASE, &from.span, what, "`candor-lab database FILE` says why");
        };
        let (Some(id), Some(taken)) = (message.id, Codec::new(message, of_source)) else {
            unusable(findings);
            return None;
        };
        let pair = Pair { composing, written, to: signal, from: (message, of_source) };
        let wanted = FrameSource { bus, id: id.raw() };
        let source = self.sources.iter().position(|known| *known == wanted).unwrap_or(self.sources.len());
        if source == self.sources.len() {
            self.sources.push(wanted);
        }
        if let Some(other) = self.inputs.iter().find(|other| group.is_some() && other.group == group)
            && other.source != source
        {
            let what = "Signals of one group come from one message";
            let place = written.group.as_ref().map_or(&written.name.span, |group| &group.span);
            let name = written.group.as_ref().map_or("", |group| &group.value);
            let help = format!("{} has signals of another message: use another name", quote(name));
            findings.error(code::FRAME, place, what, help);
        }
        let (units, differ) = ([&of_source.unit, &signal.unit], of_source.unit != signal.unit);
        if differ && !units.iter().any(|unit| unit.is_empty()) && written.map.is_empty() {
            let what = format!("The source is in {}, the signal in {}", quote(units[0]), quote(units[1]));
            let help = "the number stays the same: correct a database, or convert the value where it is sent";
            findings.report(Diagnostic::warning(code::UNITS, from.span.clone(), what).help(help));
        }
        let conversion = pair.conversion(findings);
        let filter = pair.filter(group.is_some(), findings);
        let (timeout, invalid) = (pair.timeout(codec, initial, findings), pair.invalid(findings));
        let updated = written.updated_by.as_ref().map(|name| pair.updated_by(name, findings));
        let update = written.update_bit.as_ref().map(|name| pair.update_bit(name, places, findings));
        let known = [("on-change", Trigger::OnChange), ("always", Trigger::Always), ("never", Trigger::Never)];
        let trigger = written.sends.as_ref().map_or(Some(Trigger::OnChange), |sends| {
            word(sends, (code::FRAME_WORD, "reason to send", ""), &known, findings)
        });
        let (unit, name) = (signal.unit.clone(), signal.name.clone());
        self.signals.push(FrameSignal { name, from: from.value.clone(), unit, codec: codec.clone() });
        let input = SignalInput {
            start: None,
            updated: if let Some(updated) = updated { Some(updated?) } else { None },
            invalid: invalid?,
            conversion: conversion?,
            to: *codec.field(),
            update: if let Some(update) = update { Some(update?) } else { None },
            from: taken,
        };
        Some(Input {
            source,
            value: Value::Signal(Box::new(input)),
            filter: filter?,
            trigger: trigger?,
            repeats: written.repeats.as_ref().is_none_or(|repeats| repeats.value),
            required: is_true(&written.required),
            timeout: timeout?,
            group,
        })
    }
}

/// Keys that say nothing about a constant.
fn only_from(named: &Named<SourceSpec>, findings: &mut Findings) {
    let SourceSpec { initial, map, within, outside, deadband, invalid, timeout, on_timeout, group, updated_by, .. } =
        &named.value;
    let texts = [initial, within, outside, deadband, invalid, timeout, on_timeout, group, updated_by];
    let first = texts.into_iter().flatten().next().or_else(|| map.first().map(|(from, _)| from));
    if let (Some(other), Some(value)) = (first, &named.fixed) {
        let help = "remove one of the two";
        conflict(&other.span, "A constant is never received", (&value.span, "a constant"), help, findings);
    }
}

impl Pair<'_, '_> {
    /// The bits of a constant of the source.
    fn source_bits(&self, text: &Text, findings: &mut Findings) -> Option<u64> {
        self.composing.checks.names.constant(text, self.from, findings)
    }

    /// A constant of the source.
    fn source_value(&self, text: &Text, findings: &mut Findings) -> Option<Ratio> {
        let (message, signal) = self.from;
        let value = constant(&text.value, message, signal);
        value.map_err(|wrong| self.composing.checks.names.wrong(text, code::EXPRESSION, wrong, findings)).ok()
    }

    fn conversion(&self, findings: &mut Findings) -> Option<Conversion> {
        let (message, from) = self.from;
        if self.written.map.is_empty() {
            if let Some(other) = &self.written.other {
                let help = "add map = { 0 = 1 }, or remove `other`";
                findings.error(code::FRAME, &other.span, "`other` has an effect only with `map`", help);
            }
            let (from_codec, to_codec) = (Codec::new(message, from)?, Codec::new(self.composing.message, self.to)?);
            let rescale = Rescale::new(from_codec.scale(), to_codec.scale());
            if rescale.is_none() {
                let message = format!("The factor of {} is 0", self.to.name);
                findings.error(code::NOT_IN_DATABASE, &self.written.name.span, message, "correct the database");
            }
            return Some(Conversion::Rescale(Box::new(rescale?)));
        }
        let mut rows = Vec::with_capacity(self.written.map.len());
        for (key, value) in &self.written.map {
            let row = (self.source_bits(key, findings), self.composing.bits(value, self.to, findings));
            if let (Some(from), Some(to)) = row {
                if rows.iter().any(|(other, _)| *other == from) {
                    let message = format!("{} is the same value as an earlier one", quote(&key.value));
                    findings.error(code::EXPRESSION, &key.span, message, "remove one of the two");
                }
                rows.push((from, to));
            }
        }
        candor_core::order::sort_by_key(&mut rows, |(from, _)| *from);
        let other = match &self.written.other {
            Some(other) => Other::Bits(self.composing.bits(other, self.to, findings)?),
            None => Other::Keep,
        };
        Some(Conversion::Table { rows: rows.into(), other })
    }

    fn filter(&self, is_grouped: bool, findings: &mut Findings) -> Option<Filter> {
        let SourceSpec { within, outside, deadband, one_of, .. } = &self.written.value;
        let one_of_place = one_of.as_ref().map(|one_of| &one_of.span);
        let places = [within, outside, deadband].into_iter().flatten().map(|text| &text.span);
        let places: Vec<_> = places.chain(one_of_place).collect();
        if let [first, second, ..] = places[..] {
            conflict(second, "A signal has one filter", (first, "another one"), "remove one of the two", findings);
        }
        let Some(place) = places.first() else { return Some(Filter::Always) };
        if is_grouped {
            let help = "remove the filter or the group";
            findings.error(code::FRAME, place, "A filter would take a part of a group", help);
        }
        let (_, signal) = self.from;
        let unfit = |place: &Text, findings: &mut Findings| {
            let message = format!("No value of {} is meant by this", signal.name);
            let help = "write the smaller value first, and values that the signal can have; a floating-point signal has no limits";
            findings.error(code::EXPRESSION, &place.span, message, help);
        };
        let limits = |text: &Text, findings: &mut Findings| {
            let Some((least, most)) = text.value.split_once(IdRange::DOTS) else {
                let help = "write two values with two dots between them, such as \"0..250\"";
                findings.error(code::EXPRESSION, &text.span, "This is no pair of values", help);
                return None;
            };
            let part = |value: &str, start: usize| Text {
                value: value.to_owned(),
                span: text.part(start..start + value.len()),
            };
            let (least, most) = (part(least, 0), part(most, text.value.len() - most.len()));
            let (least, most) = (self.source_value(&least, findings)?, self.source_value(&most, findings)?);
            let found = raw_within(signal, least, most);
            if found.is_none() {
                unfit(text, findings);
            }
            found
        };
        if let Some(text) = within {
            return limits(text, findings).map(|(min, max)| Filter::Within { min, max });
        }
        if let Some(text) = outside {
            return limits(text, findings).map(|(min, max)| Filter::Outside { min, max });
        }
        if let Some(text) = deadband {
            let distance = raw_distance(signal, self.source_value(text, findings)?);
            if distance.is_none() {
                let message = format!("This is no difference of values of {}", signal.name);
                let help = "write a number that is not negative; a floating-point signal has no deadband";
                findings.error(code::EXPRESSION, &text.span, message, help);
            }
            return distance.map(Filter::Deadband);
        }
        Some(Filter::OneEvery { period: one_of.as_ref()?.value, offset: 0 })
    }

    /// `None` after an error.
    #[expect(clippy::option_option, reason = "an error, and no timeout")]
    fn timeout(&self, codec: &Codec, initial: &[u8], findings: &mut Findings) -> Option<Option<Timeout>> {
        let SourceSpec { timeout, first_timeout, on_timeout, .. } = &self.written.value;
        let (message, source) = self.from;
        let later = timeout.as_ref().map_or(source.timeout, |time| distance(time, findings));
        let first = first_timeout.as_ref().and_then(|time| distance(time, findings));
        let Some(later) = later else {
            if let Some(other) = first_timeout.as_ref().or(on_timeout.as_ref()).filter(|_| timeout.is_none()) {
                findings.error(code::FRAME, &other.span, "There is no `timeout`", "add timeout = \"300ms\"");
            }
            return if timeout.is_none() { Some(None) } else { None };
        };
        if let Some(cycle) = message.timing.cycle.filter(|cycle| *cycle >= later) {
            let what =
                format!("Message {} comes every {cycle:?}, so the timeout ends before the next one", message.name);
            let help = format!("write a longer time, such as \"{}ms\"", (cycle * 3).as_millis());
            let place = timeout.as_ref().map_or(&self.written.name.span, |timeout| &timeout.span).clone();
            findings.report(Diagnostic::warning(code::SLOW_SOURCE, place, what).help(help));
        }
        let action = match on_timeout.as_ref().map(|text| (text, text.value.as_str())) {
            None | Some((_, "keep")) => TimeoutAction::Keep,
            Some((_, "stop")) => TimeoutAction::Stop,
            Some((_, "initial")) => TimeoutAction::Substitute(codec.field().get(initial)?),
            Some((text, _)) => {
                TimeoutAction::Substitute(self.substitute(text, "\"keep\", \"stop\", \"initial\" or ", findings)?)
            }
        };
        Some(Some(Timeout { first: Some(first.unwrap_or(later)), later, action }))
    }

    #[expect(clippy::option_option, reason = "an error, and no invalid value")]
    fn invalid(&self, findings: &mut Findings) -> Option<Option<Invalid>> {
        let SourceSpec { invalid, on_invalid, .. } = &self.written.value;
        let Some(invalid) = invalid else {
            if let Some(other) = on_invalid {
                findings.error(code::FRAME, &other.span, "No value is said to be invalid", "add invalid = 255");
            }
            return Some(None);
        };
        let bits = self.source_bits(invalid, findings)?;
        let action = match on_invalid.as_ref().map(|text| (text, text.value.as_str())) {
            None | Some((_, "ignore")) => InvalidAction::Ignore,
            Some((text, _)) => InvalidAction::Substitute(self.substitute(text, "\"ignore\" or ", findings)?),
        };
        Some(Some(Invalid { bits, action }))
    }

    /// The bits of `substitute:VALUE`.
    fn substitute(&self, text: &Text, others: &str, findings: &mut Findings) -> Option<u64> {
        const BEGINNING: &str = "substitute:";
        let Some(value) = text.value.strip_prefix(BEGINNING) else {
            let message = format!("Unknown action {}", quote(&text.value));
            findings.error(code::FRAME_WORD, &text.span, message, format!("write {others}\"substitute:VALUE\""));
            return None;
        };
        let value = Text { value: value.to_owned(), span: text.part(BEGINNING.len()..text.value.len()) };
        self.composing.bits(&value, self.to, findings)
    }

    fn updated_by(&self, name: &Text, findings: &mut Findings) -> Option<Codec> {
        let (message, _) = self.from;
        let found = message.signals.iter().find(|signal| signal.name == name.value);
        bit(found, name, &message.name, findings).and_then(|signal| Codec::new(message, signal))
    }

    fn update_bit(
        &self,
        name: &Text,
        places: &[(&Signal, Codec, &Named<SourceSpec>)],
        findings: &mut Findings,
    ) -> Option<Field> {
        let message = self.composing.message;
        let found = message.signals.iter().find(|signal| signal.name == name.value);
        let signal = bit(found, name, &message.name, findings)?;
        if self.composing.spec.repeat.as_ref().is_some_and(|repeat| repeat.value > 0) {
            let help = "remove the bit, or write repeat = 0";
            findings.error(code::FRAME, &name.span, "A repetition would send the update bit as 0", help);
        }
        let shares =
            |(other, ..): &&(&Signal, Codec, &Named<SourceSpec>)| candor_signals::overlap(message, signal, other);
        if let Some((other, _, named)) = places.iter().find(shares) {
            overlapping((signal, &name.span), (other, &named.name.span), findings);
        }
        Codec::new(message, signal).map(|codec| *codec.field())
    }
}

/// A signal that must have one bit.
fn bit<'m>(found: Option<&'m Signal>, name: &Text, message: &str, findings: &mut Findings) -> Option<&'m Signal> {
    let one_bit = found.filter(|signal| signal.bits == 1 && signal.refusal.is_none());
    if one_bit.is_none() {
        let what = format!("Message {message} has no signal {} of one bit", quote(&name.value));
        findings.error(code::NOT_IN_DATABASE, &name.span, what, "`candor-lab database FILE` shows the names");
    }
    one_bit
}
