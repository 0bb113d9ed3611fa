//! Frames as the signals of a database.

use candor_config::plan::{BusIndex, Plan};
use candor_core::frame::Frame;
use candor_signals::{Codec, Message, MessageCodec, Signal};
use serde::Serialize;

/// A signal of a frame.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct SignalView<'a> {
    /// Index in the message.
    #[serde(skip)]
    pub(in crate::cmd) at: usize,
    name: &'a str,
    /// Its physical value, or the name of its raw value.
    value: String,
    unit: &'a str,
}

/// A signal that a route changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ChangeView<'a> {
    name: &'a str,
    before: String,
    after: String,
    unit: &'a str,
}

/// The message of a frame that is received on a bus, if a database of the bus has it.
pub(super) fn message<'p>(plan: &'p Plan, bus: BusIndex, frame: &Frame) -> Option<&'p Message> {
    if !frame.id.carries_data() {
        return None;
    }
    plan.databases(bus).iter().find_map(|database| database.with_id(frame.id).next())
}

/// The signals that a frame of this message has.
pub(super) fn of<'p>(message: &'p Message, frame: &Frame) -> Vec<SignalView<'p>> {
    decoded(message, &MessageCodec::new(message), frame)
}

/// As [`of`], with the codec of the message.
pub(in crate::cmd) fn decoded<'p>(message: &'p Message, codec: &MessageCodec, frame: &Frame) -> Vec<SignalView<'p>> {
    let mut signals = Vec::new();
    codec.decode(frame.payload(), |at, codec, bits| {
        let Signal { name, unit, .. } = &message.signals[at];
        signals.push(SignalView::new(at, name, codec, bits, unit));
    });
    signals
}

/// The signals that differ.
pub(super) fn between<'p>(message: &'p Message, before: &Frame, after: &Frame) -> Vec<ChangeView<'p>> {
    let of = |signal: &'p Signal| {
        let (before, after) = (value(message, signal, before)?, value(message, signal, after)?);
        (before != after).then_some(ChangeView { name: &signal.name, before, after, unit: &signal.unit })
    };
    message.signals.iter().filter_map(of).collect()
}

fn value(message: &Message, signal: &Signal, frame: &Frame) -> Option<String> {
    let codec = Codec::new(message, signal)?;
    let bits = codec.get(frame.payload())?;
    Some(value_of(&codec, bits))
}

fn value_of(codec: &Codec, bits: u64) -> String {
    codec.name(bits).map_or_else(|| codec.scale().physical(bits).to_string(), str::to_owned)
}

impl<'a> SignalView<'a> {
    pub(in crate::cmd) fn new(at: usize, name: &'a str, codec: &Codec, bits: u64, unit: &'a str) -> Self {
        Self { at, name, value: value_of(codec, bits), unit }
    }

    pub(in crate::cmd) fn text(&self) -> String {
        format!("{} {}", self.name, with_unit(&self.value, self.unit))
    }
}

impl ChangeView<'_> {
    pub(super) fn text(&self) -> String {
        format!("{} {} → {}", self.name, self.before, with_unit(&self.after, self.unit))
    }
}

fn with_unit(value: &str, unit: &str) -> String {
    format!("{value} {unit}").trim_end().to_owned()
}
