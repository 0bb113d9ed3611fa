//! Frames that candor composes: as text and as JSON.

use std::time::Duration;

use candor_config::plan::{ComposedFrame, FrameSignal, OnTimeout, Plan, Timing};
use candor_signals::SendMode;
use candor_signals::compose::{Filter, Input, SendRule, TimeoutAction};
use serde::Serialize;

use crate::cmd::job_text::{format_name, hex};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FrameView<'a> {
    name: &'a str,
    to: &'a str,
    message: &'a str,
    id_hex: String,
    format: &'static str,
    len_bytes: usize,
    /// Before anything is received.
    initial_hex: String,
    send: &'static str,
    cycle_s: Option<f64>,
    min_delay_s: f64,
    repetitions: u32,
    /// What frames of a source must have, by bus and message.
    checks: Vec<&'a str>,
    /// What is written into each frame.
    protect: Option<&'a str>,
    signals: Vec<SignalView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SignalView<'a> {
    name: &'a str,
    /// Bus, message and signal.
    from: &'a str,
    timeout_s: Option<f64>,
    /// What happens then, if there is a timeout: `keep`, `stop` or `substitute`.
    on_timeout: Option<&'static str>,
}

pub(super) fn view<'a>(plan: &'a Plan, frame: &'a ComposedFrame) -> FrameView<'a> {
    let composition = &frame.composition;
    let signals = frame.signals.iter().zip(&composition.inputs).map(|(signal, input)| SignalView {
        name: &signal.name,
        from: &signal.from,
        timeout_s: input.timeout.as_ref().map(|timeout| timeout.later.as_secs_f64()),
        on_timeout: input.timeout.as_ref().map(|timeout| action(&timeout.action)),
    });
    let told = |key: &'static str| frame.told.iter().filter(move |(of, _)| *of == key).map(|(_, text)| text.as_str());
    FrameView {
        name: &frame.name,
        to: &plan.bus(frame.to).name,
        message: &frame.message,
        id_hex: id(frame),
        format: format_name(frame.format),
        len_bytes: composition.initial.len(),
        initial_hex: hex(&composition.initial),
        send: mode(composition.send.mode),
        cycle_s: composition.send.cycle.map(|cycle| cycle.as_secs_f64()),
        min_delay_s: composition.send.min_delay.as_secs_f64(),
        repetitions: composition.send.repetitions,
        checks: told("check").collect(),
        protect: told("protect").next(),
        signals: signals.collect(),
    }
}

/// A tree of the composed frames, and the watched signals; empty if there are none.
pub(super) fn tree(plan: &Plan) -> String {
    let mut text = String::new();
    if !plan.frames().is_empty() {
        text.push_str("\ncomposed in user space\n");
    }
    for (position, frame) in plan.frames().iter().enumerate() {
        let (fork, rail) = if position + 1 == plan.frames().len() { ("└", " ") } else { ("├", "│") };
        let to = plan.bus(frame.to);
        let (name, bytes) = (&frame.name, frame.composition.initial.len());
        text.push_str(&format!("{fork}──▶ {} ({}): frame {name}\n", to.name, to.interface));
        let message = format!("{}, {}, {bytes} bytes", frame.message, id(frame));
        let signals = frame.signals.iter().zip(&frame.composition.inputs);
        let signals = signals.map(|(signal, input)| ("signal", origin(signal, input)));
        let labels = [("message", message), ("sent", when(&frame.composition.send))];
        let told = frame.told.iter().cloned();
        for (label, meaning) in labels.into_iter().chain(told).chain(signals) {
            text.push_str(&format!("{rail}       {label:<9} {meaning}\n"));
        }
    }
    if !plan.watched().is_empty() {
        text.push_str("\nwatched by `candor top --signals` and the metrics\n");
    }
    for frame in plan.watched() {
        let signals: Vec<_> = frame.signals.iter().map(|signal| signal.name.as_str()).collect();
        text.push_str(&format!("└── {}: {}\n", frame.name, signals.join(", ")));
    }
    text
}

fn id(frame: &ComposedFrame) -> String {
    if frame.id.is_eff() { format!("{:08X}", frame.id.bits()) } else { format!("{:03X}", frame.id.bits()) }
}

fn mode(mode: SendMode) -> &'static str {
    match mode {
        SendMode::Direct => "direct",
        SendMode::Mixed => "mixed",
        SendMode::None => "none",
        SendMode::Periodic => "periodic",
    }
}

fn action(action: &TimeoutAction) -> &'static str {
    match action {
        TimeoutAction::Keep => "keep",
        TimeoutAction::Stop => "stop",
        TimeoutAction::Substitute(_) | TimeoutAction::SubstitutePayload(_) => "substitute",
    }
}

fn when(send: &SendRule) -> String {
    let mut parts = Vec::new();
    if let Some(cycle) = send.cycle.filter(|_| send.sends_cyclically()) {
        parts.push(format!("every {cycle:?}"));
    }
    if let Some(fast) = send.fast.as_ref().filter(|_| send.sends_cyclically()) {
        parts.push(format!("every {:?} while fast", fast.cycle));
    }
    if send.sends_events() {
        parts.push("on events".to_owned());
    }
    if send.min_delay > Duration::ZERO {
        let of = if send.delays_all { "frames" } else { "events" };
        parts.push(format!("{of} at least {:?} apart", send.min_delay));
    }
    if send.repetitions > 0 {
        parts.push(format!("repeated {} times after {:?}", send.repetitions, send.repetition_period));
    }
    if parts.is_empty() { "never".to_owned() } else { parts.join(", ") }
}

fn origin(signal: &FrameSignal, input: &Input) -> String {
    let mut text = format!("{} from {}", signal.name, signal.from);
    if input.required {
        text.push_str(", required");
    }
    if input.filter != Filter::Always {
        text.push_str(", filtered");
    }
    if let Some(timeout) = &input.timeout {
        let then = match timeout.action {
            TimeoutAction::Keep => "the last value stays",
            TimeoutAction::Stop => "nothing is sent",
            TimeoutAction::Substitute(_) | TimeoutAction::SubstitutePayload(_) => "a substitute is sent",
        };
        text.push_str(&format!("; after {:?} without it {then}", timeout.later));
    }
    text
}

/// The timing of a route.
pub(crate) fn timing(timing: &Timing) -> String {
    let mut parts = Vec::new();
    parts.extend(timing.cycle.map(|cycle| format!("the newest frame every {cycle:?}")));
    parts.extend(timing.on_change.as_ref().map(|mask| {
        if mask.iter().all(|byte| *byte == 0xFF) {
            "on a change".to_owned()
        } else {
            "on a change of some bits".to_owned()
        }
    }));
    parts.extend((!timing.min_delay.is_zero()).then(|| format!("at least {:?} apart", timing.min_delay)));
    parts.extend(timing.timeout.as_ref().map(|(after, action)| {
        let then = match action {
            OnTimeout::Keep => "the last frame stays",
            OnTimeout::Stop => "nothing is sent",
            OnTimeout::Substitute(_) => "a substitute is sent",
        };
        format!("after {after:?} without one {then}")
    }));
    parts.join(", ")
}

/// As in a gateway file.
pub(super) fn on_timeout(action: &OnTimeout) -> String {
    match action {
        OnTimeout::Keep => "keep".to_owned(),
        OnTimeout::Stop => "stop".to_owned(),
        OnTimeout::Substitute(payload) => format!("substitute:{}", hex(payload)),
    }
}
