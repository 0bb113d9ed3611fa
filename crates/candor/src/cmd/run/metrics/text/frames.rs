//! Metrics of composed frames and of their signals.

use std::fmt;

use candor_config::plan::{ComposedFrame, FrameSignal};
use candor_engine::{FrameCounters, FrameStatus, Gateway, InputStatus};
use candor_signals::compose::Origin;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::{Column, family};

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) name: String,
    /// Name of the bus.
    pub(super) to: String,
    pub(super) counters: FrameCounters,
    /// Bus and message, verdict, and frames with it.
    pub(super) checked: Vec<(String, &'static str, u64)>,
    /// `None` if the thread that composes frames has ended.
    pub(super) is_silent: Option<bool>,
}

#[derive(Debug)]
pub(super) struct Signal {
    frame: String,
    name: String,
    from: String,
    unit: String,
    /// Physical. `None` for a watched signal before the first one.
    value: Option<f64>,
    /// Empty if its value has no name.
    value_name: String,
    origin: &'static str,
    is_late: bool,
    /// Since the last reception.
    age_s: Option<f64>,
}

/// The composed frames of a gateway, their signals and those that are watched, as they are now.
pub(super) fn of(gateway: &Gateway) -> (Vec<Frame>, Vec<Signal>) {
    let (mut frames, mut signals) = (Vec::new(), Vec::new());
    // Without their state the counters are still reported.
    let mut statuses = gateway.frame_statuses().unwrap_or_default().into_iter();
    for (planned, counters) in gateway.plan().frames().iter().zip(gateway.frame_counters()) {
        let status = statuses.next();
        let is_silent = status.as_ref().map(|status| status.is_silent);
        let to = gateway.plan().bus(planned.to).name.clone();
        let checked = planned.verdicts().flat_map(|(from, verdicts)| {
            verdicts.into_iter().map(move |(verdict, frames)| (from.to_owned(), verdict, frames))
        });
        frames.push(Frame { name: planned.name.clone(), to, counters, checked: checked.collect(), is_silent });
        status.iter().for_each(|status| signals.extend(of_frame(planned, status)));
    }
    for (watched, status) in gateway.plan().watched().iter().zip(statuses) {
        // A start value is one that is sent.
        signals.extend(of_frame(watched, &status).map(|signal| match signal.origin {
            "start" => Signal { value: None, value_name: String::new(), ..signal },
            _ => signal,
        }));
    }
    (frames, signals)
}

/// Its signals.
pub(super) fn of_frame(planned: &ComposedFrame, status: &FrameStatus) -> impl Iterator<Item = Signal> {
    planned.signals.iter().zip(&status.inputs).filter_map(|(signal, input)| Signal::new(&planned.name, signal, input))
}

impl Frame {
    fn labels(&self) -> [(&str, &str); 2] {
        [("frame", &self.name), ("to", &self.to)]
    }
}

impl Signal {
    /// `None` for a whole payload.
    fn new(
        frame: &str,
        planned: &FrameSignal,
        &InputStatus { origin, is_late, age, bits }: &InputStatus,
    ) -> Option<Self> {
        let FrameSignal { name, from, unit, codec } = planned;
        let bits = bits?;
        Some(Self {
            frame: frame.to_owned(),
            name: name.clone(),
            from: from.clone(),
            unit: unit.clone(),
            value: Some(codec.scale().physical_f64(bits)),
            value_name: codec.name(bits).unwrap_or_default().to_owned(),
            origin: match origin {
                Origin::Start => "start",
                Origin::Received => "received",
                Origin::Invalid => "invalid",
                Origin::Timeout => "timeout",
            },
            is_late,
            age_s: age.map(|age| age.as_secs_f64()),
        })
    }

    fn labels(&self) -> [(&str, &str); 3] {
        [("frame", &self.frame), ("signal", &self.name), ("from", &self.from)]
    }
}

pub(super) fn encode((frames, signals): (&[Frame], &[Signal]), encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let counters: [Column<FrameCounters, u64>; 2] = [
        ("frame_received_frames", "Frames that a composed frame takes signals of", |counted| counted.received),
        ("frame_sent_frames", "Composed frames accepted by the outgoing interface", |counted| counted.sent),
    ];
    for (name, help, value) in counters {
        let values = frames.iter().map(|frame| (frame.labels(), value(&frame.counters)));
        family(encoder, MetricType::Counter, (name, help), values)?;
    }
    let dropped = frames.iter().flat_map(|frame| {
        let [name, to] = frame.labels();
        let reasons = frame.counters.drops.by_reason();
        reasons.into_iter().map(move |(reason, frames)| ([name, to, ("reason", reason)], frames))
    });
    let help = "Composed frames that were not sent, by reason";
    family(encoder, MetricType::Counter, ("frame_dropped_frames", help), dropped)?;
    let checked = frames.iter().flat_map(|frame| {
        let [name, to] = frame.labels();
        let labelled = frame.checked.iter();
        labelled.map(move |(from, verdict, frames)| ([name, to, ("from", from), ("verdict", *verdict)], *frames))
    });
    let help = "Frames that a composed frame takes signals of, by the verdict of their check";
    family(encoder, MetricType::Counter, ("frame_checked_frames", help), checked)?;
    let silent = frames.iter().filter_map(|frame| Some((frame.labels(), u64::from(frame.is_silent?))));
    let help = "1 while nothing is sent: a required signal has no value, or a source is late";
    family(encoder, MetricType::Gauge, ("frame_silent", help), silent)?;
    let late = signals.iter().map(|signal| (signal.labels(), u64::from(signal.is_late)));
    let help = "1 from the timeout of a signal of a composed frame until it is received again";
    family(encoder, MetricType::Gauge, ("signal_late", help), late)?;

    let numbers: [Column<Signal, Option<f64>>; 2] = [
        ("signal_value", "Physical value of a signal in a composed frame", |signal| signal.value),
        ("signal_age", "Time since a signal was last received", |signal| signal.age_s),
    ];
    for ((name, help, value), unit) in numbers.into_iter().zip([None, Some(&Unit::Seconds)]) {
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for signal in signals {
            let Some(value) = value(signal) else { continue };
            family.encode_family(&signal.labels())?.encode_gauge(&value)?;
        }
    }
    let help = "Unit of a signal, origin of its value, and the name of the value if it has one";
    let mut info = encoder.encode_descriptor("signal", help, None, MetricType::Info)?;
    for signal in signals {
        let [frame, name, from] = signal.labels();
        let Signal { unit, origin, value_name, .. } = signal;
        info.encode_info(&[frame, name, from, ("unit", unit), ("origin", origin), ("value_name", value_name)])?;
    }
    Ok(())
}
