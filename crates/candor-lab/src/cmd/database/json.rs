//! The output of `candor database --json`.

use std::time::Duration;

use candor_signals::{Database, Effect, Message, Oddity, SendMode, Signal};
use serde::Serialize;

use super::conditions;
use super::text::{kind, order};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View<'a> {
    file: &'a str,
    nodes: &'a [String],
    messages: Vec<MessageView<'a>>,
    oddities: Vec<OddityView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MessageView<'a> {
    name: &'a str,
    id_hex: Option<String>,
    len_byte: u16,
    senders: &'a [String],
    cycle_s: Option<f64>,
    fast_cycle_s: Option<f64>,
    min_delay_s: Option<f64>,
    start_delay_s: Option<f64>,
    repetitions: Option<u32>,
    send_type: Option<&'a str>,
    send: Option<&'static str>,
    format: Option<&'a str>,
    comment: &'a str,
    line: u32,
    signals: Vec<SignalView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SignalView<'a> {
    name: &'a str,
    start_bit: u16,
    len_bit: u16,
    order: &'static str,
    kind: &'static str,
    factor: String,
    offset: String,
    min: Option<String>,
    max: Option<String>,
    unit: &'a str,
    receivers: &'a [String],
    is_switch: bool,
    present: Vec<ConditionView<'a>>,
    values: Vec<ValueView<'a>>,
    start_raw: Option<String>,
    inactive_raw: Option<String>,
    timeout_s: Option<f64>,
    send_type: Option<&'a str>,
    comment: &'a str,
    line: u32,
    refused: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ConditionView<'a> {
    switch: &'a str,
    ranges: &'a [(u64, u64)],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ValueView<'a> {
    raw: String,
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OddityView<'a> {
    line: u32,
    subject: Option<&'a str>,
    code: &'static str,
    effect: &'static str,
    message: String,
}

/// All messages, or these.
pub(super) fn view<'a>(file: &'a str, database: &'a Database, wanted: Option<&[&'a Message]>) -> View<'a> {
    let messages = match wanted {
        Some(wanted) => wanted.iter().map(|one| message(one)).collect(),
        None => database.messages.iter().map(message).collect(),
    };
    View { file, nodes: &database.nodes, messages, oddities: database.oddities.iter().map(oddity).collect() }
}

fn message(from: &Message) -> MessageView<'_> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let timing = &from.timing;
    MessageView {
        name: &from.name,
        id_hex: from.id.map(|id| id.to_string()),
        len_byte: from.len,
        senders: &from.senders,
        cycle_s: seconds(timing.cycle),
        fast_cycle_s: seconds(timing.fast_cycle),
        min_delay_s: seconds(timing.min_delay),
        start_delay_s: seconds(timing.start_delay),
        repetitions: timing.repetitions,
        send_type: timing.send_type.as_deref(),
        send: timing.send_mode().map(|mode| match mode {
            SendMode::Direct => "direct",
            SendMode::Mixed => "mixed",
            SendMode::None => "none",
            SendMode::Periodic => "periodic",
        }),
        format: from.format.as_deref(),
        comment: &from.comment,
        line: from.line,
        signals: from.signals.iter().enumerate().map(|(at, one)| signal(from, at, one)).collect(),
    }
}

fn signal<'a>(message: &'a Message, at: usize, from: &'a Signal) -> SignalView<'a> {
    let present = conditions(message, at).into_iter().map(|(switch, ranges)| ConditionView { switch, ranges });
    SignalView {
        name: &from.name,
        start_bit: from.start,
        len_bit: from.bits,
        order: order(from.order),
        kind: kind(from.kind),
        factor: from.factor.to_string(),
        offset: from.offset.to_string(),
        min: from.min.map(|min| min.to_string()),
        max: from.max.map(|max| max.to_string()),
        unit: &from.unit,
        receivers: &from.receivers,
        is_switch: from.is_switch,
        present: present.collect(),
        values: from.values.iter().map(|one| ValueView { raw: one.raw.to_string(), name: &one.name }).collect(),
        start_raw: from.start_value.map(|raw| raw.to_string()),
        inactive_raw: from.inactive_value.map(|raw| raw.to_string()),
        timeout_s: from.timeout.map(|time| time.as_secs_f64()),
        send_type: from.send_type.as_deref(),
        comment: &from.comment,
        line: from.line,
        refused: from.refusal.as_ref().map(ToString::to_string),
    }
}

fn oddity(from: &Oddity) -> OddityView<'_> {
    OddityView {
        line: from.line,
        subject: from.subject.as_deref(),
        code: from.kind.code(),
        effect: match from.effect() {
            Effect::FileRefused => "file-refused",
            Effect::Ignored => "ignored",
            Effect::MessageRefused => "message-refused",
            Effect::Noted => "noted",
            Effect::SignalRefused => "signal-refused",
        },
        message: from.kind.to_string(),
    }
}
