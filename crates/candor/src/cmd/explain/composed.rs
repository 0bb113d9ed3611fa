//! What candor composes of a received frame.

use candor_config::plan::{BusIndex, FrameSource, Plan};
use candor_core::frame::Frame;
use candor_core::job::{Computed, RealtimeNs, Seen};
use candor_core::rule::Verdict;
use candor_signals::compose::{Composer, Origin, Time};
use serde::Serialize;

use super::signals::SignalView;
use crate::cmd::job_text::hex;

/// A composed frame that takes signals from a received one.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ComposedView<'a> {
    frame: &'a str,
    to: &'a str,
    to_interface: &'a str,
    /// What its check finds wrong with the received frame, from which then no value is taken.
    refused: Option<&'static str>,
    /// If nothing else is received, with checksum and counter.
    data_hex: String,
    /// The signals that are taken, as they are sent.
    signals: Vec<SignalView<'a>>,
}

/// The frames that take signals from a frame, the first one that is received on a bus.
pub(super) fn of<'p>(plan: &'p Plan, bus: BusIndex, frame: &Frame) -> Vec<ComposedView<'p>> {
    let mut all = Vec::new();
    for composed in plan.frames() {
        let is_source = |source: &FrameSource| source.bus == bus && source.id == frame.id;
        let Some(number) = composed.sources.iter().position(is_source) else { continue };
        let Ok(mut composer) = Composer::new(composed.composition.clone(), Time::from_nanos(0)) else { continue };
        let check = composed.checks.get(number).and_then(Option::as_ref);
        let is_refused =
            |check: &&Computed| check.change_frame(RealtimeNs::UNKNOWN, &mut frame.clone()) == Verdict::Delete;
        let refused = check.filter(is_refused).map(|check| check.fault(frame).unwrap_or("a bad frame"));
        if refused.is_none() {
            let _sent_at_once = composer.received(Time::from_nanos(1), number, frame.payload()).is_some();
        }
        let mut signals = Vec::new();
        for (at, status) in composer.statuses().enumerate() {
            let signal = &composed.signals[at];
            if let (Some(bits), Origin::Received | Origin::Invalid) = (status.bits, status.origin) {
                signals.push(SignalView::new(at, &signal.name, &signal.codec, bits, &signal.unit));
            }
        }
        let to = plan.bus(composed.to);
        let (frame, to, to_interface) = (composed.name.as_str(), to.name.as_str(), to.interface.as_str());
        let mut payload = composer.payload().to_vec();
        if let Some(protect) = &composed.protect {
            let _always_sent = protect.change(Seen { id: composed.id, at: RealtimeNs::UNKNOWN }, &mut payload);
        }
        all.push(ComposedView { frame, to, to_interface, refused, data_hex: hex(&payload), signals });
    }
    all
}

impl ComposedView<'_> {
    pub(super) fn text(&self) -> String {
        let taken: Vec<_> = self.signals.iter().map(SignalView::text).collect();
        let taken = match self.refused {
            Some(fault) => format!("no value is taken, because the check of this message finds {fault}"),
            None if taken.is_empty() => "no value is taken".to_owned(),
            None => taken.join(", "),
        };
        let Self { frame, to, to_interface, data_hex, .. } = self;
        format!("composed: {frame} to {to} ({to_interface}), {data_hex} at first: {taken}")
    }
}
