//! One sample of a gateway's metrics.

use super::metrics::{self, Point};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sample {
    pub(super) version: String,
    pub(super) engine: String,
    pub(super) uptime_s: f64,
    /// In the order of the file.
    pub(super) routes: Vec<Route>,
    pub(super) buses: Vec<Bus>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Route {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) side: String,
    pub(super) handled: u64,
    pub(super) deleted: u64,
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
    /// Frames lost because candor's sockets and rings were full.
    pub(super) lost: u64,
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
                    } else if name.starts_with("bus_") || name.starts_with("interface_") {
                        sample.bus(&point).take(name, &point);
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
}

impl Route {
    fn take(&mut self, name: &str, point: &Point<'_>) {
        match name {
            "handled_frames_total" => self.handled = point.count(),
            "deleted_frames_total" => self.deleted = point.count(),
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

    pub(super) fn state(&self) -> &str {
        match (self.received, self.is_up, &self.state) {
            (None, ..) => "away",
            (_, false, _) => "down",
            (_, true, None) => "up",
            (_, true, Some(state)) => state,
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
    fn rejects_other_metrics() {
        assert_eq!(Sample::read("node_load1 0.5\n# EOF\n"), None);
    }
}
