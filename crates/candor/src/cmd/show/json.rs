//! The plan as JSON. Identifiers and bytes are hexadecimal text; every number has its unit in the key.

use std::collections::BTreeMap;

use candor_config::config::note_keys;
use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{
    Bus, BusIndex, Echo, Formats, IdChange, Incoming, Link, Mode, ModeFrame, Plan, Route, RouteIndex, Selection,
    SendAs, Timestamp, WhenFull,
};
use candor_core::filter::CAN_INV_FILTER;
use candor_core::frame::FrameFormat;
use candor_core::job::{Job, cangw_arguments};
use candor_core::order;
use candor_core::payload::PayloadPattern;
use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand};
use serde::Serialize;

use super::realtime::{self, RealtimeView};
use super::{frames, labels};
use crate::cmd::job_text::{format_name, frames_of, hex, side_name};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    engine: &'static str,
    realtime: Option<RealtimeView>,
    buses: Vec<BusView<'a>>,
    routes: Vec<RouteView<'a>>,
    /// Composed by candor.
    frames: Vec<frames::FrameView<'a>>,
    /// In the order of delivery within a receive list.
    jobs: Vec<JobView<'a>>,
    /// The mode that is shown; `null` for the routes that always exist.
    mode: Option<&'a str>,
    modes: Vec<ModeView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ModeView<'a> {
    name: &'a str,
    for_s: f64,
    enter: Option<ModeFrameView<'a>>,
    leave: Option<ModeFrameView<'a>>,
    announce: Option<AnnounceView<'a>>,
}

/// A frame that enters or leaves a mode.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ModeFrameView<'a> {
    from: &'a str,
    /// As for cansend.
    frame: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AnnounceView<'a> {
    to: Vec<&'a str>,
    frame: String,
    every_s: f64,
    at_end: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BusView<'a> {
    name: &'a str,
    interface: &'a str,
    bitrate_bit_per_s: Option<u32>,
    data_bitrate_bit_per_s: Option<u32>,
    /// Seconds after bus-off.
    restart_after_s: Option<f64>,
    /// The bus at the other end of the pair.
    vxcan_peer: Option<&'a str>,
    /// The peer in the network, if it is one.
    link: Option<LinkView<'a>>,
    /// Bus, message and signal.
    watch: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LinkView<'a> {
    protocol: &'static str,
    connect: Option<&'a str>,
    listen: Option<String>,
    /// Its name for the peer.
    bus: &'a str,
    tls: bool,
    queue_frames: u32,
    max_age_s: f64,
    /// Names, highest priority first.
    bands: Vec<&'a str>,
}

impl<'a> LinkView<'a> {
    fn of(link: &'a Link) -> Self {
        Self {
            protocol: link.protocol.name(),
            connect: link.connect.as_deref(),
            listen: link.listen.map(|listen| listen.to_string()),
            bus: &link.peer_bus,
            tls: link.tls.is_some(),
            queue_frames: link.queue,
            max_age_s: link.max_age.as_secs_f64(),
            bands: link.bands.iter().map(|band| band.name.as_str()).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RouteView<'a> {
    name: &'a str,
    from: &'a str,
    to: &'a str,
    /// The mode in which it exists; `null`: it always exists.
    mode: Option<&'a str>,
    r#match: Vec<SelectionView>,
    payload: Vec<PayloadView>,
    frames: &'static str,
    send_as: Option<&'static str>,
    /// `guard`, `check` and `protect` in words.
    checks: BTreeMap<&'a str, &'a str>,
    /// Changed signals and their expressions. Constants are in `and` and `or`, too.
    change: BTreeMap<&'a str, &'a str>,
    and: Option<OperandView>,
    or: Option<OperandView>,
    xor: Option<OperandView>,
    set: Option<OperandView>,
    checksum_crc8: Option<Crc8View>,
    checksum_xor: Option<XorView>,
    echo: bool,
    exclusive: bool,
    hop_limit_hops: Option<u8>,
    max_age_s: Option<f64>,
    cycle_s: Option<f64>,
    min_delay_s: Option<f64>,
    /// Bits of the payload.
    on_change_hex: Option<String>,
    timeout_s: Option<f64>,
    /// `keep`, `stop`, or `substitute:` and the payload.
    on_timeout: Option<String>,
    when_full: &'static str,
    block_limit_s: Option<f64>,
    keep_timestamp: bool,
    back_to_incoming: bool,
    /// The keys that only describe a route, such as `comment`.
    #[serde(flatten)]
    #[cfg_attr(test, schemars(schema_with = "notes_schema"))]
    notes: BTreeMap<&'static str, Option<&'a str>>,
    uid_hex: Option<String>,
    /// `null` if neither side can run all routes.
    placement: Option<PlacementView>,
}

#[cfg(test)]
fn notes_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let keys: BTreeMap<_, _> =
        order::map(note_keys().map(|key| (key, schemars::json_schema!({ "type": ["string", "null"] }))));
    let required: Vec<_> = keys.keys().collect();
    schemars::json_schema!({ "type": "object", "properties": keys, "required": required })
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SelectionView {
    /// In cangw notation.
    text: String,
    can_id_hex: String,
    mask_hex: String,
    inverted: bool,
    to_id: Option<IdChangeView>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum IdChangeView {
    Set { set_hex: String },
    Move { and_hex: String, or_hex: String },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PayloadView {
    mask_hex: String,
    value_hex: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OperandView {
    can_id_hex: Option<String>,
    len: Option<u8>,
    flags_hex: Option<String>,
    data_hex: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SpanView {
    from_byte: i8,
    to_byte: i8,
    result_byte: i8,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Crc8View {
    #[serde(flatten)]
    span: SpanView,
    init_hex: String,
    final_xor_hex: String,
    table_hex: String,
    profile: Option<ProfileView>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
enum ProfileView {
    Byte { byte_hex: String },
    Bytes { bytes_hex: String },
    IdXor { id_xor: bool },
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct XorView {
    #[serde(flatten)]
    span: SpanView,
    init_hex: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PlacementView {
    side: &'static str,
    because: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JobView<'a> {
    route: &'a str,
    from_interface: &'a str,
    to_interface: &'a str,
    frames: &'static str,
    side: Option<&'static str>,
    /// Arguments of cangw; `null` if can-gw cannot express the job.
    cangw: Option<Vec<String>>,
}

pub(super) fn plan(plan: &Plan) -> View<'_> {
    let placement = Placement::known(plan, KernelAbilities::EVERY);
    let placement = placement.as_ref();
    let routes = plan.routes().iter().enumerate();
    View {
        engine: plan.engine().name(),
        realtime: realtime::view(plan),
        buses: plan.buses().iter().map(|bus| self::bus(plan, bus)).collect(),
        routes: routes
            .map(|(at, route)| self::route(plan, route, placement.map(|all| (all, RouteIndex(at)))))
            .collect(),
        frames: plan.frames().iter().map(|frame| frames::view(plan, frame)).collect(),
        jobs: candor_config::lower(plan).iter().map(|job| self::job(plan, job, placement)).collect(),
        mode: plan.mode().map(|mode| mode.name.as_str()),
        modes: plan.modes().iter().map(|mode| self::mode(plan, mode)).collect(),
    }
}

fn mode<'a>(plan: &'a Plan, mode: &'a Mode) -> ModeView<'a> {
    let bus = |bus: BusIndex| plan.bus(bus).name.as_str();
    let frame = |frame: &ModeFrame| ModeFrameView { from: bus(frame.from), frame: frame.frame.to_string() };
    ModeView {
        name: &mode.name,
        for_s: mode.lasts.as_secs_f64(),
        enter: mode.enter.as_ref().map(frame),
        leave: mode.leave.as_ref().map(frame),
        announce: mode.announce.as_ref().map(|announce| AnnounceView {
            to: announce.to.iter().map(|to| bus(*to)).collect(),
            frame: announce.frame.to_string(),
            every_s: announce.every.as_secs_f64(),
            at_end: announce.at_end.as_ref().map(ToString::to_string),
        }),
    }
}

fn bus<'a>(plan: &'a Plan, bus: &'a Bus) -> BusView<'a> {
    let watched = plan.watched().iter().filter(|frame| std::ptr::eq(plan.bus(frame.to), bus));
    BusView {
        name: &bus.name,
        interface: &bus.interface,
        bitrate_bit_per_s: bus.bitrate.map(|rate| rate.bits_per_second()),
        data_bitrate_bit_per_s: bus.data_bitrate.map(|rate| rate.bits_per_second()),
        restart_after_s: bus.restart_after.map(|wait| wait.as_secs_f64()),
        vxcan_peer: bus.vxcan_peer.map(|peer| plan.bus(peer).name.as_str()),
        link: plan.links().iter().find(|link| std::ptr::eq(plan.bus(link.bus), bus)).map(LinkView::of),
        watch: watched.flat_map(|frame| &frame.signals).map(|signal| signal.from.as_str()).collect(),
    }
}

fn route<'a>(plan: &'a Plan, route: &'a Route, placement: Option<(&Placement, RouteIndex)>) -> RouteView<'a> {
    let data_bytes = match (route.send_as.map(SendAs::format), route.formats) {
        (Some(format), _) | (None, Formats::Only(format)) => format.max_len(),
        (None, Formats::Any | Formats::Xl) => FrameFormat::Fd.max_len(),
    };
    let operand = |operand| self::operand(operand, data_bytes);
    let placed = |(placement, route): (&Placement, RouteIndex)| PlacementView {
        side: side_name(placement.side(route)),
        because: labels::reason(plan, placement, route),
    };
    let (when_full, block_limit) = match route.when_full {
        WhenFull::DropNewest => ("drop-newest", None),
        WhenFull::DropOldest => ("drop-oldest", None),
        WhenFull::Block { limit } => ("block", Some(limit)),
    };
    let timing = route.timing.as_ref();
    let timeout = timing.and_then(|timing| timing.timeout.as_ref());
    RouteView {
        name: &route.name,
        from: &plan.bus(route.from).name,
        to: &plan.bus(route.to).name,
        mode: route.mode.as_deref(),
        r#match: route.selections.iter().map(selection).collect(),
        payload: route.payload.iter().map(payload).collect(),
        frames: match route.formats {
            Formats::Any => "any",
            Formats::Xl => "xl",
            Formats::Only(format) => format_name(format),
        },
        send_as: route.send_as.map(|send_as| match send_as {
            SendAs::Classic => "classic",
            SendAs::Fd { bit_rate_switch: false } => "fd",
            SendAs::Fd { bit_rate_switch: true } => "fd-brs",
        }),
        checks: order::map(route.told.iter().map(|(key, text)| (*key, text.as_str()))),
        change: order::map(route.signals.iter().map(|(signal, text)| (signal.as_str(), text.as_str()))),
        and: operand(&route.modifications.and),
        or: operand(&route.modifications.or),
        xor: operand(&route.modifications.xor),
        set: operand(&route.modifications.set),
        checksum_crc8: route.checksums.crc8.as_ref().map(crc8),
        checksum_xor: route.checksums.xor.map(|xor| XorView { span: span(xor.span), init_hex: hex(&[xor.init]) }),
        echo: route.echo == Echo::On,
        exclusive: route.is_exclusive,
        hop_limit_hops: route.hop_limit,
        max_age_s: route.max_age.map(|age| age.as_secs_f64()),
        cycle_s: timing.and_then(|timing| Some(timing.cycle?.as_secs_f64())),
        min_delay_s: timing.map(|timing| timing.min_delay.as_secs_f64()),
        on_change_hex: timing.and_then(|timing| Some(hex(timing.on_change.as_ref()?))),
        timeout_s: timeout.map(|(after, _)| after.as_secs_f64()),
        on_timeout: timeout.map(|(_, action)| frames::on_timeout(action)),
        when_full,
        block_limit_s: block_limit.map(|limit| limit.as_secs_f64()),
        keep_timestamp: route.timestamp == Timestamp::Kept,
        back_to_incoming: route.incoming == Incoming::Allowed,
        notes: order::map(note_keys().map(|key| (key, note(route, key)))),
        uid_hex: route.uid.map(|uid| format!("{uid:08X}")),
        placement: placement.map(placed),
    }
}

fn note<'a>(route: &'a Route, key: &str) -> Option<&'a str> {
    route.notes.iter().find(|(name, _)| *name == key).map(|(_, text)| text.as_str())
}

fn job<'a>(plan: &'a Plan, job: &Job, placement: Option<&Placement>) -> JobView<'a> {
    let (from, to) = (&plan.bus(job.from).interface, &plan.bus(job.to).interface);
    JobView {
        route: &plan.route(job.route).name,
        from_interface: from,
        to_interface: to,
        frames: frames_of(job),
        side: placement.map(|placement| side_name(placement.side(job.route))),
        cangw: job.is_for_kernel().then(|| cangw_arguments(job, from, to)),
    }
}

fn selection(selection: &Selection) -> SelectionView {
    let filter = selection.filter;
    SelectionView {
        text: filter.to_string(),
        can_id_hex: id_hex(filter.id & !CAN_INV_FILTER),
        mask_hex: id_hex(filter.mask),
        inverted: filter.id & CAN_INV_FILTER != 0,
        to_id: selection.id.map(|change| match change {
            IdChange::Set(id) => IdChangeView::Set { set_hex: id_hex(id) },
            IdChange::Move { and, or } => IdChangeView::Move { and_hex: id_hex(and), or_hex: id_hex(or) },
        }),
    }
}

fn payload(pattern: &PayloadPattern) -> PayloadView {
    let bytes = pattern.bytes();
    PayloadView { mask_hex: hex(&pattern.mask[..bytes]), value_hex: hex(&pattern.value[..bytes]) }
}

fn operand(operand: &Operand, data_bytes: usize) -> Option<OperandView> {
    (!operand.is_empty()).then(|| OperandView {
        can_id_hex: operand.id.map(id_hex),
        len: operand.len,
        flags_hex: operand.flags.map(|flags| hex(&[flags])),
        data_hex: operand.data.map(|data| hex(&data[..data_bytes])),
    })
}

fn crc8(checksum: &Crc8Checksum) -> Crc8View {
    Crc8View {
        span: span(checksum.span),
        init_hex: hex(&[checksum.init]),
        final_xor_hex: hex(&[checksum.final_xor]),
        table_hex: hex(&checksum.table),
        profile: match checksum.profile {
            Crc8Profile::None => None,
            Crc8Profile::Byte(byte) => Some(ProfileView::Byte { byte_hex: hex(&[byte]) }),
            Crc8Profile::ByteByCounter(bytes) => Some(ProfileView::Bytes { bytes_hex: hex(&bytes) }),
            Crc8Profile::IdXor => Some(ProfileView::IdXor { id_xor: true }),
        },
    }
}

fn span(span: ChecksumSpan) -> SpanView {
    SpanView { from_byte: span.from, to_byte: span.to, result_byte: span.result }
}

fn id_hex(word: u32) -> String {
    format!("{word:08X}")
}
