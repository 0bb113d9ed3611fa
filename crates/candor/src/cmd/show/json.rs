//! The plan as JSON. Identifiers and bytes are hexadecimal text; every number has its unit in the key.
//!
//! The keys are written down in `docs/json.md`.

use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{
    Echo, Formats, IdChange, Incoming, Plan, Route, RouteIndex, Selection, SendAs, Timestamp, WhenFull,
};
use candor_core::filter::CAN_INV_FILTER;
use candor_core::frame::FrameFormat;
use candor_core::job::{Job, cangw_arguments};
use candor_core::payload::PayloadPattern;
use candor_core::rule::{ChecksumSpan, Crc8Checksum, Crc8Profile, Operand};
use serde_json::{Value, json};

use crate::cmd::show::labels as words;

pub(super) fn plan(plan: &Plan) -> Value {
    let buses: Vec<_> = plan
        .buses()
        .iter()
        .map(|bus| {
            json!({
                "name": bus.name,
                "interface": bus.interface,
                "bitrate_bit_per_s": bus.bitrate.map(|rate| rate.bits_per_second()),
                "data_bitrate_bit_per_s": bus.data_bitrate.map(|rate| rate.bits_per_second()),
                "restart_after_s": bus.restart_after.map(|wait| wait.as_secs_f64()),
                "vxcan_peer": bus.vxcan_peer.map(|peer| plan.bus(peer).name.as_str()),
            })
        })
        .collect();
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok();
    let side = |index| side(plan, placement.as_ref(), index);
    let routes: Vec<_> = plan
        .routes()
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let mut value = route(plan, item);
            value["placement"] = side(RouteIndex(index));
            for key in candor_config::config::note_keys() {
                value[key] = item.notes.iter().find(|(name, _)| *name == key).map(|(_, text)| text.as_str()).into();
            }
            value
        })
        .collect();
    let jobs: Vec<_> =
        candor_config::lower(plan).iter().map(|item| job(plan, item, &side(item.route)["side"])).collect();
    json!({ "engine": plan.engine().name(), "buses": buses, "routes": routes, "jobs": jobs })
}

/// Who runs a route; `null` if nobody can.
fn side(plan: &Plan, placement: Option<&Placement>, index: RouteIndex) -> Value {
    let Some(placement) = placement else { return Value::Null };
    match placement.because(index) {
        None => json!({ "side": "kernel", "because": null }),
        Some(because) => json!({ "side": "user", "because": words::why(plan, because) }),
    }
}

fn job(plan: &Plan, job: &Job, side: &Value) -> Value {
    let (from, to) = (&plan.bus(job.from).interface, &plan.bus(job.to).interface);
    json!({
        "route": plan.route(job.route).name,
        "from_interface": from,
        "to_interface": to,
        "frames": frames(Formats::Only(job.format)),
        "side": side,
        "cangw": job.is_for_kernel().then(|| cangw_arguments(job, from, to)),
    })
}

fn route(plan: &Plan, route: &Route) -> Value {
    let data_bytes = match (route.send_as.map(SendAs::format), route.formats) {
        (Some(format), _) | (None, Formats::Only(format)) => format.max_len(),
        (None, Formats::Any) => FrameFormat::Fd.max_len(),
    };
    let modifications = &route.modifications;
    json!({
        "name": route.name,
        "from": plan.bus(route.from).name,
        "to": plan.bus(route.to).name,
        "match": route.selections.iter().map(selection).collect::<Vec<_>>(),
        "payload": route.payload.iter().map(payload).collect::<Vec<_>>(),
        "frames": frames(route.formats),
        "send_as": route.send_as.map(|send_as| match send_as {
            SendAs::Classic => "classic",
            SendAs::Fd { bit_rate_switch: false } => "fd",
            SendAs::Fd { bit_rate_switch: true } => "fd-brs",
        }),
        "and": operand(&modifications.and, data_bytes),
        "or": operand(&modifications.or, data_bytes),
        "xor": operand(&modifications.xor, data_bytes),
        "set": operand(&modifications.set, data_bytes),
        "checksum_crc8": route.checksums.crc8.as_ref().map(crc8),
        "checksum_xor": route.checksums.xor.map(|checksum| {
            let mut value = span(checksum.span);
            value["init_hex"] = hex(&[checksum.init]).into();
            value
        }),
        "echo": route.echo == Echo::On,
        "hop_limit_hops": route.hop_limit,
        "max_age_s": route.max_age.map(|age| age.as_secs_f64()),
        "when_full": match route.when_full {
            WhenFull::DropNewest => "drop-newest",
            WhenFull::DropOldest => "drop-oldest",
            WhenFull::Block { .. } => "block",
        },
        "block_limit_s": match route.when_full {
            WhenFull::Block { limit } => Some(limit.as_secs_f64()),
            WhenFull::DropNewest | WhenFull::DropOldest => None,
        },
        "keep_timestamp": route.timestamp == Timestamp::Kept,
        "back_to_incoming": route.incoming == Incoming::Allowed,
        "uid_hex": route.uid.map(|uid| format!("{uid:08X}")),
    })
}

const fn frames(formats: Formats) -> &'static str {
    match formats {
        Formats::Any => "any",
        Formats::Only(FrameFormat::Classic) => "classic",
        Formats::Only(FrameFormat::Fd) => "fd",
    }
}

fn payload(pattern: &PayloadPattern) -> Value {
    let bytes = pattern.bytes();
    json!({ "mask_hex": hex(&pattern.mask[..bytes]), "value_hex": hex(&pattern.value[..bytes]) })
}

fn selection(selection: &Selection) -> Value {
    let filter = selection.filter;
    json!({
        "text": filter.to_string(),
        "can_id_hex": format!("{:08X}", filter.id & !CAN_INV_FILTER),
        "mask_hex": format!("{:08X}", filter.mask),
        "inverted": filter.id & CAN_INV_FILTER != 0,
        "to_id": selection.id.map(|change| match change {
            IdChange::Set(id) => json!({ "set_hex": format!("{id:08X}") }),
            IdChange::Move { and, or } => json!({ "and_hex": format!("{and:08X}"), "or_hex": format!("{or:08X}") }),
        }),
    })
}

fn operand(operand: &Operand, data_bytes: usize) -> Value {
    if operand.is_empty() {
        return Value::Null;
    }
    json!({
        "can_id_hex": operand.id.map(|id| format!("{id:08X}")),
        "len": operand.len,
        "flags_hex": operand.flags.map(|flags| hex(&[flags])),
        "data_hex": operand.data.map(|data| hex(&data[..data_bytes])),
    })
}

fn crc8(checksum: &Crc8Checksum) -> Value {
    let mut value = span(checksum.span);
    value["init_hex"] = hex(&[checksum.init]).into();
    value["final_xor_hex"] = hex(&[checksum.final_xor]).into();
    value["table_hex"] = hex(&checksum.table).into();
    value["profile"] = match checksum.profile {
        Crc8Profile::None => Value::Null,
        Crc8Profile::Byte(byte) => json!({ "byte_hex": hex(&[byte]) }),
        Crc8Profile::ByteByCounter(bytes) => json!({ "bytes_hex": hex(&bytes) }),
        Crc8Profile::IdXor => json!({ "id_xor": true }),
    };
    value
}

fn span(span: ChecksumSpan) -> Value {
    json!({ "from_byte": span.from, "to_byte": span.to, "result_byte": span.result })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
