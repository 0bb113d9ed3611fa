//! The file exactly as written. Every value keeps its place; nothing has been proven but the types.

mod egress;

pub use egress::{BandSpec, EgressSpec, J1939Spec, LimitSpec, SelectionSpec, TreeSpec};

use candor_core::diagnostic::Span;
use candor_core::document::Spanned;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// `engine`.
    pub engine: Option<Spanned<String>>,
    /// `[realtime]`.
    pub realtime: Option<RealtimeSpec>,
    /// `[ids]`, in the order of the file.
    pub ids: Vec<IdsSpec>,
    /// `[bus.NAME]`, in the order of the file.
    pub buses: Vec<BusSpec>,
    /// `[[route]]`, in the order of the file.
    pub routes: Vec<RouteSpec>,
    /// `[wire]`.
    pub wire: Option<WireSpec>,
    /// `[egress.BUS]`, in the order of the file.
    pub egress: Vec<EgressSpec>,
    /// Whether the file has a `bus` or `route` key at all, even a broken one.
    pub sections: Sections,
    /// Names of buses that are there, but are no tables.
    pub broken_buses: Vec<String>,
}

impl Spec {
    /// Where each route of the plan is written, in its order: one that goes both ways is there twice.
    pub(in crate::config) fn by_route(&self) -> Vec<&RouteSpec> {
        let goes_back = |route: &RouteSpec| route.both_ways.as_ref().is_some_and(|both_ways| both_ways.value);
        self.routes.iter().flat_map(|route| std::iter::repeat_n(route, 1 + usize::from(goes_back(route)))).collect()
    }
}

/// Which sections a file has, sound or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// `bus` is there.
    pub bus: bool,
    /// `route` is there.
    pub route: bool,
    /// `egress` is there.
    pub egress: bool,
    /// A bus is there whose name is not.
    pub nameless_bus: bool,
}

/// `[realtime]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealtimeSpec {
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `sched`.
    pub sched: Option<Spanned<String>>,
    /// `cpus`.
    pub cpus: Option<CpusSpec>,
    /// `lock-memory`.
    pub lock_memory: Option<Spanned<bool>>,
    /// `cpu-dma-latency`.
    pub cpu_dma_latency: Option<Spanned<String>>,
}

/// `cpus` of `[realtime]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpusSpec {
    /// The whole value.
    pub span: Span,
    /// Its numbers.
    pub numbers: Vec<Spanned<i64>>,
}

/// `[wire]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireSpec {
    /// Its name.
    pub span: Span,
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `[wire.bus.NAME]`, in the order of the file.
    pub buses: Vec<WireBusSpec>,
    /// `adapters`: the interfaces of each.
    pub adapters: Vec<Vec<Spanned<String>>>,
    /// `model`.
    pub model: Option<Spanned<String>>,
    /// `depth`.
    pub depth: Option<Spanned<i64>>,
    /// `order`.
    pub order: Option<Spanned<String>>,
    /// `force-rates`.
    pub force_rates: Option<Spanned<bool>>,
    /// `seed`.
    pub seed: Option<Spanned<i64>>,
    /// `late`.
    pub late: Option<Spanned<String>>,
    /// `log`.
    pub log: Option<Spanned<String>>,
    /// `pcapng`.
    pub pcapng: Option<Spanned<String>>,
    /// `faults`.
    pub faults: Vec<Spanned<String>>,
}

/// `[wire.bus.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBusSpec {
    /// NAME.
    pub name: Spanned<String>,
    /// `bitrate`.
    pub bitrate: Option<Spanned<String>>,
    /// `data-bitrate`.
    pub data_bitrate: Option<Spanned<String>>,
    /// `interfaces`.
    pub interfaces: Vec<Spanned<String>>,
}

/// `[bus.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusSpec {
    /// NAME.
    pub name: Spanned<String>,
    /// `interface`.
    pub interface: Option<Spanned<String>>,
    /// `bitrate`.
    pub bitrate: Option<Spanned<String>>,
    /// `data-bitrate`.
    pub data_bitrate: Option<Spanned<String>>,
    /// `allow`.
    pub allow: Option<ListSpec>,
    /// `deny`.
    pub deny: Option<ListSpec>,
    /// `vxcan-peer`.
    pub vxcan_peer: Option<Spanned<String>>,
    /// `restart-after`.
    pub restart_after: Option<Spanned<String>>,
    /// Whether `allow` or `deny` is there, but is no list.
    pub is_torn: bool,
}

/// One list of `[ids]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdsSpec {
    /// Its name.
    pub name: Spanned<String>,
    /// What it holds; `None` if it is no list.
    pub list: Option<ListSpec>,
}

/// Which identifiers: `match`, `allow`, `deny` or a list of `[ids]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListSpec {
    /// The whole value.
    pub span: Span,
    /// Its entries; one if it is no list.
    pub entries: Vec<EntrySpec>,
    /// Whether some entry is of the wrong type and not here.
    pub is_torn: bool,
}

/// One entry of a list of identifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntrySpec {
    /// `{ id = "…", mask = "…" }`.
    Raw(Box<RawFilterSpec>),
    /// A filter, a range or the name of a list.
    Text(Spanned<String>),
}

/// A filter as the kernel gets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawFilterSpec {
    /// The whole table.
    pub span: Span,
    /// `id`.
    pub id: Option<Spanned<String>>,
    /// `mask`.
    pub mask: Option<Spanned<String>>,
}

/// `[[route]]`. What few routes have is in boxes, because there may be many routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteSpec {
    /// Its header.
    pub header: Span,
    /// `name`.
    pub name: Option<Spanned<String>>,
    /// `from`.
    pub from: Option<Spanned<String>>,
    /// `to`.
    pub to: Option<Spanned<String>>,
    /// Keys that are there with a value of the wrong type, which has been reported.
    pub broken: Vec<&'static str>,
    /// `match`.
    pub filter: Option<ListSpec>,
    /// `errors`.
    pub errors: Option<Spanned<String>>,
    /// `allow`.
    pub allow: Option<ListSpec>,
    /// `deny`.
    pub deny: Option<ListSpec>,
    /// `payload`.
    pub payload: Option<Vec<Spanned<String>>>,
    /// `mux`.
    pub mux: Option<Box<MuxSpec>>,
    /// `both-ways`.
    pub both_ways: Option<Spanned<bool>>,
    /// `back-to-incoming`.
    pub back_to_incoming: Option<Spanned<bool>>,
    /// `frames`.
    pub frames: Option<Spanned<String>>,
    /// `send-as`.
    pub send_as: Option<Spanned<String>>,
    /// `to-id`.
    pub to_id: Option<Spanned<String>>,
    /// `and`.
    pub and: Option<Box<OperandSpec>>,
    /// `or`.
    pub or: Option<Box<OperandSpec>>,
    /// `xor`.
    pub xor: Option<Box<OperandSpec>>,
    /// `set`.
    pub set: Option<Box<OperandSpec>>,
    /// `checksum-xor`.
    pub checksum_xor: Option<Box<XorSpec>>,
    /// `checksum-crc8`.
    pub checksum_crc8: Option<Box<Crc8Spec>>,
    /// `echo`.
    pub echo: Option<Spanned<bool>>,
    /// `hop-limit`.
    pub hop_limit: Option<Spanned<i64>>,
    /// `keep-timestamp`.
    pub keep_timestamp: Option<Spanned<bool>>,
    /// `max-age`.
    pub max_age: Option<Spanned<String>>,
    /// `when-full`.
    pub when_full: Option<Spanned<String>>,
    /// `block-limit`.
    pub block_limit: Option<Spanned<String>>,
    /// `uid`.
    pub uid: Option<Spanned<String>>,
}

/// `mux`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MuxSpec {
    /// The whole table.
    pub span: Span,
    /// Whether a field is of the wrong type and not here.
    pub is_torn: bool,
    /// `start-bit`.
    pub start_bit: Option<Spanned<i64>>,
    /// `bits`.
    pub bits: Option<Spanned<i64>>,
    /// `byte-order`.
    pub byte_order: Option<Spanned<String>>,
    /// `values`.
    pub values: Option<Vec<Spanned<i64>>>,
}

/// The operand of `and`, `or`, `xor` or `set`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperandSpec {
    /// The whole table.
    pub span: Span,
    /// Whether a field is of the wrong type and not here.
    pub is_torn: bool,
    /// `id`.
    pub id: Option<Spanned<String>>,
    /// `raw-id`.
    pub raw_id: Option<Spanned<String>>,
    /// `len`.
    pub len: Option<Spanned<i64>>,
    /// `raw-len`.
    pub raw_len: Option<Spanned<i64>>,
    /// `flags`.
    pub flags: Option<Spanned<String>>,
    /// `data`.
    pub data: Option<Spanned<String>>,
}

/// The three positions of a checksum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionsSpec {
    /// `from`.
    pub from: Option<Spanned<i64>>,
    /// `to`.
    pub to: Option<Spanned<i64>>,
    /// `result`.
    pub result: Option<Spanned<i64>>,
}

/// `checksum-xor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct XorSpec {
    /// The whole table.
    pub span: Span,
    /// Which bytes.
    pub positions: PositionsSpec,
    /// `init`.
    pub init: Option<Spanned<String>>,
}

/// `checksum-crc8`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crc8Spec {
    /// The whole table.
    pub span: Span,
    /// Whether a field is of the wrong type and not here.
    pub is_torn: bool,
    /// `preset`.
    pub preset: Option<Spanned<String>>,
    /// Which bytes.
    pub positions: PositionsSpec,
    /// `init`.
    pub init: Option<Spanned<String>>,
    /// `final-xor`.
    pub final_xor: Option<Spanned<String>>,
    /// `polynomial`.
    pub polynomial: Option<Spanned<String>>,
    /// `table`.
    pub table: Option<Spanned<String>>,
    /// `profile`.
    pub profile: Option<ProfileSpec>,
}

/// `checksum-crc8.profile`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSpec {
    /// The whole table.
    pub span: Span,
    /// Whether a field is of the wrong type and not here.
    pub is_torn: bool,
    /// `id-xor`.
    pub id_xor: Option<Spanned<bool>>,
    /// `byte`.
    pub byte: Option<Spanned<String>>,
    /// `bytes`.
    pub bytes: Option<Spanned<String>>,
}
