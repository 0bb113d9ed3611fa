//! OpenMetrics text of a gateway. `docs/metrics.md` documents every metric.

mod frames;
mod links;

use std::fmt;
use std::time::Duration;

use candor_cli::link::State;
use candor_config::plan::RouteIndex;
use candor_core::bits::Occupancy;
use candor_egress::discipline::Discipline;
use candor_egress::netlink::arbitration::Statistics;
use candor_egress::netlink::{self, QdiscStats};
use candor_engine::{BusCounters, Gateway, LATENCY_BOUNDS, RouteCounters};
use candor_netlink::client::Client;
use candor_netlink::link::{self, CanState, Link, Traffic};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::load::Loads;
use crate::cmd::job_text::side_name;
use crate::cmd::run::egress::Egress;
use frames::{Frame, Signal};

/// Counters and states at one moment.
#[derive(Debug)]
struct Snapshot {
    engine: &'static str,
    uptime: Duration,
    /// Each mode, and whether it lasts.
    modes: Vec<(String, bool)>,
    routes: Vec<Route>,
    /// Composed ones.
    frames: Vec<Frame>,
    /// Of the composed frames.
    signals: Vec<Signal>,
    /// Frame accounting of the buses of user space.
    accounting: Vec<BusCounters>,
    buses: Vec<Bus>,
    links: Vec<State>,
}

#[derive(Debug)]
struct Route {
    labels: [(&'static str, String); 4],
    counters: RouteCounters,
    /// Of its check, by name.
    verdicts: Vec<(&'static str, u64)>,
    violations: Vec<(&'static str, u64)>,
}

#[derive(Debug)]
struct Bus {
    labels: [(&'static str, String); 2],
    /// `None` while the interface is missing.
    link: Option<Link>,
    /// Statistics of the root qdisc; `None` for `noqueue`.
    queue: Option<QdiscStats>,
    /// Of a queue in the order of arbitration.
    arbitration: Option<ArbitrationDrops>,
    /// Occupied time; `None` if the bit rate is unknown.
    busy: Option<Occupancy>,
}

/// Drops of a queue in the order of arbitration.
#[derive(Clone, Copy, Debug)]
enum ArbitrationDrops {
    /// This process has made the queue, and so has its maps.
    Own(Statistics),
    /// Another process has made it.
    Other(QdiscStats),
}

impl ArbitrationDrops {
    /// Frames by reason.
    fn by_reason(self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Own(Statistics { full, socket, expired, replaced, failed, .. }) => vec![
                ("full", full),
                ("per-socket", socket),
                ("expired", expired),
                ("replaced", replaced),
                ("failed", failed),
            ],
            Self::Other(QdiscStats { drops, overlimits, .. }) => {
                // Both wrap.
                vec![("per-socket", overlimits.into()), ("unknown", drops.wrapping_sub(overlimits).into())]
            }
        }
    }
}

/// Takes snapshots of a gateway and accumulates the bus load, which the kernel does not count.
#[derive(Debug, Default)]
pub(in crate::cmd::run) struct Observer {
    loads: Loads,
}

impl Observer {
    /// Starts the accumulation of the bus load.
    pub(in crate::cmd::run) fn start(gateway: &Gateway) -> Self {
        let mut observer = Self::default();
        observer.buses(gateway, None);
        observer
    }

    /// The metrics after this uptime.
    pub(in crate::cmd::run) fn text(
        &mut self,
        gateway: &Gateway,
        uptime: Duration,
        egress: &Egress<'_>,
        links: Vec<State>,
    ) -> String {
        let (frames, signals) = frames::of(gateway);
        of(Snapshot {
            engine: gateway.plan().engine().name(),
            uptime,
            modes: modes(gateway),
            routes: routes(gateway),
            frames,
            signals,
            accounting: gateway.buses(),
            buses: self.buses(gateway, Some(egress)),
            links,
        })
    }

    fn buses(&mut self, gateway: &Gateway, egress: Option<&Egress<'_>>) -> Vec<Bus> {
        // Without netlink the buses have no values, but the counters of the gateway are still reported.
        let mut client = Client::open();
        let links = client.as_mut().ok().and_then(|client| link::list(client).ok()).unwrap_or_default();
        let qdiscs = client.as_mut().ok().and_then(|client| netlink::qdiscs(client).ok()).unwrap_or_default();
        let root = |link: &Link| qdiscs.iter().find(|qdisc| qdisc.interface == link.index && qdisc.is_root());
        let of_bus = |bus: &candor_config::plan::Bus| {
            let link = links.iter().find(|link| link.name == bus.interface);
            let root = link.and_then(root).filter(|root| root.qdisc.discipline != Discipline::Noqueue);
            let arbitration = root.filter(|root| matches!(root.qdisc.discipline, Discipline::Arbitration(_)));
            let own = || egress?.queue(&bus.interface).map(ArbitrationDrops::Own);
            Bus {
                labels: [("bus", bus.name.clone()), ("interface", bus.interface.clone())],
                link: link.cloned(),
                queue: root.map(|root| root.stats),
                arbitration: arbitration.map(|root| own().unwrap_or(ArbitrationDrops::Other(root.stats))),
                busy: link.and_then(|link| self.loads.follow(bus, link)),
            }
        };
        gateway.plan().buses().iter().map(of_bus).collect()
    }
}

fn of(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix("candor");
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes any text");
    text
}

fn modes(gateway: &Gateway) -> Vec<(String, bool)> {
    let current = gateway.mode().map(|(mode, _)| &mode.name);
    let modes = gateway.plan().modes().iter();
    modes.map(|mode| (mode.name.clone(), current == Some(&mode.name))).collect()
}

fn routes(gateway: &Gateway) -> Vec<Route> {
    let plan = gateway.plan();
    let of_route = |(at, counters): (usize, RouteCounters)| {
        let route = plan.route(RouteIndex(at));
        let side = side_name(gateway.placement().side(RouteIndex(at)));
        let labels = [
            ("route", route.name.clone()),
            ("from", plan.bus(route.from).name.clone()),
            ("to", plan.bus(route.to).name.clone()),
            ("side", side.to_owned()),
        ];
        let named = route.violations().into_iter().map(|(rule, frames)| (rule.name(), frames));
        Route { labels, counters, verdicts: route.verdicts(), violations: named.collect() }
    };
    gateway.counters().into_iter().enumerate().map(of_route).collect()
}

/// Name, help text and value of a metric.
type Column<T, V> = (&'static str, &'static str, fn(&T) -> V);

/// The values of a metric by label set.
fn family<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    kind: MetricType,
    name_and_help: (&str, &str),
    mut values: impl Iterator<Item = ([(&'a str, &'a str); N], u64)>,
) -> fmt::Result {
    family_of(encoder, kind, name_and_help, &mut values)
}

/// As [`family`], compiled once for all iterators.
fn family_of<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    kind: MetricType,
    (name, help): (&str, &str),
    values: &mut dyn Iterator<Item = ([(&'a str, &'a str); N], u64)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in values {
        let mut metric = family.encode_family(&labels)?;
        match kind {
            MetricType::Counter => metric.encode_counter::<NoLabelSet, _, u64>(&value, None)?,
            _ => metric.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX))?,
        }
    }
    Ok(())
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.process(&mut encoder)?;
        self.routes(&mut encoder)?;
        frames::encode((&self.frames, &self.signals), &mut encoder)?;
        self.accounting(&mut encoder)?;
        self.buses(&mut encoder)?;
        links::encode(&self.links, &mut encoder)
    }
}

impl Snapshot {
    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let build = [("version", env!("CARGO_PKG_VERSION")), ("engine", self.engine)];
        encoder.encode_descriptor("build", "Version and engine", None, MetricType::Info)?.encode_info(&build)?;
        let help = "Time since the gateway started";
        let mut uptime = encoder.encode_descriptor("uptime", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        uptime.encode_gauge(&self.uptime.as_secs_f64())?;
        let modes = self.modes.iter().map(|(mode, lasts)| ([("mode", mode.as_str())], u64::from(*lasts)));
        family(encoder, MetricType::Gauge, ("mode", "1 while the mode lasts"), modes)
    }

    fn routes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counters: [Column<RouteCounters, Option<u64>>; 4] = [
            ("route_handled_frames", "Frames accepted by the outgoing interface", |counted| Some(counted.handled)),
            ("route_deleted_frames", "Frames of an invalid length, or above the hop limit", |counted| {
                Some(counted.deleted)
            }),
            ("route_matched_frames", "Frames that passed the rules, in user space", |counted| counted.matched),
            ("route_handled_bytes", "Payload bytes of accepted frames, in user space", |counted| counted.handled_bytes),
        ];
        for (name, help, value) in counters {
            let values = self.routes.iter().filter_map(|route| Some((route.labels(), value(&route.counters)?)));
            family(encoder, MetricType::Counter, (name, help), values)?;
        }
        let dropped = self.routes.iter().flat_map(|route| {
            let [name, from, to, side] = route.labels();
            route.dropped().map(move |(reason, frames)| ([name, from, to, side, ("reason", reason)], frames))
        });
        let help = "Frames that were not sent, by reason; can-gw gives no reason";
        family(encoder, MetricType::Counter, ("route_dropped_frames", help), dropped)?;
        let checked = self.routes.iter().flat_map(|route| {
            let [name, from, to, side] = route.labels();
            route.verdicts.iter().map(move |(verdict, frames)| ([name, from, to, side, ("verdict", *verdict)], *frames))
        });
        let help = "Frames of a route with `check`, by verdict";
        family(encoder, MetricType::Counter, ("route_checked_frames", help), checked)?;
        let violated = self.routes.iter().flat_map(|route| {
            let [name, from, to, side] = route.labels();
            route.violations.iter().map(move |(rule, frames)| ([name, from, to, side, ("rule", *rule)], *frames))
        });
        let help = "Frames that violated the guard of a route, by the first rule that they violated";
        family(encoder, MetricType::Counter, ("route_guard_violations", help), violated)?;
        self.latencies(encoder)
    }

    fn latencies(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "From the kernel receive timestamp until the outgoing interface accepted the frame";
        let mut family =
            encoder.encode_descriptor("route_latency", help, Some(&Unit::Seconds), MetricType::Histogram)?;
        self.routes.iter().try_for_each(|route| {
            let Some(latencies) = &route.counters.latencies else { return Ok(()) };
            let bounds = LATENCY_BOUNDS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
            let classes: Vec<_> = bounds.zip(latencies.classes).collect();
            let frames = latencies.classes.iter().sum();
            let labels = route.labels();
            let mut histogram = family.encode_family(&labels)?;
            histogram.encode_histogram::<NoLabelSet>(latencies.sum.as_secs_f64(), frames, &classes, None)
        })
    }

    fn accounting(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counters: [Column<BusCounters, u64>; 5] = [
            ("bus_received_frames", "Frames read from the socket or ring of the bus", |bus| bus.received),
            ("bus_taken_frames", "Received frames that matched a route", |bus| bus.taken),
            ("bus_unwanted_frames", "Received frames that matched no route", |bus| bus.unwanted),
            ("bus_sent_frames", "Frames of all routes accepted by the interface", |bus| bus.sent),
            ("bus_refused_frames", "Frames of all routes that were not sent", |bus| bus.refused),
        ];
        for (name, help, value) in counters {
            let values = self.accounting.iter().map(|bus| (labels(bus), value(bus)));
            family(encoder, MetricType::Counter, (name, help), values)?;
        }
        let lost = self.accounting.iter().flat_map(|bus| {
            let [name, interface] = labels(bus);
            let lost = [("socket", bus.lost_in_socket), ("ring", bus.lost_in_ring)];
            lost.map(|(place, frames)| ([name, interface, ("in", place)], frames))
        });
        let help = "Frames lost because the socket buffer or the ring was full";
        family(encoder, MetricType::Counter, ("bus_lost_frames", help), lost)
    }

    fn buses(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let up = self.buses.iter().map(|bus| (bus.labels(), u64::from(bus.link.as_ref().is_some_and(|link| link.up))));
        let help = "1 if the interface exists and is up";
        family(encoder, MetricType::Gauge, ("bus_up", help), up)?;
        let states = self.buses.iter().flat_map(|bus| {
            let [name, interface] = bus.labels();
            let now = bus.link.as_ref().and_then(|link| link.can?.state);
            let is_now = move |state| (state_name(state), u64::from(now == Some(state)));
            let states = now.map(|_controller| STATES.map(is_now)).into_iter().flatten();
            states.map(move |(state, is_now)| ([name, interface, ("state", state)], is_now))
        });
        let help = "1 for the current state of the controller; virtual interfaces have none";
        family(encoder, MetricType::Gauge, ("bus_state", help), states)?;
        let rates = self.buses.iter().filter_map(|bus| {
            let rate = bus.link.as_ref()?.can?.bitrate?;
            Some((bus.labels(), u64::from(rate.bits_per_second())))
        });
        let help = "Nominal bit rate of the controller in bit/s";
        family(encoder, MetricType::Gauge, ("bus_bitrate", help), rates)?;
        self.queues(encoder)?;
        self.interfaces(encoder)?;
        self.loads(encoder)
    }

    fn queues(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let queues = || self.buses.iter().filter_map(|bus| Some((bus.labels(), bus.queue?)));
        let waiting = queues().map(|(labels, queue)| (labels, u64::from(queue.backlog_frames)));
        let help = "Frames of all programs waiting in the queue of the interface";
        family(encoder, MetricType::Gauge, ("bus_queue_frames", help), waiting)?;
        let dropped = queues().map(|(labels, queue)| (labels, u64::from(queue.drops)));
        let help = "Frames of all programs dropped by the queue of the interface";
        family(encoder, MetricType::Counter, ("bus_queue_dropped_frames", help), dropped)?;
        let reasons = self.buses.iter().filter_map(|bus| Some((bus.labels(), bus.arbitration?)));
        let reasons = reasons.flat_map(|([bus, interface], drops)| {
            drops.by_reason().into_iter().map(move |(reason, frames)| ([bus, interface, ("reason", reason)], frames))
        });
        let help = "Frames of all programs dropped by a queue in the order of arbitration, by reason";
        family(encoder, MetricType::Counter, ("bus_arbitration_dropped_frames", help), reasons)
    }

    /// Counters of the interfaces, for all programs.
    fn interfaces(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counters: [Column<Traffic, u64>; 4] = [
            ("interface_frames", "Frames of all programs, counted by the driver", |counted| counted.frames),
            ("interface_bytes", "Payload bytes of all programs, counted by the driver", |counted| counted.bytes),
            ("interface_errors", "Bus and controller errors", |counted| counted.errors),
            ("interface_dropped_frames", "Frames dropped by the driver", |counted| counted.dropped),
        ];
        for (name, help, value) in counters {
            let links = self.buses.iter().filter_map(|bus| Some((bus.labels(), bus.link.as_ref()?)));
            let both = links.flat_map(|([bus, interface], link)| {
                let directions = [("received", link.received), ("sent", link.sent)];
                directions.map(|(direction, counted)| ([bus, interface, ("direction", direction)], value(&counted)))
            });
            family(encoder, MetricType::Counter, (name, help), both)?;
        }
        Ok(())
    }

    fn loads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time that frames occupied the bus: bounds computed from the counters of the interface";
        let mut family = encoder.encode_descriptor("bus_busy", help, Some(&Unit::Seconds), MetricType::Counter)?;
        for (labels, busy) in self.buses.iter().filter_map(|bus| Some((bus.labels(), bus.busy?))) {
            for (bound, ns) in [("least", busy.least_ns), ("most", busy.most_ns)] {
                let [bus, interface] = labels;
                let seconds = Duration::from_nanos(ns).as_secs_f64();
                let labels = [bus, interface, ("bound", bound)];
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
            }
        }
        Ok(())
    }
}

impl Route {
    fn labels(&self) -> [(&str, &str); 4] {
        self.labels.each_ref().map(|(key, value)| (*key, value.as_str()))
    }

    /// Dropped frames by reason; the rest as "unknown".
    fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let RouteCounters { dropped, drops, .. } = self.counters;
        drops.by_reason().into_iter().chain([("unknown", dropped.saturating_sub(drops.total()))])
    }
}

impl Bus {
    fn labels(&self) -> [(&str, &str); 2] {
        self.labels.each_ref().map(|(key, value)| (*key, value.as_str()))
    }
}

fn labels(bus: &BusCounters) -> [(&str, &str); 2] {
    [("bus", &bus.bus), ("interface", &bus.interface)]
}

const STATES: [CanState; 6] = [
    CanState::ErrorActive,
    CanState::ErrorWarning,
    CanState::ErrorPassive,
    CanState::BusOff,
    CanState::Stopped,
    CanState::Sleeping,
];

/// As `ip -details link` prints it.
const fn state_name(state: CanState) -> &'static str {
    match state {
        CanState::ErrorActive => "error-active",
        CanState::ErrorWarning => "error-warning",
        CanState::ErrorPassive => "error-passive",
        CanState::BusOff => "bus-off",
        CanState::Stopped => "stopped",
        CanState::Sleeping => "sleeping",
    }
}

#[cfg(test)]
mod tests {
    use candor_engine::{Drops, FrameCounters, FrameStatus, InputStatus, Latencies};
    use candor_netlink::link::CanLink;
    use candor_signals::compose::Origin;

    use super::*;
    use crate::cmd::test_links as links;

    /// The example: its speed is late, and it has received no brake.
    fn dashboard() -> (Vec<Frame>, Vec<Signal>) {
        let file = include_str!("../../../../../../examples/23-dashboard.toml");
        let read = |name: &str| std::fs::read(format!("../../examples/{name}")).map_err(|error| error.to_string());
        let plan = candor_config::config::load_for(file.as_bytes(), None, &mut { read }).unwrap().plan;
        let input = |origin, is_late, age: Option<u64>, bits| {
            let age = age.map(Duration::from_millis);
            InputStatus { origin, is_late, age, bits: Some(bits) }
        };
        let inputs = vec![
            input(Origin::Timeout, true, Some(450), 0),
            input(Origin::Start, false, None, 0),
            input(Origin::Received, false, Some(20), 3),
        ];
        let status = FrameStatus { is_silent: false, payload: vec![0; 8], inputs };
        let drops = Drops { full: 2, ..Drops::default() };
        let counters = FrameCounters { received: 12, sent: 9, drops };
        let checked = vec![("powertrain.ABS1".into(), "ok", 11), ("powertrain.ABS1".into(), "wrong-checksum", 1)];
        let (name, to, is_silent) = ("Dashboard".into(), "body".into(), Some(status.is_silent));
        let frame = Frame { name, to, counters, checked, is_silent };
        (vec![frame], frames::of_frame(&plan.frames()[0], &status).collect())
    }

    #[test]
    fn encodes_a_gateway_as_openmetrics() {
        let drops = Drops { full: 3, down: 1, ..Drops::default() };
        let labels = |route: &str, side: &str| {
            let words = [("route", route), ("from", "car"), ("to", "body \"2\""), ("side", side)];
            words.map(|(key, value)| (key, value.to_owned()))
        };
        let mut latencies = Latencies { sum: Duration::from_micros(7_000), ..Latencies::default() };
        (latencies.classes[3], latencies.classes[16]) = (95, 1);
        let (handled_bytes, latencies) = (Some(768), Some(latencies));
        let user = RouteCounters {
            handled: 96,
            dropped: 4,
            deleted: 2,
            drops,
            matched: Some(100),
            handled_bytes,
            latencies: latencies.map(Box::new),
        };
        let kernel = RouteCounters { handled: 7, dropped: 1, ..RouteCounters::default() };
        let controller = links::controller("can0");
        let link = Link {
            received: Traffic { frames: 1000, bytes: 8000, errors: 2, dropped: 1 },
            sent: Traffic { frames: 500, bytes: 4000, errors: 0, dropped: 0 },
            can: controller.can.map(|can| CanLink { state: Some(CanState::BusOff), ..can }),
            ..controller
        };
        let bus = |name: &str, interface: &str, link| Bus {
            labels: [("bus", name.to_owned()), ("interface", interface.to_owned())],
            queue: Some(QdiscStats { backlog_frames: 3, drops: 4, ..QdiscStats::default() })
                .filter(|_| Option::is_some(&link)),
            arbitration: link
                .as_ref()
                .map(|_| ArbitrationDrops::Own(Statistics { full: 3, replaced: 1, ..Statistics::default() })),
            busy: link.as_ref().map(|_| Occupancy { least_ns: 333_000_000, most_ns: 480_000_000 }),
            link,
        };
        let (frames, signals) = dashboard();
        let snapshot = Snapshot {
            engine: "auto",
            uptime: Duration::from_millis(1500),
            modes: vec![("service".into(), true), ("flash".into(), false)],
            routes: vec![
                Route {
                    labels: labels("speed", "user"),
                    counters: user,
                    verdicts: vec![("ok", 3), ("wrong-checksum", 1)],
                    violations: vec![("rate", 7)],
                },
                Route {
                    labels: labels("doors", "kernel"),
                    counters: kernel,
                    verdicts: Vec::new(),
                    violations: Vec::new(),
                },
            ],
            frames,
            signals,
            accounting: vec![BusCounters {
                bus: "car".into(),
                interface: "can0".into(),
                received: 120,
                taken: 102,
                unwanted: 18,
                lost_in_socket: 5,
                ..BusCounters::default()
            }],
            buses: vec![bus("car", "can0", Some(link)), bus("body \"2\"", "can1", None)],
            links: vec![State {
                link: "far".into(),
                is_up: true,
                peer: Some("192.0.2.1:29600".into()),
                connections: 2,
                received_frames: 10,
                sent_frames: 20,
                waiting_frames: 3,
                lost_frames: 4,
                lost_datagrams: 5,
                dropped_frames: [("queue-full".to_owned(), 6)].into(),
                refused_frames: [("loop".to_owned(), 7)].into(),
            }],
        };
        let text = of(snapshot);
        let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        for name in &names {
            let documented = include_str!("../../../../../../docs/metrics.md");
            assert!(documented.contains(&format!("`{name}")), "{name} is not in docs/metrics.md");
        }
        // Every metric of the dashboard and the alerts exists.
        for asks in [
            include_str!("../../../../../../packaging/grafana/candor.json"),
            include_str!("../../../../../../packaging/prometheus/candor.rules.yml"),
        ] {
            let words = asks.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for word in words.filter(|word| word.starts_with("candor_")) {
                let is_said = text
                    .lines()
                    .any(|line| line.starts_with(&format!("{word}{{")) || line.starts_with(&format!("{word} ")));
                assert!(is_said, "{word}");
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn drops_of_another_process_are_those_of_sockets_and_the_rest() {
        let stats = QdiscStats { drops: 1, overlimits: u32::MAX, ..QdiscStats::default() };
        let drops = ArbitrationDrops::Other(stats).by_reason();
        assert_eq!(drops, [("per-socket", u64::from(u32::MAX)), ("unknown", 2)]);
    }
}
