//! One sample of a gateway's metrics.

use serde::Serialize;

use super::metrics::{self, Point};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) version: String,
    pub(super) engine: String,
    pub(super) uptime_s: f64,
    /// In the order of the file.
    pub(super) routes: Vec<Route>,
    pub(super) buses: Vec<Bus>,
    /// Composed ones.
    pub(super) frames: Vec<Frame>,
    /// Of the composed frames.
    pub(super) signals: Vec<Signal>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Route {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) side: String,
    pub(super) handled: u64,
    /// `None` for routes in the kernel.
    pub(super) bytes: Option<u64>,
    /// Number of drops by reason.
    pub(super) drops: Vec<(String, u64)>,
    /// Cumulative histogram: upper bound in seconds, the last one infinite, and frames. Empty without `--latency`.
    pub(super) latencies: Vec<(f64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bus {
    pub(super) name: String,
    pub(super) interface: String,
    pub(super) is_up: bool,
    /// State of the CAN controller.
    pub(super) state: Option<String>,
    pub(super) bitrate: Option<u64>,
    /// Lower and upper bound of the busy time, in seconds.
    pub(super) busy_s: Option<(f64, f64)>,
    pub(super) queue: Option<u64>,
    /// `None` while the interface is missing.
    pub(super) received: Option<u64>,
    pub(super) sent: Option<u64>,
    pub(super) errors: u64,
    /// Frames lost because candor's sockets and rings were full; of a link, also those that did not arrive or were not sent.
    pub(super) lost: u64,
    /// Of a link: whether there is a peer.
    pub(super) has_peer: Option<bool>,
}

/// A composed frame; its fields are the keys of the JSON output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Frame {
    #[serde(rename = "frame")]
    pub(super) name: String,
    /// Name of the bus.
    pub(super) to: String,
    /// Frames of its sources.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// `None` until there are two samples.
    pub(super) sent_per_s: Option<f64>,
    /// Since the start or the last reset.
    pub(super) dropped: u64,
    /// Nothing is sent, because a source is missing or late.
    #[serde(rename = "silent")]
    pub(super) is_silent: bool,
}

/// A signal of a composed frame; its fields are the keys of the JSON output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Signal {
    pub(super) frame: String,
    #[serde(rename = "signal")]
    pub(super) name: String,
    /// Bus, message and signal.
    pub(super) from: String,
    /// Physical.
    pub(super) value: Option<f64>,
    pub(super) value_name: Option<String>,
    /// Empty if it has none.
    pub(super) unit: String,
    /// Where the value is from: `start`, `received`, or the substitute after a `timeout` or for an `invalid` value.
    pub(super) origin: String,
    #[serde(rename = "late")]
    pub(super) is_late: bool,
    /// Since the last reception.
    pub(super) age_s: Option<f64>,
    /// Values of this and earlier samples, oldest first.
    #[serde(skip)]
    pub(super) history: Vec<f64>,
}

impl Sample {
    /// Parses the answer of a gateway; `None` if it is not one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut sample = Self::default();
        let points = metrics::points(text)?;
        // These lines have all buses in the order of the file.
        points.iter().filter(|point| point.name == "candor_bus_up").for_each(|point| {
            sample.bus(point);
        });
        for point in points {
            let Some(name) = point.name.strip_prefix("candor_") else { continue };
            match name {
                "build_info" => {
                    sample.version = point.label("version").into();
                    sample.engine = point.label("engine").into();
                }
                "uptime_seconds" => sample.uptime_s = point.value,
                _ => {
                    if let Some(name) = name.strip_prefix("route_") {
                        sample.route(&point).take(name, &point);
                    } else if let Some(name) = name.strip_prefix("frame_") {
                        sample.frame(&point).take(name, &point);
                    } else if let Some(name) = name.strip_prefix("signal_") {
                        sample.signal(&point).take(name, &point);
                    } else if name.starts_with("bus_") || name.starts_with("interface_") {
                        sample.bus(&point).take(name, &point);
                    } else if let Some(name) = name.strip_prefix("link_") {
                        let bus = sample.buses.iter_mut().find(|bus| bus.name == point.label("link"));
                        bus.into_iter().for_each(|bus| bus.take_link(name, &point));
                    }
                }
            }
        }
        (!sample.version.is_empty()).then_some(sample)
    }

    fn route(&mut self, point: &Point<'_>) -> &mut Route {
        let name = point.label("route");
        let at = self.routes.iter().position(|route| route.name == name).unwrap_or_else(|| {
            let [from, to, side] = ["from", "to", "side"].map(|label| point.label(label).to_owned());
            self.routes.push(Route { name: name.into(), from, to, side, ..Route::default() });
            self.routes.len() - 1
        });
        &mut self.routes[at]
    }

    fn bus(&mut self, point: &Point<'_>) -> &mut Bus {
        let name = point.label("bus");
        let at = self.buses.iter().position(|bus| bus.name == name).unwrap_or_else(|| {
            let interface = point.label("interface").to_owned();
            self.buses.push(Bus { name: name.into(), interface, ..Bus::default() });
            self.buses.len() - 1
        });
        &mut self.buses[at]
    }

    fn frame(&mut self, point: &Point<'_>) -> &mut Frame {
        let [name, to] = ["frame", "to"].map(|label| point.label(label));
        let at = self.frames.iter().position(|frame| frame.name == name).unwrap_or_else(|| {
            self.frames.push(Frame { name: name.into(), to: to.into(), ..Frame::default() });
            self.frames.len() - 1
        });
        &mut self.frames[at]
    }

    fn signal(&mut self, point: &Point<'_>) -> &mut Signal {
        let [frame, name, from] = ["frame", "signal", "from"].map(|label| point.label(label));
        let at = self.signals.iter().position(|signal| signal.is(frame, name)).unwrap_or_else(|| {
            let [frame, name, from] = [frame, name, from].map(str::to_owned);
            self.signals.push(Signal { frame, name, from, ..Signal::default() });
            self.signals.len() - 1
        });
        &mut self.signals[at]
    }
}

impl Route {
    fn take(&mut self, name: &str, point: &Point<'_>) {
        match name {
            "handled_frames_total" => self.handled = point.count(),
            "deleted_frames_total" => self.drops.push(("deleted".into(), point.count())),
            "handled_bytes_total" => self.bytes = Some(point.count()),
            "dropped_frames_total" => self.drops.push((point.label("reason").into(), point.count())),
            "latency_seconds_bucket" => {
                let bound = point.label("le").parse().unwrap_or(f64::INFINITY);
                self.latencies.push((bound, point.count()));
            }
            _ => {}
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.drops.iter().map(|(_, frames)| frames).sum()
    }
}

impl Bus {
    fn take(&mut self, name: &str, point: &Point<'_>) {
        let direction = point.label("direction");
        match name {
            "bus_up" => self.is_up = point.value > 0.0,
            "bus_state" if point.value > 0.0 => self.state = Some(point.label("state").into()),
            "bus_bitrate" => self.bitrate = Some(point.count()),
            "bus_busy_seconds_total" => {
                let (least, most) = self.busy_s.unwrap_or_default();
                let is_least = point.label("bound") == "least";
                self.busy_s = Some(if is_least { (point.value, most) } else { (least, point.value) });
            }
            "bus_queue_frames" => self.queue = Some(point.count()),
            "bus_lost_frames_total" => self.lost += point.count(),
            "interface_frames_total" if direction == "received" => self.received = Some(point.count()),
            "interface_frames_total" => self.sent = Some(point.count()),
            "interface_errors_total" => self.errors += point.count(),
            _ => {}
        }
    }

    fn take_link(&mut self, name: &str, point: &Point<'_>) {
        match name {
            "up" => self.has_peer = Some(point.value > 0.0),
            "waiting_frames" => self.queue = Some(point.count()),
            "lost_frames_total" | "dropped_frames_total" => self.lost += point.count(),
            "refused_frames_total" => self.errors += point.count(),
            _ => {}
        }
    }

    pub(super) fn state(&self) -> &str {
        match (self.received, self.is_up, &self.state) {
            (None, ..) => "away",
            (_, false, _) => "down",
            _ if self.has_peer == Some(false) => "no-peer",
            (_, true, None) => "up",
            (_, true, Some(state)) => state,
        }
    }
}

impl Frame {
    fn take(&mut self, name: &str, point: &Point<'_>) {
        match name {
            "received_frames_total" => self.received = point.count(),
            "sent_frames_total" => self.sent = point.count(),
            "dropped_frames_total" => self.dropped += point.count(),
            "silent" => self.is_silent = point.value > 0.0,
            _ => {}
        }
    }
}

impl Signal {
    fn take(&mut self, name: &str, point: &Point<'_>) {
        match name {
            "value" => self.value = Some(point.value),
            "age_seconds" => self.age_s = Some(point.value),
            "late" => self.is_late = point.value > 0.0,
            "info" => {
                let [unit, origin, value_name] = ["unit", "origin", "value_name"].map(|label| point.label(label));
                (self.unit, self.origin) = (unit.into(), origin.into());
                self.value_name = Some(value_name.to_owned()).filter(|name| !name.is_empty());
            }
            _ => {}
        }
    }

    pub(super) fn is(&self, frame: &str, name: &str) -> bool {
        self.frame == frame && self.name == name
    }

    pub(super) fn state(&self) -> &str {
        match self.origin.as_str() {
            "timeout" | "invalid" => "substitute",
            _ if self.is_late => "late",
            origin => origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses the snapshot of `candor run`.
    #[test]
    fn parses_the_metrics_of_candor_run() {
        const SAID: &str = include_str!(
            "../run/metrics/snapshots/candor__cmd__run__metrics__text__tests__encodes_a_gateway_as_openmetrics.snap"
        );
        let text = SAID.splitn(3, "---\n").nth(2).unwrap();
        insta::assert_debug_snapshot!(Sample::read(text).unwrap());
    }

    #[test]
    fn a_link_is_a_bus_with_a_peer() {
        let of_bus = |up: u8| {
            format!(
                "candor_build_info{{version=\"1\",engine=\"auto\"}} 1\n\
                 candor_bus_up{{bus=\"rear\",interface=\"rear\"}} 1\n\
                 candor_interface_frames_total{{bus=\"rear\",interface=\"rear\",direction=\"received\"}} 7\n\
                 candor_link_up{{link=\"rear\"}} {up}\n\
                 candor_link_waiting_frames{{link=\"rear\"}} 5\n\
                 candor_link_lost_frames_total{{link=\"rear\"}} 3\n\
                 candor_link_dropped_frames_total{{link=\"rear\",reason=\"too-old\"}} 2\n\
                 candor_link_refused_frames_total{{link=\"rear\",reason=\"loop\"}} 1\n\
                 candor_link_up{{link=\"of-another-file\"}} 1\n# EOF\n"
            )
        };
        for (up, state) in [(1, "up"), (0, "no-peer")] {
            let sample = Sample::read(&of_bus(up)).unwrap();
            let [bus] = &sample.buses[..] else { panic!("{:?}", sample.buses) };
            assert_eq!((bus.state(), bus.queue, bus.lost, bus.errors), (state, Some(5), 5, 1));
        }
    }

    #[test]
    fn rejects_other_metrics() {
        assert_eq!(Sample::read("node_load1 0.5\n# EOF\n"), None);
    }
}
