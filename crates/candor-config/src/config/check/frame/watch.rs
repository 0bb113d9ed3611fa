//! `watch` of a bus: signals whose values are shown and reported. Each message becomes a composed frame that is never sent.

use crate::config::check::Checks;
use crate::config::code;
use crate::config::spec::Spec;
use crate::plan::{BusIndex, ComposedFrame, FrameSignal, FrameSource};
use candor_core::diagnostic::Findings;
use candor_core::document::Text;
use candor_core::frame::FrameFormat;
use candor_signals::compose::{
    Composition, Conversion, Filter, Input, Rescale, SendRule, SignalInput, Timeout, TimeoutAction, Trigger, Value,
};
use candor_signals::{ByteOrder, Codec, Field, Message, Signal};

/// Signals of one message. Each has 64 bits of the frame that is not sent, so multiplexed ones do not share any.
const MOST_SIGNALS: usize = 512;

pub(in crate::config::check) fn watched(
    spec: &Spec,
    checks: &Checks<'_>,
    findings: &mut Findings,
) -> Vec<ComposedFrame> {
    let mut all: Vec<ComposedFrame> = Vec::new();
    for (at, bus) in spec.buses.specs.iter().enumerate() {
        for text in bus.watch.iter().flatten() {
            let name = &bus.name.value;
            let found = match text.value.contains('.') {
                true => checks.names.signal(name, &text.value).map(|(message, signal)| (message, vec![signal])),
                false => checks.names.message(name, &text.value).map(|message| (message, usable(message))),
            };
            match found {
                Ok((message, signals)) if signals.is_empty() => {
                    let what = format!("Message {} has no signal that can be used", message.name);
                    findings.error(code::NOT_IN_DATABASE, &text.span, what, "`candor-lab database FILE` says why");
                }
                Ok((message, signals)) => {
                    for signal in signals {
                        watch(&mut all, (BusIndex(at), name), (message, signal), text, findings);
                    }
                }
                Err(_) if checks.names.is_incomplete() => {}
                Err(why) => {
                    let help = match checks.names.of_bus(name) {
                        [] => "name the file of this bus in [database]",
                        _ => "write a message or Message.Signal of the database of this bus",
                    };
                    findings.error(code::NOT_IN_DATABASE, &text.span, why, help);
                }
            }
        }
    }
    all
}

fn usable(message: &Message) -> Vec<&Signal> {
    message.signals.iter().filter(|signal| signal.refusal.is_none()).collect()
}

fn watch(
    all: &mut Vec<ComposedFrame>,
    (bus, bus_name): (BusIndex, &str),
    (message, signal): (&Message, &Signal),
    text: &Text,
    findings: &mut Findings,
) {
    let codec = Codec::new(message, signal);
    let rescale = codec.as_ref().and_then(|codec| Rescale::new(codec.scale(), codec.scale()));
    let (Some(id), Some(codec), Some(rescale)) = (message.id, codec, rescale) else {
        let what = format!("Signal {} of {} cannot be used", signal.name, message.name);
        findings.error(code::NOT_IN_DATABASE, &text.span, what, "`candor-lab database FILE` says why");
        return;
    };
    let at = all.iter().position(|frame| (frame.to, frame.id) == (bus, id.raw())).unwrap_or_else(|| {
        all.push(ComposedFrame {
            name: format!("{bus_name}.{}", message.name),
            to: bus,
            message: message.name.clone(),
            id: id.raw(),
            format: FrameFormat::Classic,
            bit_rate_switch: false,
            sources: vec![FrameSource { bus, id: id.raw() }],
            checks: Vec::new(),
            signals: Vec::new(),
            composition: Composition { initial: Box::default(), inputs: Box::default(), send: SendRule::NEVER },
            protect: None,
            told: Vec::new(),
        });
        all.len() - 1
    });
    let frame = &mut all[at];
    if frame.signals.iter().any(|known| known.name == signal.name) {
        return;
    }
    let slot = frame.signals.len();
    let field = u16::try_from(slot * 64).ok().and_then(|start| Field::new(start, signal.bits, ByteOrder::Little));
    let Some(to) = field.filter(|_| slot < MOST_SIGNALS) else {
        let what = format!("More than {MOST_SIGNALS} signals of {} are watched", message.name);
        findings.error(code::FRAME, &text.span, what, "name the signals that matter");
        return;
    };
    let timeout = |later| Timeout { first: Some(later), later, action: TimeoutAction::Keep };
    let value = SignalInput {
        start: None,
        updated: None,
        invalid: None,
        conversion: Conversion::Rescale(Box::new(rescale)),
        to,
        update: None,
        from: codec.clone(),
    };
    let input = Input {
        source: 0,
        value: Value::Signal(Box::new(value)),
        filter: Filter::Always,
        trigger: Trigger::Never,
        repeats: true,
        required: false,
        timeout: signal.timeout.map(timeout),
        group: None,
    };
    let from = format!("{bus_name}.{}.{}", message.name, signal.name);
    frame.signals.push(FrameSignal { name: signal.name.clone(), from, unit: signal.unit.clone(), codec });
    let composition = &mut frame.composition;
    composition.initial = vec![0; (slot + 1) * 8].into();
    composition.inputs = std::mem::take(&mut composition.inputs).into_iter().chain([input]).collect();
}
