//! The file exactly as written, and the description of its keys. Every value keeps its place; only types are checked.

mod egress;
mod route;
mod wire;

pub use egress::{BandSpec, EgressSpec, J1939Spec, LimitSpec, SelectionSpec, TreeSpec};
pub use route::{Crc8Spec, MuxSpec, OperandSpec, PositionsSpec, ProfileSpec, RouteSpec, XorSpec};
pub use wire::{WireBusSpec, WireSpec};

use std::ops::Deref;

use crate::config::parse::{egress as egress_tables, realtime, sections};
use candor_core::diagnostic::Span;
use candor_core::document::keys::{Key, Keyed, Shape};
use candor_core::document::{Flag, Number, Spanned, Text};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;
use candor_core::keys;

const SOURCE: &[&str] = &["source", "src"];
const TARGET: &[&str] = &["destination", "dst"];
const TEXTS: Shape = Shape::OneOrList(&Shape::Text);
pub(super) const IDENTIFIERS: Shape =
    Shape::OneOrList(&Shape::AnyOf(&[Shape::Text, Shape::Table(<RawFilterSpec as Keyed>::KEYS)]));

const BUS_NAME: Key = Key::new("the name of a bus, such as \"body\"");
const BIT_RATE: Key = Key::new("a bit rate with its unit, such as \"500kbit/s\"").shape(Shape::Text);
pub(super) const FILTERS: Key =
    Key::new("a filter such as \"123\" or \"123:C00007FF\", a range such as \"100..1FF\", or a list of them");
const MATCH: Key = FILTERS.aliases(&["can_id", "filter", "id", "identifier", "mask"]);
const ALLOW: Key = FILTERS.aliases(&["allowlist", "whitelist"]);
const DENY: Key = FILTERS.aliases(&["blacklist", "block", "denylist", "reject"]);

keys! {
    /// A whole file.
    pub struct Spec {
        /// The sections that the file has, even broken ones.
        sections: Sections,
    }
    "engine" => engine: Option<Text> = Key::new("a name such as \"auto\", \"kernel\" or \"read-write\"")
        .about("`\"kernel\"`: can-gw jobs in the kernel. `\"read-write\"`, `\"mmap-adaptive\"` and others: candor \
            forwards the frames in user space, see [engines.md](engines.md). `\"auto\"`: each route in the kernel if \
            can-gw supports it, otherwise in user space")
        .default("`\"kernel\"`");
    "realtime" => realtime: Option<RealtimeSpec> =
        Key::new("a table: [realtime], and below it lines such as sched = \"fifo:80\"")
        .about("scheduling, CPU affinity, memory locking and wake-up latency, see [`[realtime]`](#realtime)")
        .default("none");
    "ids" => ids: Vec<IdsSpec> | sections::named_lists =
        Key::new("a table of named lists, such as diagnostics = [\"7DF\", \"7E0..7EF\"]")
        .shape(Shape::Named("NAME", &IDENTIFIERS))
        .aliases(&["lists", "sets"])
        .about("a named list of identifiers, see [Lists](#lists-of-identifiers)")
        .default("none");
    "bus" => buses: Buses | sections::buses = Key::new("a table of named buses")
        .shape(Shape::Named("NAME", &Shape::Table(<BusSpec as Keyed>::KEYS)))
        .aliases(&["buses"])
        .about("a bus; routes connect two buses");
    "route" => routes: Vec<RouteSpec> | sections::routes = Key::new("a list of routes")
        .shape(Shape::List(&Shape::Table(<RouteSpec as Keyed>::KEYS)))
        .aliases(&["rule", "rules"])
        .about("list of routes; at least one unless there is an `egress`")
        .kernel("one can-gw job per route, filter and frame format; at most 65536");
    "egress" => egress: Vec<EgressSpec> | egress_tables::egress =
        Key::new("a table of buses: [egress.BUS] for each that is to have bands")
        .shape(Shape::Named("BUS", &Shape::Table(<EgressSpec as Keyed>::KEYS)))
        .about("transmit priority and rate limits, see [`[egress.BUS]`](#egressbus)")
        .default("the kernel's default qdisc")
        .kernel("qdiscs, classes and filters");
    "wire" => wire: Option<WireSpec> = Key::new("a table: [wire], and below it [wire.bus.NAME]")
        .about("software buses for `candor-lab wire`, see [`[wire]`](#wire); not part of the gateway")
        .default("none");

    /// `[realtime]`.
    pub struct RealtimeSpec {
        span: Span,
        is_torn: bool,
    }
    "sched" => sched: Option<Text> | realtime::policy = Key::new("a policy, such as \"fifo:80\"")
        .shape(Shape::Text)
        .aliases(&["policy", "priority", "scheduler"])
        .about("`\"fifo:N\"`, `\"rr:N\"` (N is 1 to 99) or `\"other\"`: scheduling policy of the forwarding threads")
        .default("inherited")
        .kernel("`sched_setscheduler()`");
    "cpus" => cpus: Option<CpusSpec> = Key::new("a list of numbers, such as [2, 3]")
        .aliases(&["affinity", "cpu"])
        .about("list of the CPUs on which they run, such as `[2, 3]`")
        .default("inherited")
        .kernel("`sched_setaffinity()`");
    "lock-memory" => lock_memory: Option<Flag> = Key::new("")
        .aliases(&["mlock", "mlockall"])
        .about("pre-fault all memory of the process and lock it")
        .default("`false`")
        .kernel("`mlockall(MCL_CURRENT \\| MCL_FUTURE)`");
    "cpu-dma-latency" => cpu_dma_latency: Option<Text> | realtime::latency =
        Key::new("a time with its unit, such as \"0us\"")
        .shape(Shape::Text)
        .aliases(&["dma-latency"])
        .about("longest time a CPU may take to wake up while candor runs, such as `\"0us\"`")
        .default("no limit")
        .kernel("`/dev/cpu_dma_latency`, kept open");

    /// `[bus.NAME]`.
    pub struct BusSpec {
        name: Text,
        /// `allow` or `deny` is not a list.
        is_torn: bool,
    }
    "interface" => interface: Option<Text> = Key::new("the name of a CAN interface, such as \"can0\"")
        .shape(Shape::TextUpTo(MAX_INTERFACE_NAME_BYTES))
        .required("its CAN interface, such as interface = \"can0\"")
        .aliases(&["device", "iface"])
        .about("name of a CAN network interface, 1 to 15 bytes. Each bus has one interface")
        .kernel("`CGW_SRC_IF`, `CGW_DST_IF`");
    "bitrate" => bitrate: Option<Text> | sections::bit_rate = BIT_RATE
        .aliases(&["baudrate"])
        .about("bit rate of the bus, with unit. candor compares it with that of the interface and does not set it")
        .default("not compared")
        .kernel("`ip link set … bitrate`");
    "data-bitrate" => data_bitrate: Option<Text> | sections::bit_rate = BIT_RATE
        .aliases(&["dbitrate"])
        .about("bit rate of the data phase of CAN FD frames")
        .default("not compared")
        .kernel("`ip link set … dbitrate`");
    "allow" => allow: Option<ListSpec> = ALLOW
        .about("identifiers that routes *from* this bus may match, see [Lists](#lists-of-identifiers)")
        .default("all")
        .kernel("fewer or other filters");
    "deny" => deny: Option<ListSpec> = DENY
        .about("identifiers that no route from this bus may match")
        .default("none")
        .kernel("fewer or other filters");
    "vxcan-peer" => vxcan_peer: Option<Text> = BUS_NAME
        .aliases(&["peer"])
        .about("name of the bus at the other end, if the interface is one end of a vxcan pair: frames sent on one end \
            are received on the other. One of the two buses needs the key")
        .default("not a pair");
    "restart-after" => restart_after: Option<Text> = Key::new("a time with its unit, such as \"1s\"")
        .aliases(&["restart-ms"])
        .about("time after bus-off at which `candor run` sets the interface down and up again, 10 ms to 1 hour, such \
            as `\"1s\"`; see [running.md](running.md#bus-off-recovery)")
        .default("never: the driver (`restart-ms`) or you")
        .kernel("`ip link set … down`, `up`");

    /// A filter as the kernel gets it.
    pub struct RawFilterSpec {
        span: Span,
    }
    "id" => id: Option<Text> = Key::new("a 32-bit word in hex, such as \"80000123\"")
        .required("the identifier word, such as id = \"00000123\"")
        .aliases(&["can_id", "identifier"])
        .about("the identifier passed to the kernel, 8 hexadecimal digits");
    "mask" => mask: Option<Text> = Key::new("a 32-bit word in hex, such as \"80000123\"")
        .required("the mask word, such as mask = \"C00007FF\"")
        .about("the mask passed to the kernel, 8 hexadecimal digits");
}

impl Spec {
    /// The route as written of each route of the plan, in its order: one that goes both ways is there twice.
    pub(in crate::config) fn by_route(&self) -> Vec<&RouteSpec> {
        let goes_back = |route: &RouteSpec| route.both_ways.as_ref().is_some_and(|both_ways| both_ways.value);
        self.routes.iter().flat_map(|route| std::iter::repeat_n(route, 1 + usize::from(goes_back(route)))).collect()
    }
}

/// The sections of a file, sound or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub bus: bool,
    pub route: bool,
    pub egress: bool,
}

/// `[bus.NAME]`, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buses {
    pub specs: Vec<BusSpec>,
    /// Names of buses that are not tables.
    pub broken: Vec<String>,
    /// There is a bus without a name.
    pub has_nameless: bool,
}

impl Deref for Buses {
    type Target = Vec<BusSpec>;

    fn deref(&self) -> &Vec<BusSpec> {
        &self.specs
    }
}

/// `cpus` of `[realtime]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpusSpec {
    /// The whole value.
    pub span: Span,
    pub numbers: Vec<Number>,
}

/// One list of `[ids]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdsSpec {
    pub name: Spanned<String>,
    /// `None` if it is not a list.
    pub list: Option<ListSpec>,
}

/// Identifiers: `match`, `allow`, `deny` or a list of `[ids]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListSpec {
    /// The whole value.
    pub span: Span,
    /// Its entries; one if it is not a list.
    pub entries: Vec<EntrySpec>,
    /// Some entry has the wrong type and is not here.
    pub is_torn: bool,
}

/// One entry of a list of identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySpec {
    /// `{ id = "…", mask = "…" }`.
    Raw(Box<RawFilterSpec>),
    /// A filter, a range or the name of a list.
    Text(Text),
}
