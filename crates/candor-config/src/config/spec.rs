//! Text → [`Spec`]: the file exactly as written, and the description of its keys. Every value keeps its place; only
//! types, and bounds that do not depend on other keys, are checked.

mod egress;
mod frame;
mod guard;
mod integrity;
mod link;
mod mode;
mod operand;
mod realtime;
mod route;
mod sections;
mod stray;
mod traffic;
mod wire;

pub use egress::{BandSpec, EgressSpec, J1939Spec, LimitSpec, QueueSpec, SelectionSpec, TreeSpec};
pub use frame::{FrameSpec, SourceSpec};
pub use guard::{AlarmSpec, ConstantSpec, GuardSpec};
pub use integrity::{CheckSpec, CrcSpec, PlaceSpec, ProtectSpec, SchemeSpec, SecocSpec};
pub use link::{LinkBandSpec, LinkSpec, TlsSpec};
pub use mode::{AnnounceSpec, ModeFrameSpec, ModeSpec};
pub use realtime::{CpusSpec, RealtimeSpec};
pub use route::{Crc8Spec, MuxSpec, Notes, OnChangeSpec, OperandSpec, PositionsSpec, ProfileSpec, RouteSpec, XorSpec};
pub use traffic::TrafficSpec;
pub use wire::{WireBusSpec, WireSpec};

use std::borrow::Cow;

use toml::de::{DeTable, DeValue};

use crate::plan::Plan;
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::entry::Entry;
use candor_core::document::keys::{Key, Keyed, Named, Shape, Table, Value, one_or_list, read};
use candor_core::document::{Flag, Text, limits, syntax};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;
use candor_core::keys;
use sections::bit_rate;

const SOURCE: &[&str] = &["source", "src"];
const TARGET: &[&str] = &["destination", "dst"];
const TEXTS: Shape = Shape::OneOrList(&Shape::Text);
const IDENTIFIERS: Shape =
    Shape::OneOrList(&Shape::AnyOf(&[Shape::Text, Shape::Table(<RawFilterSpec as Keyed>::KEYS)]));

const BUS_NAME: Key = Key::new("the name of a bus, such as \"body\"");
const BIT_RATE: Key = Key::new("a bit rate with its unit, such as \"500kbit/s\"").shape(Shape::Text);
const FILTERS: Key =
    Key::new("a filter such as \"123\" or \"123:C00007FF\", a range such as \"100..1FF\", or a list of them");
const MATCH: Key = FILTERS.aliases(&["can_id", "filter", "id", "identifier", "mask"]);
const ALLOW: Key = FILTERS.aliases(&["allowlist", "whitelist"]);
const DENY: Key = FILTERS.aliases(&["blacklist", "block", "denylist", "reject"]);

keys! {
    /// A gateway file as written, including wrong values.
    pub struct Spec {
        /// The sections that the file has, even broken ones.
        sections: Sections,
    }
    "engine" => engine: Option<Text> = Key::new("a name such as \"auto\", \"kernel\", \"bpf\" or \"read-write\"")
        .about("`\"kernel\"`: can-gw jobs in the kernel. `\"bpf\"`: eBPF programs (Linux 7.0). `\"read-write\"`, `\"mmap-adaptive\"` and others: candor \
            forwards the frames in user space, see [engines.md](engines.md). `\"auto\"`: each route where it costs least of \
            the places that can run it")
        .default("`\"kernel\"`");
    "realtime" => realtime: Option<Table<RealtimeSpec>> =
        Key::new("a table: [realtime], and below it lines such as sched = \"fifo:80\"")
        .about("scheduling, CPU affinity, memory locking and wake-up latency, see [`[realtime]`](#realtime)")
        .default("none");
    "ids" => ids: Vec<IdsSpec> | sections::named_lists =
        Key::new("a table of named lists, such as diagnostics = [\"7DF\", \"7E0..7EF\"]")
        .shape(Shape::Named("NAME", &IDENTIFIERS))
        .aliases(&["lists", "sets"])
        .about("a named list of identifiers, see [Lists](#lists-of-identifiers)")
        .default("none");
    "database" => databases: Vec<NamedText> | sections::named_texts =
        Key::new("a table of files by bus, such as powertrain = \"powertrain.dbc\"")
        .shape(Shape::Named("BUS", &TEXTS))
        .aliases(&["databases", "dbc"])
        .about("the DBC or KCD file of a bus, or several: names for `match`, `allow`, `deny` and `change`, see \
            [Signals](signals.md). A path is relative to the folder of this file")
        .default("none");
    "bus" => buses: Buses | sections::buses = Key::new("a table of named buses")
        .shape(Shape::Named("NAME", &Shape::Table(<BusSpec as Keyed>::KEYS)))
        .aliases(&["buses"])
        .about("a bus; routes connect two buses");
    "route" => routes: Vec<Table<RouteSpec>> | sections::routes = Key::new("a list of routes")
        .shape(Shape::List(&Shape::Table(<RouteSpec as Keyed>::KEYS)))
        .aliases(&["rule", "rules"])
        .about("list of routes; at least one unless there is an `egress`, a `frame` or a `watch`")
        .kernel("one can-gw job per route, filter and frame format; at most 65536");
    "frame" => frames: Vec<Table<FrameSpec>> | sections::frames = Key::new("a list of frames")
        .shape(Shape::List(&Shape::Table(<FrameSpec as Keyed>::KEYS)))
        .aliases(&["frames", "message"])
        .about("list of frames that candor composes of signals of other frames, see [`[[frame]]`](#frame); they are sent in \
            user space, whatever the `engine` of the routes is")
        .default("none")
        .kernel("user space only");
    "mode" => modes: Vec<Named<ModeSpec>> | mode::modes = Key::new("a table of modes: [mode.NAME] for each")
        .shape(Shape::Named("NAME", &Shape::Table(<ModeSpec as Keyed>::KEYS)))
        .aliases(&["modes"])
        .about("a mode, in which further routes exist; entered by a command or a frame, and left after a time, see \
            [`[mode.NAME]`](#modename); at most 16")
        .default("none");
    "egress" => egress: Vec<Named<EgressSpec>> | egress::egress =
        Key::new("a table of buses: [egress.BUS] for each bus with bands")
        .shape(Shape::Named("BUS", &Shape::Table(<EgressSpec as Keyed>::KEYS)))
        .about("transmit priority and rate limits, see [`[egress.BUS]`](#egressbus)")
        .default("the kernel's default qdisc")
        .kernel("qdiscs, classes and filters");
    "traffic" => traffic: Vec<Table<TrafficSpec>> | sections::traffic = Key::new("a list of messages")
        .shape(Shape::List(&Shape::Table(<TrafficSpec as Keyed>::KEYS)))
        .about("list of messages that other nodes and programs send, for `candor bounds`, see [`[[traffic]]`](#traffic); not part \
            of the gateway")
        .default("none");
    "link" => links: Vec<Named<LinkSpec>> | link::links = Key::new("a table of links: [link.NAME] for each")
        .shape(Shape::Named("NAME", &Shape::Table(<LinkSpec as Keyed>::KEYS)))
        .aliases(&["links"])
        .about("a bus at which a peer in the network is, see [`[link.NAME]`](#linkname)")
        .default("none")
        .kernel("vxcan");
    "wire" => wire: Option<Table<WireSpec>> = Key::new("a table: [wire], and below it [wire.bus.NAME]")
        .about("software buses for `candor-lab wire`, see [`[wire]`](#wire); not part of the gateway")
        .default("none");

    /// `[bus.NAME]`.
    pub struct BusSpec {}
    "interface" => interface: Option<Text> = Key::new("the name of a CAN interface, such as \"can0\"")
        .shape(Shape::TextUpTo(MAX_INTERFACE_NAME_BYTES))
        .required("its CAN interface, such as interface = \"can0\"")
        .aliases(&["device", "iface"])
        .about("name of a CAN network interface, 1 to 15 bytes. Each bus has one interface")
        .kernel("`CGW_SRC_IF`, `CGW_DST_IF`");
    "bitrate" => bitrate: Option<Text> | bit_rate = BIT_RATE
        .aliases(&["baudrate"])
        .about("bit rate of the bus, with unit. candor compares it with that of the interface and does not set it")
        .default("not compared")
        .kernel("`ip link set … bitrate`");
    "data-bitrate" => data_bitrate: Option<Text> | bit_rate = BIT_RATE
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
    "watch" => watch: Option<Vec<Text>> | one_or_list =
        Key::new("a signal such as \"ABS1.VehSpd\", a message, or a list of them")
        .shape(TEXTS)
        .aliases(&["signals"])
        .about("signals of the database of this bus whose values `candor top --signals` shows and the metrics have while \
            `candor run` runs; a message stands for all its signals, see [Signals](signals.md#looking-at-signals)")
        .default("none")
        .kernel("user space only");
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
    pub struct RawFilterSpec {}
    "id" => id: Option<Text> = Key::new("a 32-bit word in hex, such as \"80000123\"")
        .required("the identifier word, such as id = \"00000123\"")
        .aliases(&["can_id", "identifier"])
        .about("the identifier passed to the kernel, 8 hexadecimal digits");
    "mask" => mask: Option<Text> = Key::new("a 32-bit word in hex, such as \"80000123\"")
        .required("the mask word, such as mask = \"C00007FF\"")
        .about("the mask passed to the kernel, 8 hexadecimal digits");
}

impl Spec {
    /// The route as written for each route of the plan in its mode: a bidirectional one twice.
    pub(in crate::config) fn by_route(&self, plan: &Plan) -> Vec<&Table<RouteSpec>> {
        let current = plan.mode().map(|mode| mode.name.as_str());
        let routes = self
            .routes
            .iter()
            .filter(|route| route.mode.as_ref().is_none_or(|mode| Some(mode.value.as_str()) == current));
        routes.flat_map(|route| std::iter::repeat_n(route, 1 + usize::from(is_true(&route.both_ways)))).collect()
    }
}

pub(in crate::config) fn is_true(written: &Option<Flag>) -> bool {
    written.as_ref().is_some_and(|written| written.value)
}

/// The sections of a file, valid or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub bus: bool,
    pub route: bool,
    pub egress: bool,
    pub frame: bool,
}

/// `[bus.NAME]`, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buses {
    pub specs: Vec<Named<BusSpec>>,
    /// Names of buses that are not tables.
    pub broken: Vec<String>,
    /// There is a bus without a name.
    pub has_nameless: bool,
}

/// A name with one or more texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    pub name: Text,
    pub texts: Vec<Text>,
}

/// One list of `[ids]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdsSpec {
    pub name: Text,
    /// `None` if it is not a list.
    pub list: Option<ListSpec>,
}

/// Identifiers: `match`, `allow`, `deny` or a list of `[ids]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListSpec {
    /// From the start to the end of the value.
    pub span: Span,
    /// Its entries; one if it is not a list.
    pub entries: Vec<EntrySpec>,
    /// An entry has the wrong type and is not here.
    pub is_incomplete: bool,
}

/// One entry of a list of identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySpec {
    /// `{ id = "…", mask = "…" }`.
    Raw(Box<Table<RawFilterSpec>>),
    /// A filter, a range or the name of a list.
    Text(Text),
}

/// The file as written; `None` if it cannot be parsed at all.
pub(super) fn parse(text: &str, findings: &mut Findings) -> Option<Spec> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let mended = stray::with_stray_routes_apart(text);
    let (document, errors) = DeTable::parse_recoverable(&mended);
    syntax::report(text, document.get_ref(), &errors, findings);
    let has_strays = matches!(mended, Cow::Owned(_));
    let mut spec = sections::spec(document.get_ref(), has_strays, findings);
    for tree in spec.egress.iter_mut().filter_map(|egress| egress.table.value.tree.as_mut()) {
        tree.at = in_quotes(text, &tree.text);
    }
    Some(spec)
}

/// The start of the content of a string that has no escapes.
fn in_quotes(text: &str, written: &Text) -> Option<usize> {
    /// Quotes, and the line end after three of them, which is not part of the content.
    const MOST_BYTES: usize = "'''\r\n".len();
    let starts = (1..=MOST_BYTES).rev().map(|quotes| written.span.start + quotes);
    starts.into_iter().find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(&written.value)))
}

/// One entry, or a list of them.
impl Value for ListSpec {
    const SHAPE: Shape = IDENTIFIERS;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let mut list = Self { span: entry.span(), ..Self::default() };
        let items = entry.items();
        list.entries.reserve_exact(items.len());
        for item in items {
            let one = match item.value.get_ref() {
                DeValue::Table(table) => raw(&item, table, findings).map(|raw| EntrySpec::Raw(Box::new(raw))),
                _ => item.string(key.wanted, findings).map(EntrySpec::Text),
            };
            list.is_incomplete |= one.is_none();
            list.entries.extend(one);
        }
        let is_list = matches!(entry.value.get_ref(), DeValue::Array(_));
        (is_list || !list.is_incomplete).then_some(list)
    }
}

fn raw(entry: &Entry<'_>, table: &DeTable<'_>, findings: &mut Findings) -> Option<Table<RawFilterSpec>> {
    let raw = read::<RawFilterSpec>(table, &entry.span(), ["A raw filter", "The raw filter"], findings);
    (raw.id.is_some() && raw.mask.is_some()).then_some(raw)
}
