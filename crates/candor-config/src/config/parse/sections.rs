//! The tables of a gateway file and their keys.

use toml::de::{DeTable, DeValue};

use crate::config::code;
use crate::config::parse::headers::STRAY_ROUTE;
use crate::config::parse::{egress, ids, realtime, route, wire};
use crate::config::spec::{BusSpec, IdsSpec, RouteSpec, Spec};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put, quote, require};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;

const FILE_KEYS: &[&str] = &["engine", "realtime", "ids", "bus", "route", "egress", "wire"];
const BUS_KEYS: &[&str] = &["interface", "bitrate", "data-bitrate", "allow", "deny", "vxcan-peer", "restart-after"];

const BIT_RATE: &str = "a bit rate with its unit, such as \"500kbit/s\"";
const WAIT: &str = "a time with its unit, such as \"1s\"";
pub(super) const BUS_NAME: &str = "the name of a bus, such as \"body\"";

/// `has_strays` says that some routes stand apart under [`STRAY_ROUTE`].
pub(super) fn spec(document: &DeTable<'_>, has_strays: bool, findings: &mut Findings) -> Spec {
    let mut spec = Spec::default();
    for entry in entries(document) {
        match entry.key {
            "engine" => spec.engine = entry.string("a name such as \"auto\", \"kernel\" or \"read-write\"", findings),
            "realtime" => spec.realtime = realtime::realtime(&entry, findings),
            "ids" => named_lists(&entry, &mut spec.ids, findings),
            "bus" => {
                spec.sections.bus |= !is_empty(entry.value.get_ref());
                buses(&entry, &mut spec, findings);
            }
            "route" => {
                spec.sections.route |= !is_empty(entry.value.get_ref());
                routes(&entry, &mut spec.routes, findings);
            }
            "egress" => {
                spec.sections.egress |= !is_empty(entry.value.get_ref());
                egress::egress(&entry, &mut spec.egress, findings);
            }
            "wire" => spec.wire = wire::wire(&entry, findings),
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

fn named_lists(entry: &Entry<'_>, lists: &mut Vec<IdsSpec>, findings: &mut Findings) {
    let Some(table) = entry.table("a table of named lists, such as diagnostics = [\"7DF\", \"7E0..7EF\"]", findings)
    else {
        return;
    };
    for named in entries(table) {
        let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
        lists.push(IdsSpec { name, list: ids::list(&named, findings) });
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
                let interface =
                    value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_INTERFACE_NAME_BYTES);
                let (name, interface) = (named.key.escape_debug(), interface.unwrap_or("can0").escape_debug());
                let help = format!("write a line [bus.{name}] and below it interface = \"{interface}\"");
                named.wrong_type::<()>("a bus", Some(help), findings);
            }
        }
    }
}

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> BusSpec {
    let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
    let mut bus = BusSpec {
        name,
        interface: None,
        bitrate: None,
        data_bitrate: None,
        allow: None,
        deny: None,
        vxcan_peer: None,
        restart_after: None,
        is_torn: false,
    };
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        match entry.key {
            "interface" => bus.interface = entry.string("the name of a CAN interface, such as \"can0\"", findings),
            "bitrate" => bus.bitrate = bit_rate(&entry, findings),
            "data-bitrate" => bus.data_bitrate = bit_rate(&entry, findings),
            "allow" => bus.is_torn |= !put(&mut bus.allow, ids::list(&entry, findings)),
            "deny" => bus.is_torn |= !put(&mut bus.deny, ids::list(&entry, findings)),
            "vxcan-peer" => bus.vxcan_peer = entry.string(BUS_NAME, findings),
            "restart-after" => bus.restart_after = entry.string(WAIT, findings),
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
pub(super) fn bit_rate(entry: &Entry<'_>, findings: &mut Findings) -> Option<Spanned<String>> {
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
    routes.reserve(array.len());
    for item in array {
        // Nothing more would be said about them.
        if findings.is_full() {
            return;
        }
        match item.get_ref() {
            DeValue::Table(keys) => routes.push(route::route(item.span(), keys, findings)),
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
        if findings.is_full() {
            return;
        }
        findings.report(
            Diagnostic::error(code::WRONG_TYPE, item.span(), "`route` must be a list of routes")
                .label("this is a table")
                .help("start every route with a line [[route]], with two brackets"),
        );
        routes.push(route::route(item.span(), keys, findings));
    }
}
