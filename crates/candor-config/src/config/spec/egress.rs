//! `[egress.BUS]` as written.

use super::{BUS_NAME, IDENTIFIERS, MATCH, SOURCE, TEXTS};
use crate::config::parse::egress;
use crate::config::spec::ListSpec;
use candor_core::diagnostic::Span;
use candor_core::document::keys::{Key, Keyed, Shape, one_or_list};
use candor_core::document::{Number, Spanned, Text};
use candor_core::keys;

const FRAMES: Key = Key::new("a number of frames, such as 100").range(1, i64::MAX);
const RATE: Key = Key::new("a rate with its unit, such as \"200 frames/s\" or \"20 %\"");
const TAKE: Key = Key::new("a list of selections, such as [{ match = \"123\" }, { mark = \"7\" }]")
    .shape(Shape::OneOrList(&Shape::Table(<SelectionSpec as Keyed>::KEYS)));

keys! {
    /// `[egress.BUS]`.
    pub struct EgressSpec {
        bus: Spanned<String>,
        is_torn: bool,
    }
    "queue" => queue: Option<Number> = FRAMES
        .about("queue length in frames of each band without a `queue` of its own")
        .default("`100`");
    "band" => bands: Vec<BandSpec> | egress::tables = Key::new("")
        .shape(Shape::List(&Shape::Table(<BandSpec as Keyed>::KEYS)))
        .about("a list, [`[[egress.BUS.band]]`](#bands), highest priority first; 1 to 16");
    "limit" => limits: Vec<LimitSpec> | egress::tables = Key::new("")
        .shape(Shape::List(&Shape::Table(<LimitSpec as Keyed>::KEYS)))
        .about("a list, [`[[egress.BUS.limit]]`](#limits)")
        .default("none");
    "tree" => tree: Option<TreeSpec> =
        Key::new("lines of tc between ''' and ''', such as '''qdisc root handle 1: prio'''")
        .about("lines of `tc` in place of all the other keys, see [egress.md](egress.md#trees)");

    /// `[[egress.BUS.band]]`.
    pub struct BandSpec {
        /// Its header.
        header: Span,
        is_torn: bool,
    }
    "name" => name: Option<Text> = Key::new("a name, such as \"control\"")
        .required("a name of its own, such as name = \"control\"")
        .about("letters, digits, `-` and `_`; unique within the bus");
    "take" => take: Vec<SelectionSpec> | egress::take = TAKE
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
    "share" => share: Option<Number> = Key::new("a number of frames for each round, such as 3")
        .range(1, 100)
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
    pub struct LimitSpec {
        /// Its header.
        header: Span,
        is_torn: bool,
    }
    "take" => take: Vec<SelectionSpec> | egress::take = TAKE
        .about("a list of selections, as in a band; either by cgroup (up to 8) or by other keys, because a limit is one \
            filter")
        .default("this or keys of a selection");
    ..own: SelectionSpec = "keys of a [selection](#selections) set directly in the limit form one more selection";
    "rate" => rate: Option<Text> = RATE
        .required("how many frames there may be, such as rate = \"20 frames/s\"")
        .about("`\"20 frames/s\"` or `\"5 %\"`");
    "burst" => burst: Option<Number> = FRAMES.about("frames that may be sent at once").default("`1`");

    /// Frames that belong to a band, or are limited.
    pub struct SelectionSpec {
        span: Span,
        is_torn: bool,
    }
    "match" => filter: Option<ListSpec> = MATCH
        .shape(IDENTIFIERS)
        .about("filters, ranges and lists, as in a route: these identifiers. As in routes, identifiers and ranges match \
            data frames only");
    "kind" => kind: Option<Text> = Key::words(&["data", "remote"])
        .about("`\"data\"` or `\"remote\"`: data frames or remote frames");
    "length" => length: Option<Text> | egress::length =
        Key::new("a number of bytes such as 8, or a range such as \"0..4\"")
        .shape(Shape::AnyOf(&[Shape::Integer(0, 64), Shape::Text]))
        .about("`8`, or a range `\"0..4\"`: frames with this payload length in bytes");
    "j1939" => j1939: Option<J1939Spec> =
        Key::new("a table, such as { priority = [0, 1] } or { pgn = \"FEF1\" }")
        .about("`{ priority = [0, 1] }`, `{ pgn = \"FEF1\" }` (hexadecimal) or both: 29-bit identifiers with this \
            priority and this parameter group, with any address");
    "from" => from: Option<Vec<Text>> | one_or_list = BUS_NAME
        .shape(TEXTS)
        .aliases(SOURCE)
        .about("name of a bus, or a list: frames that can-gw forwards from there. Frames forwarded in user space are \
            sent by candor itself, so a route that runs there is an error");
    "socket-priority" => socket_priority: Option<Vec<Number>> | one_or_list =
        Key::new("a number as SO_PRIORITY has it, such as 6, or a list of them")
        .shape(Shape::OneOrList(&Shape::Integer(0, u32::MAX as i64)))
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
    pub struct J1939Spec {
        span: Span,
    }
    "priority" => priority: Option<Vec<Number>> | one_or_list =
        Key::new("a priority of J1939, 0 to 7, or a list of them")
        .shape(Shape::OneOrList(&Shape::Integer(0, 7)))
        .about("priority of the frame, 0 (highest) to 7, or a list");
    "pgn" => pgn: Option<Vec<Text>> | one_or_list =
        Key::new("a parameter group number in hex, such as \"FEF1\", or a list of them")
        .shape(TEXTS)
        .about("parameter group number, hexadecimal, or a list");
}

/// `tree`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    pub text: Text,
    /// The byte of the file at which it begins, if it stands there as it is.
    pub at: Option<usize>,
}

impl SelectionSpec {
    /// It selects nothing.
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
