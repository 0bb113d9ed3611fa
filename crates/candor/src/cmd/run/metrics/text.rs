//! Counters and states in OpenMetrics text. Every name is in `docs/metrics.md`.

use std::fmt;
use std::time::Duration;

use candor_core::placement::Side;
use candor_core::plan::{Plan, RouteIndex};
use candor_engine::{BusCounters, Gateway, RouteCounters};
use candor_netlink::client::Client;
use candor_netlink::link::{self, CanState, Link};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// One moment of a gateway.
#[derive(Debug)]
struct Snapshot {
    engine: &'static str,
    uptime: Duration,
    routes: Vec<Route>,
    /// Of user space.
    ledgers: Vec<BusCounters>,
    buses: Vec<Bus>,
}

#[derive(Debug)]
struct Route {
    labels: [(&'static str, String); 4],
    counters: RouteCounters,
}

#[derive(Debug)]
struct Bus {
    labels: [(&'static str, String); 2],
    /// `None` while its interface is away.
    link: Option<Link>,
}

/// What is to be said of a gateway that runs for so long.
pub(in crate::cmd::run) fn text(gateway: &Gateway, uptime: Duration) -> String {
    let plan = gateway.plan();
    let snapshot = Snapshot {
        engine: plan.engine().name(),
        uptime,
        routes: routes(gateway),
        ledgers: gateway.buses(),
        buses: buses(plan),
    };
    of(snapshot)
}

fn of(snapshot: Snapshot) -> String {
    let mut registry = Registry::with_prefix("candor");
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes any text");
    text
}

fn routes(gateway: &Gateway) -> Vec<Route> {
    let plan = gateway.plan();
    let of_route = |(at, counters): (usize, RouteCounters)| {
        let route = plan.route(RouteIndex(at));
        let side = match gateway.placement().side(RouteIndex(at)) {
            Side::Kernel => "kernel",
            Side::User => "user",
        };
        let labels = [
            ("route", route.name.clone()),
            ("from", plan.bus(route.from).name.clone()),
            ("to", plan.bus(route.to).name.clone()),
            ("side", side.to_owned()),
        ];
        Route { labels, counters }
    };
    gateway.counters().into_iter().enumerate().map(of_route).collect()
}

fn buses(plan: &Plan) -> Vec<Bus> {
    // Where the kernel does not answer, nothing is known of the buses, and the counters are said all the same.
    let links = Client::open().and_then(|mut client| link::list(&mut client)).unwrap_or_default();
    let of_bus = |bus: &candor_core::plan::Bus| Bus {
        labels: [("bus", bus.name.clone()), ("interface", bus.interface.clone())],
        link: links.iter().find(|link| link.name == bus.interface).cloned(),
    };
    plan.buses().iter().map(of_bus).collect()
}

/// Name and meaning of a metric, and where its value is.
type Column<T, V> = (&'static str, &'static str, fn(&T) -> V);

/// A metric: its name, what it means, and its value for each set of labels.
struct Metric<'a, const N: usize> {
    name: &'a str,
    help: &'a str,
    values: Vec<([(&'a str, &'a str); N], u64)>,
}

impl<const N: usize> Metric<'_, N> {
    fn encode_counter(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, None, MetricType::Counter)?;
        self.values.iter().try_for_each(|(labels, value)| {
            family.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(value, None)
        })
    }

    fn encode_gauge(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        self.values.iter().try_for_each(|(labels, value)| {
            family.encode_family(labels)?.encode_gauge(&i64::try_from(*value).unwrap_or(i64::MAX))
        })
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.process(&mut encoder)?;
        self.routes(&mut encoder)?;
        self.ledgers(&mut encoder)?;
        self.buses(&mut encoder)
    }
}

impl Snapshot {
    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let build = [("version", env!("CARGO_PKG_VERSION")), ("engine", self.engine)];
        encoder.encode_descriptor("build", "What runs", None, MetricType::Info)?.encode_info(&build)?;
        let help = "How long the gateway runs";
        let mut uptime = encoder.encode_descriptor("uptime", help, Some(&Unit::Seconds), MetricType::Gauge)?;
        uptime.encode_gauge(&self.uptime.as_secs_f64())
    }

    fn routes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counters: [Column<RouteCounters, Option<u64>>; 3] = [
            ("route_handled_frames", "Frames that the outgoing interface took", |counted| Some(counted.handled)),
            ("route_deleted_frames", "Frames of an impossible length, or with too many hops", |counted| {
                Some(counted.deleted)
            }),
            ("route_matched_frames", "Frames that the rules let through, in user space", |counted| counted.matched),
        ];
        for (name, help, value) in counters {
            let values = self.routes.iter().filter_map(|route| Some((route.labels(), value(&route.counters)?)));
            Metric { name, help, values: values.collect() }.encode_counter(encoder)?;
        }
        let dropped = self.routes.iter().flat_map(|route| {
            let [name, from, to, side] = route.labels();
            route.dropped().map(move |(reason, frames)| ([name, from, to, side, ("reason", reason)], frames))
        });
        let help = "Frames that did not leave, by reason; can-gw does not say why";
        Metric { name: "route_dropped_frames", help, values: dropped.collect() }.encode_counter(encoder)
    }

    fn ledgers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counters: [Column<BusCounters, u64>; 5] = [
            ("bus_received_frames", "Frames that came out of the socket or ring of the bus", |bus| bus.received),
            ("bus_taken_frames", "Those that a route took", |bus| bus.taken),
            ("bus_unwanted_frames", "Those that no route took", |bus| bus.unwanted),
            ("bus_sent_frames", "Frames of all routes that the interface took", |bus| bus.sent),
            ("bus_refused_frames", "Frames of all routes that did not leave", |bus| bus.refused),
        ];
        for (name, help, value) in counters {
            let values = self.ledgers.iter().map(|bus| (labels(bus), value(bus)));
            Metric { name, help, values: values.collect() }.encode_counter(encoder)?;
        }
        let lost = self.ledgers.iter().flat_map(|bus| {
            let [name, interface] = labels(bus);
            let lost = [("socket", bus.lost_in_socket), ("ring", bus.lost_in_ring)];
            lost.map(|(place, frames)| ([name, interface, ("in", place)], frames))
        });
        let help = "Frames for which the socket or the ring had no room, because they came faster than they were read";
        Metric { name: "bus_lost_frames", help, values: lost.collect() }.encode_counter(encoder)
    }

    fn buses(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let up = self.buses.iter().map(|bus| (bus.labels(), u64::from(bus.link.as_ref().is_some_and(|link| link.up))));
        let help = "Whether the interface is there and up";
        Metric { name: "bus_up", help, values: up.collect() }.encode_gauge(encoder)?;
        let states = self.buses.iter().flat_map(|bus| {
            let [name, interface] = bus.labels();
            let now = bus.link.as_ref().and_then(|link| link.can?.state);
            let is_now = move |state| (state_name(state), u64::from(now == Some(state)));
            let states = now.map(|_controller| STATES.map(is_now)).into_iter().flatten();
            states.map(move |(state, is_now)| ([name, interface, ("state", state)], is_now))
        });
        let help = "1 for the state that the controller is in; virtual interfaces have none";
        Metric { name: "bus_state", help, values: states.collect() }.encode_gauge(encoder)?;
        let rates = self.buses.iter().filter_map(|bus| {
            let rate = bus.link.as_ref()?.can?.bitrate?;
            Some((bus.labels(), u64::from(rate.bits_per_second())))
        });
        let help = "Nominal bit rate of the controller in bit/s";
        Metric { name: "bus_bitrate", help, values: rates.collect() }.encode_gauge(encoder)
    }
}

impl Route {
    fn labels(&self) -> [(&str, &str); 4] {
        self.labels.each_ref().map(|(key, value)| (*key, value.as_str()))
    }

    /// By reason, and what has none.
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

/// As `ip -details link` says it.
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
    use candor_core::units::BitRate;
    use candor_engine::Drops;
    use candor_io::can::InterfaceIndex;
    use candor_netlink::link::{CanLink, Traffic};

    use super::*;

    #[test]
    fn all_of_a_gateway_in_openmetrics_text() {
        let drops = Drops { full: 3, down: 1, ..Drops::default() };
        let labels = |route: &str, side: &str| {
            let words = [("route", route), ("from", "car"), ("to", "body \"2\""), ("side", side)];
            words.map(|(key, value)| (key, value.to_owned()))
        };
        let user = RouteCounters { handled: 96, dropped: 4, deleted: 2, drops, matched: Some(100) };
        let kernel = RouteCounters { handled: 7, dropped: 1, ..RouteCounters::default() };
        let can = CanLink {
            bitrate: BitRate::from_bits_per_second(500_000),
            state: Some(CanState::BusOff),
            ..CanLink::default()
        };
        let link = Link {
            index: InterfaceIndex::new(3).unwrap(),
            name: "can0".into(),
            kind: Some("can".into()),
            up: true,
            echoes: true,
            mtu: 16,
            tx_queue_len: 10,
            received: Traffic::default(),
            sent: Traffic::default(),
            can: Some(can),
        };
        let bus = |name: &str, interface: &str, link| Bus {
            labels: [("bus", name.to_owned()), ("interface", interface.to_owned())],
            link,
        };
        let snapshot = Snapshot {
            engine: "auto",
            uptime: Duration::from_millis(1500),
            routes: vec![
                Route { labels: labels("speed", "user"), counters: user },
                Route { labels: labels("doors", "kernel"), counters: kernel },
            ],
            ledgers: vec![BusCounters {
                bus: "car".into(),
                interface: "can0".into(),
                received: 120,
                taken: 102,
                unwanted: 18,
                lost_in_socket: 5,
                ..BusCounters::default()
            }],
            buses: vec![bus("car", "can0", Some(link)), bus("body \"2\"", "can1", None)],
        };
        let text = of(snapshot);
        let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
        for name in &names {
            let documented = include_str!("../../../../../../docs/metrics.md");
            assert!(documented.contains(&format!("`{name}")), "{name} is not in docs/metrics.md");
        }
        // What dashboard and alerts ask for is there.
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
}
