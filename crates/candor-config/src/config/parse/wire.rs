//! `[wire]` and `[wire.bus.NAME]`.

use toml::de::{DeTable, DeValue};

use crate::config::parse::sections::bit_rate;
use crate::config::spec::{WireBusSpec, WireSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put, quote, require};

const KEYS: &[&str] =
    &["bus", "adapters", "model", "depth", "order", "force-rates", "seed", "late", "log", "pcapng", "faults"];
const BUS_KEYS: &[&str] = &["bitrate", "data-bitrate", "interfaces"];
const FILE: &str = "the name of a file";

pub(super) fn wire(entry: &Entry<'_>, findings: &mut Findings) -> Option<WireSpec> {
    let table = entry.table("a table: [wire], and below it [wire.bus.NAME]", findings)?;
    let mut wire = WireSpec { span: entry.key_span(), ..WireSpec::default() };
    for entry in entries(table) {
        let is_sound = match entry.key {
            "bus" => buses(&entry, &mut wire.buses, findings),
            "adapters" => adapters(&entry, &mut wire.adapters, findings),
            "model" => put(&mut wire.model, entry.string("\"gs_usb\" or \"ucan\"", findings)),
            "depth" => put(&mut wire.depth, entry.integer("a number of frames, such as 3", findings)),
            "order" => put(&mut wire.order, entry.string("\"fifo\" or \"lowest-id\"", findings)),
            "force-rates" => put(&mut wire.force_rates, entry.boolean(findings)),
            "seed" => put(&mut wire.seed, entry.integer("a number, such as 1", findings)),
            "late" => put(&mut wire.late, entry.string("a time with its unit, such as \"1ms\"", findings)),
            "log" => put(&mut wire.log, entry.string(FILE, findings)),
            "pcapng" => put(&mut wire.pcapng, entry.string(FILE, findings)),
            "faults" => {
                texts(&entry, "a list of faults, such as [\"bus-off can1 --at 5s\"]", &mut wire.faults, findings)
            }
            _ => {
                entry.unknown("`wire`", KEYS, findings);
                false
            }
        };
        wire.is_torn |= !is_sound;
    }
    Some(wire)
}

fn buses(entry: &Entry<'_>, buses: &mut Vec<WireBusSpec>, findings: &mut Findings) -> bool {
    let Some(table) = entry.table("a table of named buses: [wire.bus.NAME]", findings) else { return false };
    let mut is_sound = true;
    for named in entries(table) {
        let keys = named.table("a bus: [wire.bus.NAME], and below it its bitrate and interfaces", findings);
        let bus = keys.and_then(|keys| bus(&named, keys, findings));
        is_sound &= bus.is_some();
        buses.extend(bus);
    }
    is_sound
}

fn adapters(entry: &Entry<'_>, into: &mut Vec<Vec<Spanned<String>>>, findings: &mut Findings) -> bool {
    const WANTED: &str = "a list of adapters, each a list of interfaces, such as [[\"can1\", \"can4\"]]";
    let DeValue::Array(array) = entry.value.get_ref() else {
        return entry.wrong_type::<()>(WANTED, None, findings).is_some();
    };
    let mut is_sound = true;
    for item in array.iter() {
        let mut interfaces = Vec::new();
        is_sound &= texts(&entry.with_value(item), WANTED, &mut interfaces, findings);
        into.push(interfaces);
    }
    is_sound
}

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> Option<WireBusSpec> {
    let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
    let mut bus = WireBusSpec { name, bitrate: None, data_bitrate: None, interfaces: Vec::new() };
    let (mut suggested, mut is_sound) = (Vec::new(), true);
    for entry in entries(keys) {
        is_sound &= match entry.key {
            "bitrate" => put(&mut bus.bitrate, bit_rate(&entry, findings)),
            "data-bitrate" => put(&mut bus.data_bitrate, bit_rate(&entry, findings)),
            "interfaces" => {
                texts(&entry, "a list of names, such as [\"can0\", \"can1\"]", &mut bus.interfaces, findings)
            }
            _ => {
                suggested.extend(entry.unknown("A bus of `wire`", BUS_KEYS, findings));
                false
            }
        };
    }
    let place = format!("Bus {}", quote(named.key));
    let required = [
        ("bitrate", "its bit rate, such as bitrate = \"500kbit/s\""),
        ("interfaces", "the interfaces of its nodes, such as interfaces = [\"can0\", \"can1\"]"),
    ];
    require(keys, &named.key_span(), &place, &required, &suggested, findings);
    (is_sound && bus.bitrate.is_some() && keys.contains_key("interfaces")).then_some(bus)
}

/// A list of strings. Says whether it is one.
fn texts(entry: &Entry<'_>, wanted: &str, into: &mut Vec<Spanned<String>>, findings: &mut Findings) -> bool {
    let DeValue::Array(array) = entry.value.get_ref() else {
        return entry.wrong_type::<()>(wanted, None, findings).is_some();
    };
    let texts: Vec<_> = array.iter().map(|item| entry.with_value(item).string(wanted, findings)).collect();
    let is_sound = texts.iter().all(Option::is_some);
    into.extend(texts.into_iter().flatten());
    is_sound
}
