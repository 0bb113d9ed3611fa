//! `[egress.BUS]` as written: bands, limits, or a tree.

use toml::de::DeValue;

use super::{BUS_NAME, IDENTIFIERS, ListSpec, MATCH, SOURCE, TEXTS};
use crate::config::code;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::entry::{Entry, entries, put, quote};
use candor_core::document::keys::{Key, KeyTable, Keyed, Named, Shape, Table, Value, one_or_list, read, read_with};
use candor_core::document::{Number, Spanned, Text};
use candor_core::keys;
use candor_egress::arbitration::MOST_FRAMES as QUEUE_FRAMES;
use candor_egress::policy::Fair;

const FRAMES: Key = Key::new("a number of frames, such as 100").range(1, i64::MAX);
const ARBITRATION: &str = "arbitration";
const MOST_FRAMES: i64 = Fair::No.most_frames() as i64;
const RATE: Key = Key::new("a rate with its unit, such as \"200 frames/s\" or \"20 %\"");
const TAKE: Key = Key::new("a list of selections, such as [{ match = \"123\" }, { mark = \"7\" }]")
    .shape(Shape::OneOrList(&Shape::Table(<SelectionSpec as Keyed>::KEYS)));

keys! {
    /// `[egress.BUS]`, under the name of the bus.
    pub struct EgressSpec {}
    "queue" => queue: Option<QueueSpec> = Key::new("a number of frames, such as 100, or \"arbitration\"")
        .shape(Shape::AnyOf(&[Shape::Integer(1, MOST_FRAMES), Shape::Words(&[ARBITRATION])]))
        .help("write another number")
        .about("queue length in frames of each band without a `queue` of its own; or `\"arbitration\"` in place of bands: \
            the frame that would win arbitration is sent first, and equal ones in the order in which they came (Linux \
            6.16, see [egress.md](egress.md#the-order-of-arbitration)); on other kernels the bands are used")
        .default("`100`");
    "frames" => frames: Option<Spanned<u32>> = FRAMES
        .range(1, QUEUE_FRAMES as i64)
        .help("write another number")
        .about("with `queue = \"arbitration\"`: frames that may wait")
        .default("`100`");
    "per-socket" => per_socket: Option<Spanned<u32>> = FRAMES
        .range(1, QUEUE_FRAMES as i64)
        .help("write another number")
        .about("with `queue = \"arbitration\"`: frames of one socket that may wait, so that no program fills the queue. \
            Frames that can-gw forwards have no socket")
        .default("all");
    "replace" => replace: Option<Text> = Key::words(&["same-id"])
        .about("with `queue = \"arbitration\"`: `\"same-id\"`: a frame takes the place of one that waits with the same \
            identifier, which is dropped without notification")
        .default("none");
    "max-age" => max_age: Option<Text> = Key::new("a time with its unit, such as \"50ms\"")
        .about("with `queue = \"arbitration\"`: frames that have waited longer, in whole milliseconds, are dropped without \
            notification")
        .default("any age");
    "band" => bands: Vec<Table<BandSpec>> | tables = Key::new("")
        .shape(Shape::List(&Shape::Table(<BandSpec as Keyed>::KEYS)))
        .about("a list, [`[[egress.BUS.band]]`](#bands), highest priority first; 1 to 16");
    "limit" => limits: Vec<Table<LimitSpec>> | tables = Key::new("")
        .shape(Shape::List(&Shape::Table(<LimitSpec as Keyed>::KEYS)))
        .about("a list, [`[[egress.BUS.limit]]`](#limits)")
        .default("none");
    "tree" => tree: Option<TreeSpec> =
        Key::new("lines of tc between ''' and ''', such as '''qdisc root handle 1: prio'''")
        .about("lines of `tc` in place of all the other keys, see [egress.md](egress.md#trees)");

    /// `[[egress.BUS.band]]`.
    pub struct BandSpec {}
    "name" => name: Option<Text> = Key::new("a name, such as \"control\"")
        .required("a name of its own, such as name = \"control\"")
        .about("letters, digits, `-` and `_`; unique within the bus");
    "take" => take: Vec<Table<SelectionSpec>> | take = TAKE
        .about("a list of selections: a frame belongs to the band if one of them matches");
    ..own: SelectionSpec = "keys of a [selection](#selections) set directly in the band form one more selection";
    "fair" => fair: Option<Text> = Key::words(&["per-socket", "per-mark", "per-user"])
        .about("`\"per-socket\"`, `\"per-mark\"` or `\"per-user\"`: round robin between these, one frame at a time. \
            Frames forwarded by gateways count as one sender")
        .default("first in, first out");
    "rate" => rate: Option<Text> = RATE
        .about("maximum rate, `\"200 frames/s\"` or `\"20 %\"` of the bus (from its `bitrate` and the longest classic \
            frame, 160 bits); burst of one frame")
        .default("the rate of the bus");
    "share" => share: Option<Spanned<u8>> = Key::new("a number of frames for each round, such as 3")
        .range(1, 100)
        .help("shares are relative weights: 3 and 1 are 75 % and 25 %")
        .about("weight, `1` to `100` frames per round among the bands with a share: `3`, `1` and `6` are tenths of the \
            rate, and capacity that one band does not use goes to the others. These are the last bands, at least two; \
            not with `rate`; needs `sch_ets` (Linux 5.6)")
        .default("none: strict priority");
    "queue" => queue: Option<Number> = FRAMES
        .about("queue length in frames; with `fair`, per sender, up to 127")
        .default("that of the bus");
    "when-full" => when_full: Option<Text> = Key::words(&["refuse", "drop-oldest"])
        .about("`\"refuse\"`: the sender gets `ENOBUFS`. `\"drop-oldest\"`: the oldest frame is dropped without \
            notification")
        .default("`\"refuse\"`");
    "max-age" => max_age: Option<Text> = Key::new("a time with its unit, such as \"50ms\"")
        .about("in place of `queue`, with `rate` and without `fair`: queue length equal to the number of frames sent in \
            this time")
        .default("any age");

    /// `[[egress.BUS.limit]]`.
    pub struct LimitSpec {}
    "take" => take: Vec<Table<SelectionSpec>> | take = TAKE
        .about("a list of selections, as in a band; either by cgroup (up to 8) or by other keys, because a limit is one \
            filter")
        .default("this or keys of a selection");
    ..own: SelectionSpec = "keys of a [selection](#selections) set directly in the limit form one more selection";
    "rate" => rate: Option<Text> = RATE
        .required("the maximum rate, such as rate = \"20 frames/s\"")
        .about("`\"20 frames/s\"` or `\"5 %\"`");
    "burst" => burst: Option<Spanned<u32>> = FRAMES
        .range(1, 1 << 16)
        .help("this many frames may be sent at once; 1 enforces the rate most strictly")
        .about("frames that may be sent at once")
        .default("`1`");

    /// Frames that belong to a band, or are limited.
    pub struct SelectionSpec {}
    "match" => filter: Option<ListSpec> = MATCH
        .shape(IDENTIFIERS)
        .about("filters, ranges and lists, as in a route: these identifiers. As in routes, identifiers and ranges match \
            data frames only");
    "kind" => kind: Option<Text> = Key::words(&["data", "remote"])
        .about("`\"data\"` or `\"remote\"`: data frames or remote frames");
    "length" => length: Option<Text> | length =
        Key::new("a number of bytes such as 8, or a range such as \"0..4\"")
        .shape(Shape::AnyOf(&[Shape::Integer(0, 64), Shape::Text]))
        .about("`8`, or a range `\"0..4\"`: frames with this payload length in bytes");
    "j1939" => j1939: Option<Table<J1939Spec>> =
        Key::new("a table, such as { priority = [0, 1] } or { pgn = \"FEF1\" }")
        .about("`{ priority = [0, 1] }`, `{ pgn = \"FEF1\" }` (hexadecimal) or both: 29-bit identifiers with this \
            priority and this parameter group, with any address");
    "from" => from: Option<Vec<Text>> | one_or_list = BUS_NAME
        .shape(TEXTS)
        .aliases(SOURCE)
        .about("name of a bus, or a list: frames that can-gw forwards from there. Frames forwarded in user space are \
            sent by candor itself, so a route that runs there is an error");
    "socket-priority" => socket_priority: Option<Vec<u32>> | one_or_list =
        Key::new("a value of SO_PRIORITY, such as 6, or a list of them")
        .shape(Shape::OneOrList(&Shape::Integer(0, 0xFFFF)))
        .help("SO_PRIORITY is 0 to 6, or up to 65535 with CAP_NET_ADMIN; higher values select a class directly and bypass \
            the bands")
        .about("a number, or a list: frames of sockets with this `SO_PRIORITY`. `CAN_RAW` only, other protocols do not \
            pass it on");
    "mark" => mark: Option<Vec<Text>> | one_or_list =
        Key::new("a mark in hex, such as \"7\" or \"100:F00\", or a list of them")
        .shape(TEXTS)
        .about("`\"7\"`, `\"100:F00\"` (value and mask, hexadecimal), or a list: frames of sockets with this `SO_MARK`");
    "cgroup" => cgroup: Option<Vec<Text>> | one_or_list =
        Key::new("a control group, such as \"/system.slice/can-logger.service\", or a list of them")
        .shape(TEXTS)
        .about("`\"/user.slice\"`, or a list: frames of sockets opened in this [cgroup](egress.md#services) or in one \
            below it. Must be the only key of its selection");
    "unit" => unit: Option<Vec<Text>> | one_or_list =
        Key::new("a unit of systemd, such as \"can-logger.service\", or a list of them")
        .shape(TEXTS)
        .about("`\"can-logger.service\"`, or a list: the same, by the systemd unit that owns the cgroup. Must be the \
            only key of its selection");

    /// `j1939`.
    pub struct J1939Spec {}
    "priority" => priority: Option<Vec<u32>> | one_or_list =
        Key::new("a priority of J1939, 0 to 7, or a list of them")
        .shape(Shape::OneOrList(&Shape::Integer(0, 7)))
        .help("0 is the highest priority, and 6 the default of most messages")
        .about("priority of the frame, 0 (highest) to 7, or a list");
    "pgn" => pgn: Option<Vec<Text>> | one_or_list =
        Key::new("a parameter group number in hex, such as \"FEF1\", or a list of them")
        .shape(TEXTS)
        .about("parameter group number, hexadecimal, or a list");
}

/// `queue`: frames of a band, or the order of arbitration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueSpec {
    Arbitration(Span),
    Frames(Spanned<u32>),
}

impl QueueSpec {
    pub(in crate::config) const fn span(&self) -> &Span {
        match self {
            Self::Arbitration(span) | Self::Frames(Spanned { span, .. }) => span,
        }
    }
}

impl Value for QueueSpec {
    const SHAPE: Shape = Shape::Any;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        if let DeValue::Integer(_) = entry.value.get_ref() {
            return Value::read(entry, &key.range(1, MOST_FRAMES), findings).map(Self::Frames);
        }
        let Spanned { value, span } = entry.string(key.wanted, findings)?;
        if value == ARBITRATION {
            return Some(Self::Arbitration(span));
        }
        let message = format!("`queue` must be {}, not {}", key.wanted, quote(&value));
        findings.error(code::EGRESS_WORD, &span, message, "write a number, or queue = \"arbitration\"");
        None
    }
}

/// `tree`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    pub text: Text,
    /// The byte of the file at which it begins, if it stands there as it is.
    pub at: Option<usize>,
}

impl SelectionSpec {
    /// True without any key that selects frames.
    pub(in crate::config) const fn is_empty(&self) -> bool {
        !self.is_by_frame() && self.cgroup.is_none() && self.unit.is_none()
    }

    /// It compares what a frame itself has.
    pub(in crate::config) const fn is_by_frame(&self) -> bool {
        self.filter.is_some()
            || self.kind.is_some()
            || self.length.is_some()
            || self.j1939.is_some()
            || self.from.is_some()
            || self.socket_priority.is_some()
            || self.mark.is_some()
    }
}

/// Attributes that no filter sees, but a cgroup may select.
const BY_PROCESS: &[&str] = &["service", "systemd-unit", "pid", "process", "program", "user", "uid"];

pub(super) fn egress(into: &mut Vec<Named<EgressSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    for named in entries(table) {
        let wanted = "a table: [egress.BUS], and below it [[egress.BUS.band]] for each band";
        let Some(keys) = named.table(wanted, findings) else { continue };
        let name = named.name();
        let table = read::<EgressSpec>(keys, &name.span, ["`egress`"; 2], findings);
        into.push(Named { name, table });
    }
    true
}

impl Value for TreeSpec {
    const SHAPE: Shape = Shape::Text;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        entry.string(key.wanted, findings).map(|text| Self { text, at: None })
    }
}

/// `[[egress.BUS.KEY]]`. Returns `false` if they are not tables.
pub(super) fn tables<T: Keyed>(
    into: &mut Vec<Table<T>>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let name = key.name;
    let help = || Some(format!("start every {name} with a line [[egress.BUS.{name}]]"));
    let DeValue::Array(array) = entry.value.get_ref() else {
        entry.wrong_type::<()>(&format!("a list: [[egress.BUS.{name}]]"), help(), findings);
        return false;
    };
    for item in array {
        let DeValue::Table(keys) = item.get_ref() else {
            let wanted = format!("a list of tables: [[egress.BUS.{name}]]");
            entry.with_value(item).wrong_type::<()>(&wanted, help(), findings);
            return false;
        };
        let places = [&*format!("A {name}"), &*format!("The {name}")];
        into.push(read_with(keys, &item.span(), places, unknown, findings));
    }
    true
}

/// A selection, or a list of them.
fn take(into: &mut Vec<Table<SelectionSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    for item in entry.items() {
        let Some(keys) = item.table(key.wanted, findings) else { return false };
        into.push(read_with(keys, &item.span(), ["A selection"; 2], unknown, findings));
    }
    true
}

/// As [`Entry::unknown`]; the finding about a selection by process says what there is instead.
fn unknown(entry: &Entry<'_>, place: &str, keys: &KeyTable, findings: &mut Findings) -> Option<&'static str> {
    if !BY_PROCESS.contains(&entry.key) {
        return entry.unknown(place, keys, findings);
    }
    let message = format!("{place} cannot select by {}", quote(entry.key));
    let help =
        "write unit = \"can-logger.service\" or cgroup = \"/can\", or mark the frames in the program: mark = \"7\"";
    let diagnostic = Diagnostic::error(code::UNKNOWN_KEY, entry.key_span(), message);
    findings.report(diagnostic.label("not visible to any filter").help(help));
    None
}

/// A number, or a range in a text.
fn length(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let length = match entry.value.get_ref() {
        DeValue::Integer(_) => entry
            .integer(key.wanted, findings)
            .map(|number| Text { value: number.value.to_string(), span: number.span }),
        _ => entry.string(key.wanted, findings),
    };
    put(into, length)
}
