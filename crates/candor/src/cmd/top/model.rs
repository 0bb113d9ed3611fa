//! Rates, drops since the start or a reset, and latencies, computed from successive samples.

#[cfg(test)]
use std::collections::BTreeMap;
use std::collections::{HashMap, VecDeque};

use serde::{Serialize, Serializer};

use super::sample::{Bus, Frame, Route, Sample, Signal};

/// Samples in a sparkline.
pub(super) const HISTORY: usize = 60;
const HALF: f64 = 0.5;
const NEARLY_ALL: f64 = 0.99;

#[derive(Debug, Default)]
pub(super) struct Model {
    now: Option<Sample>,
    /// The previous sample, unless the gateway was restarted in between.
    before: Option<Sample>,
    /// Sample of the last reset, from which drops and losses are counted; `None` for the start of the gateway.
    since: Option<Sample>,
    /// Histories by name of the route.
    histories: HashMap<String, VecDeque<Moment>>,
}

/// A point in the history of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moment {
    pub(super) frames_per_s: Option<f64>,
    /// The histogram bucket of the 99th percentile, scaled to 0 to 1; `None` without frames.
    pub(super) latency: Option<f64>,
}

/// A route; its fields are the keys of the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Route"))]
pub(in crate::cmd) struct RouteRow {
    pub(super) route: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) side: String,
    pub(super) handled: u64,
    /// Rates are `None` until there are two samples.
    pub(super) frames_per_s: Option<f64>,
    pub(super) byte_per_s: Option<f64>,
    pub(super) drops_per_s: Option<f64>,
    /// Since the start or the last reset.
    pub(super) dropped: u64,
    /// Number of drops by reason.
    #[serde(serialize_with = "by_reason")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) drops: Vec<(String, u64)>,
    /// Percentile of the frames between the last two samples.
    #[serde(rename = "p50_at_most_s")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub(super) p50: Option<Latency>,
    #[serde(rename = "p99_at_most_s")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub(super) p99: Option<Latency>,
    #[serde(skip)]
    pub(super) is_measured: bool,
    /// Measured moments, oldest first.
    #[serde(skip)]
    pub(super) history: Vec<Moment>,
}

/// A bus; its fields are the keys of the JSON output.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Bus"))]
pub(in crate::cmd) struct BusRow {
    pub(super) bus: String,
    pub(super) interface: String,
    pub(super) state: String,
    pub(super) bitrate_bit_per_s: Option<u64>,
    /// Bounds, from 0 to 1.
    pub(super) load_least: Option<f64>,
    pub(super) load_most: Option<f64>,
    pub(super) received_per_s: Option<f64>,
    pub(super) sent_per_s: Option<f64>,
    pub(super) queue: Option<u64>,
    /// Since the start or the last reset.
    pub(super) lost: u64,
    pub(super) errors: u64,
}

/// A bucket of the latency histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Latency {
    AtMost {
        seconds: f64,
    },
    /// In the last bucket, which has only this lower bound.
    Above {
        seconds: f64,
    },
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AtMost { seconds } => serializer.serialize_f64(*seconds),
            Self::Above { .. } => serializer.serialize_none(),
        }
    }
}

fn by_reason<S: Serializer>(drops: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(drops.iter().map(|(reason, frames)| (reason, frames)))
}

impl BusRow {
    pub(super) fn load(&self) -> Option<(f64, f64)> {
        self.load_least.zip(self.load_most)
    }
}

impl Model {
    /// Adds a sample. A smaller uptime means that the gateway was restarted.
    pub(super) fn take(&mut self, mut sample: Sample) {
        let before = self.now.take();
        sample.signals.iter_mut().for_each(|signal| remember_value(signal, before.as_ref()));
        let is_new_run = before.as_ref().is_none_or(|before| sample.uptime_s < before.uptime_s);
        // Two samples of the same moment have no rates.
        let is_same_moment = before.as_ref().is_some_and(|before| sample.uptime_s <= before.uptime_s);
        if is_new_run {
            (self.before, self.since) = (None, None);
        } else if !is_same_moment {
            self.before = before;
        }
        self.now = Some(sample);
        if !is_new_run && !is_same_moment {
            self.remember();
        }
    }

    /// Restarts the counts of drops and losses at 0.
    pub(super) fn reset(&mut self) {
        self.since.clone_from(&self.now);
        self.histories.clear();
    }

    pub(super) const fn now(&self) -> Option<&Sample> {
        self.now.as_ref()
    }

    pub(super) const fn counts_from_start(&self) -> bool {
        self.since.is_none()
    }

    /// In the order of the file.
    pub(super) fn routes(&self) -> Vec<RouteRow> {
        self.now.iter().flat_map(|now| &now.routes).map(|route| self.route(route)).collect()
    }

    /// In the order of the file.
    pub(super) fn buses(&self) -> Vec<BusRow> {
        self.now.iter().flat_map(|now| &now.buses).map(|bus| self.bus(bus)).collect()
    }

    /// Composed ones, in the order of the file.
    pub(super) fn frames(&self) -> Vec<Frame> {
        let since = |frame: &Frame| Some(same_frame(self.since.as_ref()?, frame)?.dropped);
        let before = |frame: &Frame| Some(same_frame(self.before.as_ref()?, frame)?.sent);
        let of_frame = |frame: &Frame| Frame {
            sent_per_s: self.per_second(frame.sent, before(frame)),
            dropped: since(frame).and_then(|since| grown(frame.dropped, since)).unwrap_or(frame.dropped),
            ..frame.clone()
        };
        self.now.iter().flat_map(|now| &now.frames).map(of_frame).collect()
    }

    /// Of the composed frames, frame by frame.
    pub(super) fn signals(&self) -> &[Signal] {
        self.now.as_ref().map_or(&[], |now| &now.signals)
    }

    /// Seconds between the last two samples.
    fn elapsed_s(&self) -> Option<f64> {
        Some(self.now.as_ref()?.uptime_s - self.before.as_ref()?.uptime_s)
    }

    fn per_second(&self, now: u64, before: Option<u64>) -> Option<f64> {
        Some(grown(now, before?)? as f64 / self.elapsed_s()?)
    }

    fn route(&self, route: &Route) -> RouteRow {
        let before = self.before.as_ref().and_then(|before| same_route(before, route));
        let since = self.since.as_ref().and_then(|since| same_route(since, route));
        let rate = |value: &dyn Fn(&Route) -> Option<u64>| self.per_second(value(route)?, before.and_then(value));
        let classes = self.classes(route);
        let drops_since = |(reason, frames): &(String, u64)| {
            let earlier = since.iter().flat_map(|since| &since.drops).find(|(other, _)| other == reason);
            let earlier = earlier.map_or(0, |(_, frames)| *frames);
            (reason.clone(), grown(*frames, earlier).unwrap_or(*frames))
        };
        let drops: Vec<_> = route.drops.iter().map(drops_since).collect();
        RouteRow {
            route: route.name.clone(),
            from: route.from.clone(),
            to: route.to.clone(),
            side: route.side.clone(),
            handled: route.handled,
            frames_per_s: rate(&|route| Some(route.handled)),
            byte_per_s: rate(&|route| route.bytes),
            drops_per_s: rate(&|route| Some(route.dropped())),
            dropped: drops.iter().map(|(_, frames)| frames).sum(),
            drops,
            p50: quantile(&classes, HALF).map(|at| latency(&classes, at)),
            p99: quantile(&classes, NEARLY_ALL).map(|at| latency(&classes, at)),
            is_measured: !route.latencies.is_empty(),
            history: self.histories.get(&route.name).into_iter().flatten().copied().collect(),
        }
    }

    fn bus(&self, bus: &Bus) -> BusRow {
        let before = self.before.as_ref().and_then(|before| same_bus(before, bus));
        let since = self.since.as_ref().and_then(|since| same_bus(since, bus));
        let rate = |value: &dyn Fn(&Bus) -> Option<u64>| self.per_second(value(bus)?, before.and_then(value));
        let counted =
            |value: &dyn Fn(&Bus) -> u64| grown(value(bus), since.map_or(0, value)).unwrap_or_else(|| value(bus));
        let load = || {
            let ((least, most), (least_before, most_before)) = (bus.busy_s?, before?.busy_s?);
            let elapsed_s = self.elapsed_s()?;
            let part = |now: f64, before: f64| ((now - before) / elapsed_s).clamp(0.0, 1.0);
            Some((part(least, least_before), part(most, most_before)))
        };
        let load = load();
        BusRow {
            bus: bus.name.clone(),
            interface: bus.interface.clone(),
            state: bus.state().to_owned(),
            bitrate_bit_per_s: bus.bitrate,
            load_least: load.map(|(least, _)| least),
            load_most: load.map(|(_, most)| most),
            received_per_s: rate(&|bus| bus.received),
            sent_per_s: rate(&|bus| bus.sent),
            queue: bus.queue,
            lost: counted(&|bus| bus.lost),
            errors: counted(&|bus| bus.errors),
        }
    }

    fn remember(&mut self) {
        let of_route = |route: &Route| {
            let row = self.route(route);
            let classes = self.classes(route);
            let at = quantile(&classes, NEARLY_ALL).map(|at| at as f64 / (classes.len() - 1) as f64);
            (row.route, Moment { frames_per_s: row.frames_per_s, latency: at })
        };
        let moments: Vec<_> = self.now.iter().flat_map(|now| &now.routes).map(of_route).collect();
        for (name, moment) in moments {
            let history = self.histories.entry(name).or_default();
            if history.len() == HISTORY {
                history.pop_front();
            }
            history.push_back(moment);
        }
    }

    /// The latency histogram of the frames between the last two samples.
    fn classes(&self, route: &Route) -> Vec<(f64, u64)> {
        let before = self.before.as_ref().and_then(|before| same_route(before, route));
        before.map(|before| between(&route.latencies, &before.latencies)).unwrap_or_default()
    }
}

fn same_route<'a>(sample: &'a Sample, route: &Route) -> Option<&'a Route> {
    sample.routes.iter().find(|other| other.name == route.name)
}

fn same_bus<'a>(sample: &'a Sample, bus: &Bus) -> Option<&'a Bus> {
    sample.buses.iter().find(|other| other.name == bus.name)
}

fn same_frame<'a>(sample: &'a Sample, frame: &Frame) -> Option<&'a Frame> {
    sample.frames.iter().find(|other| other.name == frame.name)
}

/// Continues the history of a signal.
fn remember_value(signal: &mut Signal, before: Option<&Sample>) {
    let is_same = |other: &&Signal| other.is(&signal.frame, &signal.name);
    if let Some(earlier) = before.and_then(|before| before.signals.iter().find(is_same)) {
        let from = (earlier.history.len() + 1).saturating_sub(HISTORY);
        signal.history = earlier.history[from..].to_vec();
    }
    signal.history.extend(signal.value);
}

/// The increase of a counter; `None` if it restarted, as that of a route that was removed and added again.
const fn grown(now: u64, before: u64) -> Option<u64> {
    now.checked_sub(before)
}

/// The difference of two cumulative histograms, by bucket; empty if they cannot be compared.
fn between(now: &[(f64, u64)], before: &[(f64, u64)]) -> Vec<(f64, u64)> {
    let mut below = 0;
    let of_class = |((bound, now), (_, before)): (&(f64, u64), &(f64, u64))| {
        let up_to_here = now.checked_sub(*before)?;
        let frames = up_to_here.checked_sub(std::mem::replace(&mut below, up_to_here))?;
        Some((*bound, frames))
    };
    let is_same = now.len() == before.len();
    is_same.then(|| now.iter().zip(before).map(of_class).collect::<Option<_>>()).flatten().unwrap_or_default()
}

/// The bucket of a quantile; `None` without frames.
fn quantile(classes: &[(f64, u64)], part: f64) -> Option<usize> {
    let all: u64 = classes.iter().map(|(_, frames)| frames).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the frames of one interval")]
    let rank = (all as f64 * part).ceil() as u64;
    let mut sum = 0;
    (all > 0).then(|| {
        classes.iter().position(|(_, frames)| {
            sum += frames;
            sum >= rank
        })
    })?
}

fn latency(classes: &[(f64, u64)], at: usize) -> Latency {
    match classes[at].0 {
        seconds if seconds.is_finite() => Latency::AtMost { seconds },
        _ => Latency::Above { seconds: classes[..at].last().map_or(0.0, |(bound, _)| *bound) },
    }
}

#[cfg(test)]
mod tests;
