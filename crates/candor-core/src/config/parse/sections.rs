//! The tables of a gateway file and their keys.

use toml::de::{DeTable, DeValue};

use crate::config::check::MAX_INTERFACE_BYTES;
use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings, Span};
use crate::config::parse::entry::{Entry, entries, quote, require};
use crate::config::parse::headers::STRAY_ROUTE;
use crate::config::parse::operand;
use crate::config::spec::{BusSpec, Crc8Spec, PositionsSpec, ProfileSpec, RouteSpec, Spanned, Spec, XorSpec};

const FILE_KEYS: &[&str] = &["engine", "bus", "route"];
const BUS_KEYS: &[&str] = &["interface", "bitrate", "data-bitrate"];
const ROUTE_KEYS: &[&str] = &[
    "name",
    "from",
    "to",
    "match",
    "frames",
    "and",
    "or",
    "xor",
    "set",
    "checksum-xor",
    "checksum-crc8",
    "echo",
    "hop-limit",
    "keep-timestamp",
];
const XOR_KEYS: &[&str] = &["from", "to", "result", "init"];
const CRC8_KEYS: &[&str] = &["from", "to", "result", "init", "final-xor", "polynomial", "table", "profile"];
const PROFILE_KEYS: &[&str] = &["id-xor", "byte", "bytes"];

const POSITION: &str = "a position in the payload, such as 7, or -1 for the last byte";
const POSITIONS: &[(&str, &str)] = &[
    ("from", "the first byte that is covered, such as from = 0"),
    ("to", "the last byte that is covered, such as to = 6"),
    ("result", "the byte that takes the result, such as result = 7"),
];
const HEX_BYTE: &str = "one byte in hex, such as \"FF\"";
const BIT_RATE: &str = "a bit rate with its unit, such as \"500kbit/s\"";
const BUS_NAME: &str = "the name of a bus, such as \"body\"";

/// `has_strays` says that some routes stand apart under [`STRAY_ROUTE`].
pub(super) fn spec(document: &DeTable<'_>, has_strays: bool, findings: &mut Findings) -> Spec {
    let mut spec = Spec::default();
    for entry in entries(document) {
        match entry.key {
            "engine" => spec.engine = entry.string("\"kernel\" or \"read-write\"", findings),
            "bus" => {
                spec.sections.bus |= !is_empty(entry.value.get_ref());
                buses(&entry, &mut spec, findings);
            }
            "route" => {
                spec.sections.route |= !is_empty(entry.value.get_ref());
                routes(&entry, &mut spec.routes, findings);
            }
            STRAY_ROUTE if has_strays => {
                spec.sections.route = true;
                stray_routes(&entry, &mut spec.routes, findings);
            }
            _ => {
                let meant = entry.unknown("A gateway file", FILE_KEYS, findings);
                // What is below the header is checked as what it probably is.
                match entry.value.get_ref() {
                    DeValue::Array(_) if meant == Some("route") => {
                        spec.sections.route = true;
                        routes(&entry, &mut spec.routes, findings);
                    }
                    DeValue::Table(_) if meant == Some("bus") => {
                        spec.sections.bus = true;
                        buses(&entry, &mut spec, findings);
                    }
                    _ => {}
                }
            }
        }
    }
    spec.routes.sort_by_key(|route| route.header.start);
    spec
}

/// `bus = {}` and `route = []` are as good as nothing.
fn is_empty(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Array(array) => array.is_empty(),
        DeValue::Table(table) => table.is_empty(),
        _ => false,
    }
}

fn buses(entry: &Entry<'_>, spec: &mut Spec, findings: &mut Findings) {
    let DeValue::Table(table) = entry.value.get_ref() else {
        spec.sections.nameless_bus = true;
        let help = "write [bus.NAME] with an interface = \"can0\" below it";
        entry.wrong_type::<()>("a table of named buses", Some(help.to_owned()), findings);
        return;
    };
    for named in entries(table) {
        match named.value.get_ref() {
            DeValue::Table(keys) => spec.buses.push(bus(&named, keys, findings)),
            _ if BUS_KEYS.contains(&named.key) => {
                spec.sections.nameless_bus = true;
                findings.report(
                    Diagnostic::error(
                        code::WRONG_TYPE,
                        named.key_span(),
                        format!("{} has no bus to belong to", quote(named.key)),
                    )
                    .help("give the bus a name: [bus.NAME] instead of [bus]"),
                );
            }
            value => {
                spec.broken_buses.push(named.key.to_owned());
                let interface = value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_INTERFACE_BYTES);
                let (name, interface) = (named.key.escape_debug(), interface.unwrap_or("can0").escape_debug());
                let help = format!("write a line [bus.{name}] and below it interface = \"{interface}\"");
                named.wrong_type::<()>("a bus", Some(help), findings);
            }
        }
    }
}

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> BusSpec {
    let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
    let mut bus = BusSpec { name, interface: None, bitrate: None, data_bitrate: None };
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        match entry.key {
            "interface" => bus.interface = entry.string("the name of a CAN interface, such as \"can0\"", findings),
            "bitrate" => bus.bitrate = bit_rate(&entry, findings),
            "data-bitrate" => bus.data_bitrate = bit_rate(&entry, findings),
            _ => suggested.extend(entry.unknown("A bus", BUS_KEYS, findings)),
        }
    }
    let place = format!("Bus {}", quote(named.key));
    require(
        keys,
        &named.key_span(),
        &place,
        &[("interface", "its CAN interface, such as interface = \"can0\"")],
        &suggested,
        findings,
    );
    bus
}

/// A number without a unit is the likely mistake here, and it deserves the answer that fits it.
fn bit_rate(entry: &Entry<'_>, findings: &mut Findings) -> Option<Spanned<String>> {
    let DeValue::Integer(number) = entry.value.get_ref() else {
        return entry.string(BIT_RATE, findings);
    };
    findings.report(
        Diagnostic::error(code::BIT_RATE, entry.value.span(), format!("{} has no unit", quote(entry.key)))
            .help(format!("write \"{number}bit/s\", or kbit/s or Mbit/s with a smaller number, in quotes")),
    );
    None
}

fn routes(entry: &Entry<'_>, routes: &mut Vec<RouteSpec>, findings: &mut Findings) {
    let help = || Some("start every route with a line [[route]]".to_owned());
    let DeValue::Array(array) = entry.value.get_ref() else {
        entry.wrong_type::<()>("a list of routes", help(), findings);
        return;
    };
    for item in array {
        match item.get_ref() {
            DeValue::Table(keys) => routes.push(route(item.span(), keys, findings)),
            _ => {
                entry.wrong_type::<()>("a list of routes", help(), findings);
                return;
            }
        }
    }
}

/// Routes that begin with `[route]`.
fn stray_routes(entry: &Entry<'_>, routes: &mut Vec<RouteSpec>, findings: &mut Findings) {
    for item in entry.value.get_ref().as_array().into_iter().flatten() {
        let DeValue::Table(keys) = item.get_ref() else { continue };
        findings.report(
            Diagnostic::error(code::WRONG_TYPE, item.span(), "`route` must be a list of routes")
                .label("this is a table")
                .help("start every route with a line [[route]], with two brackets"),
        );
        routes.push(route(item.span(), keys, findings));
    }
}

fn route(header: Span, keys: &DeTable<'_>, findings: &mut Findings) -> RouteSpec {
    let mut route = RouteSpec { header: header.clone(), ..RouteSpec::default() };
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        match entry.key {
            "name" => route.name = entry.string("a name, such as \"speed\"", findings),
            "from" => route.from = entry.string(BUS_NAME, findings),
            "to" => route.to = entry.string(BUS_NAME, findings),
            "match" => {
                route.filter = entry.string("a filter in can-utils notation, such as \"123:C00007FF\"", findings)
            }
            "frames" => route.frames = entry.string("\"classic\", \"fd\" or \"any\"", findings),
            "and" => route.and = operand::operand(&entry, findings),
            "or" => route.or = operand::operand(&entry, findings),
            "xor" => route.xor = operand::operand(&entry, findings),
            "set" => route.set = operand::operand(&entry, findings),
            "checksum-xor" => route.checksum_xor = checksum_xor(&entry, findings),
            "checksum-crc8" => route.checksum_crc8 = checksum_crc8(&entry, findings),
            "echo" => route.echo = entry.boolean(findings),
            "hop-limit" => route.hop_limit = entry.integer("a number of hops, such as 1", findings),
            "keep-timestamp" => route.keep_timestamp = entry.boolean(findings),
            _ => suggested.extend(entry.unknown("A route", ROUTE_KEYS, findings)),
        }
    }
    let required = [
        ("name", "a name of its own, such as name = \"speed\""),
        ("from", "the bus that the frames come from, such as from = \"powertrain\""),
        ("to", "the bus that the frames go to, such as to = \"body\""),
    ];
    require(keys, &header, "The route", &required, &suggested, findings);
    route
}

fn checksum_xor(entry: &Entry<'_>, findings: &mut Findings) -> Option<XorSpec> {
    let table = entry.table("a table, such as { from = 0, to = 6, result = 7 }", findings)?;
    let mut checksum = XorSpec { span: entry.value.span(), ..XorSpec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        match field.key {
            "init" => checksum.init = field.string(HEX_BYTE, findings),
            _ if position(&field, &mut checksum.positions, findings) => {}
            _ => suggested.extend(field.unknown("`checksum-xor`", XOR_KEYS, findings)),
        }
    }
    require(table, &entry.key_span(), "`checksum-xor`", POSITIONS, &suggested, findings);
    Some(checksum)
}

fn checksum_crc8(entry: &Entry<'_>, findings: &mut Findings) -> Option<Crc8Spec> {
    let table = entry.table("a table, such as { from = 0, to = 6, result = 7, polynomial = \"1D\" }", findings)?;
    let mut checksum = Crc8Spec { span: entry.value.span(), ..Crc8Spec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        match field.key {
            "init" => checksum.init = field.string(HEX_BYTE, findings),
            "final-xor" => checksum.final_xor = field.string(HEX_BYTE, findings),
            "polynomial" => checksum.polynomial = field.string("a polynomial in hex, such as \"1D\"", findings),
            "table" => checksum.table = field.string("256 bytes in hex", findings),
            "profile" => checksum.profile = profile(&field, findings),
            _ if position(&field, &mut checksum.positions, findings) => {}
            _ => suggested.extend(field.unknown("`checksum-crc8`", CRC8_KEYS, findings)),
        }
    }
    require(table, &entry.key_span(), "`checksum-crc8`", POSITIONS, &suggested, findings);
    Some(checksum)
}

fn position(field: &Entry<'_>, positions: &mut PositionsSpec, findings: &mut Findings) -> bool {
    let target = match field.key {
        "from" => &mut positions.from,
        "to" => &mut positions.to,
        "result" => &mut positions.result,
        _ => return false,
    };
    *target = field.integer(POSITION, findings);
    true
}

fn profile(entry: &Entry<'_>, findings: &mut Findings) -> Option<ProfileSpec> {
    let table = entry.table("a table: { id-xor = true }, { byte = \"2F\" } or { bytes = \"00 01 …\" }", findings)?;
    let mut profile = ProfileSpec { span: entry.value.span(), ..ProfileSpec::default() };
    for field in entries(table) {
        match field.key {
            "id-xor" => profile.id_xor = field.boolean(findings),
            "byte" => profile.byte = field.string(HEX_BYTE, findings),
            "bytes" => profile.bytes = field.string("16 bytes in hex", findings),
            _ => {
                field.unknown("`profile`", PROFILE_KEYS, findings);
            }
        }
    }
    Some(profile)
}
