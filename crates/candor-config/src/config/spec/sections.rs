//! Readers of the tables of a gateway file.

use toml::de::{DeTable, DeValue};

use super::link;
use super::stray::STRAY_ROUTE;
use super::{BusSpec, Buses, FILTERS, FrameSpec, IdsSpec, NamedText, RouteSpec, SourceSpec, Spec, TrafficSpec};
use crate::config::code;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Text;
use candor_core::document::entry::{Entry, entries, put, quote};
use candor_core::document::keys::{Key, KeyTable, Keyed, Named, Table, Value, one_or_list, read, read_with};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;

/// `has_strays`: some routes are under [`STRAY_ROUTE`].
pub(super) fn spec(document: &DeTable<'_>, has_strays: bool, findings: &mut Findings) -> Spec {
    let mut spec = Spec::default();
    for entry in entries(document) {
        let section = match spec.put(entry.key, &entry, findings) {
            Some((key, _)) => Some(key.name).filter(|_| !is_empty(entry.value.get_ref())),
            None if has_strays && entry.key == STRAY_ROUTE => {
                stray_routes(&entry, &mut spec.routes, findings);
                Some("route")
            }
            // The keys below the header are checked as those of the section that it probably is.
            None => match (entry.unknown("A gateway file", Spec::KEYS, findings), entry.value.get_ref()) {
                (Some(meant @ "route"), DeValue::Array(_)) | (Some(meant @ "bus"), DeValue::Table(_)) => {
                    spec.put(meant, &entry, findings);
                    Some(meant)
                }
                _ => None,
            },
        };
        match section {
            Some("bus") => spec.sections.bus = true,
            Some("egress") => spec.sections.egress = true,
            Some("frame") => spec.sections.frame = true,
            Some("route") => spec.sections.route = true,
            _ => {}
        }
    }
    candor_core::order::sort_by_key(&mut spec.routes, |route| route.span.start);
    spec.sections.bus |= !spec.links.is_empty();
    spec.buses.specs.extend(spec.links.iter().map(link::bus));
    spec
}

/// `bus = {}` and `route = []` count as missing.
fn is_empty(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Array(array) => array.is_empty(),
        DeValue::Table(table) => table.is_empty(),
        _ => false,
    }
}

pub(super) fn named_lists(into: &mut Vec<IdsSpec>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    for named in entries(table) {
        into.push(IdsSpec { name: named.name(), list: Value::read(&named, &FILTERS, findings) });
    }
    true
}

const PATHS: Key = Key::new("a path, such as \"powertrain.dbc\", or a list of paths");

/// `change`: one expression for each signal.
pub(super) fn named_text(into: &mut Vec<NamedText>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let before = into.len();
    for named in entries(table) {
        // An unquoted dot makes a table of it.
        let wanted = match named.value.get_ref() {
            DeValue::Table(_) => "an expression, with quotes around the name: \"Message.Signal\" = \"x * 1.02\"",
            _ => "an expression, such as \"x * 1.02\"",
        };
        if let Some(text) = named.string(wanted, findings) {
            into.push(NamedText { name: named.name(), texts: vec![text] });
        }
    }
    into.len() == before + table.len()
}

/// `[database]`: one or more files for each bus.
pub(super) fn named_texts(into: &mut Vec<NamedText>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let before = into.len();
    for named in entries(table) {
        let mut texts = None;
        if one_or_list::<Text>(&mut texts, &named, &PATHS, findings) {
            into.push(NamedText { name: named.name(), texts: texts.unwrap_or_default() });
        }
    }
    into.len() == before + table.len()
}

pub(super) fn buses(into: &mut Buses, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let DeValue::Table(table) = entry.value.get_ref() else {
        into.has_nameless = true;
        let help = "write [bus.NAME] with an interface = \"can0\" below it";
        return entry.wrong_type::<()>(key.wanted, Some(help.to_owned()), findings).is_some();
    };
    for named in entries(table) {
        match named.value.get_ref() {
            DeValue::Table(keys) => into.specs.push(bus(&named, keys, findings)),
            _ if BusSpec::KEYS.has(named.key) => {
                into.has_nameless = true;
                let message = format!("{} does not belong to a bus", quote(named.key));
                let help = "give the bus a name: [bus.NAME] instead of [bus]";
                findings.error(code::WRONG_TYPE, &named.key_span(), message, help);
            }
            value => {
                into.broken.push(named.key.to_owned());
                let interface =
                    value.as_str().filter(|text| !text.is_empty() && text.len() <= MAX_INTERFACE_NAME_BYTES);
                let (name, interface) = (named.key.escape_debug(), interface.unwrap_or("can0").escape_debug());
                let help = format!("write a line [bus.{name}] and below it interface = \"{interface}\"");
                named.wrong_type::<()>("a bus", Some(help), findings);
            }
        }
    }
    true
}

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> Named<BusSpec> {
    let name = named.name();
    let table = read_with(keys, &name.span, ["A bus", &format!("Bus {}", quote(named.key))], unknown, findings);
    Named { name, table }
}

/// A rate. The finding about a number without a unit, the likely mistake, says which units there are.
pub(super) fn bit_rate(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let DeValue::Integer(number) = entry.value.get_ref() else {
        return put(into, entry.string(key.wanted, findings));
    };
    let help = format!("write \"{number}bit/s\", or kbit/s or Mbit/s with a smaller number, in quotes");
    findings.error(code::BIT_RATE, &entry.span(), format!("{} has no unit", quote(entry.key)), help);
    false
}

pub(super) fn routes(into: &mut Vec<Table<RouteSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    list(into, entry, key, route, findings)
}

pub(super) fn frames(into: &mut Vec<Table<FrameSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let frame = |header: &Span, keys: &DeTable<'_>, findings: &mut Findings| {
        read_with(keys, header, ["A frame", "The frame"], of_signal, findings)
    };
    list(into, entry, key, frame, findings)
}

pub(super) fn traffic(
    into: &mut Vec<Table<TrafficSpec>>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let message = |header: &Span, keys: &DeTable<'_>, findings: &mut Findings| {
        read(keys, header, ["A message", "The message"], findings)
    };
    list(into, entry, key, message, findings)
}

/// Tables below lines such as `[[route]]`.
fn list<T>(
    into: &mut Vec<Table<T>>,
    entry: &Entry<'_>,
    key: &Key,
    read: impl Fn(&Span, &DeTable<'_>, &mut Findings) -> Table<T>,
    findings: &mut Findings,
) -> bool {
    let wrong = |findings: &mut Findings| {
        let help = format!("start every {name} with a line [[{name}]]", name = key.name);
        entry.wrong_type::<()>(key.wanted, Some(help), findings).is_some()
    };
    let DeValue::Array(array) = entry.value.get_ref() else { return wrong(findings) };
    into.reserve(array.len());
    for item in array {
        // Further findings would not be shown.
        if findings.is_full() {
            break;
        }
        let DeValue::Table(keys) = item.get_ref() else { return wrong(findings) };
        into.push(read(&item.span(), keys, findings));
    }
    true
}

fn route(header: &Span, keys: &DeTable<'_>, findings: &mut Findings) -> Table<RouteSpec> {
    read_with(keys, header, ["A route", "The route"], unknown, findings)
}

/// A key that a bus or a route does not have may be one of the file, below the header by mistake.
fn unknown(entry: &Entry<'_>, place: &str, keys: &KeyTable, findings: &mut Findings) -> Option<&'static str> {
    let is_of_file = entry.key == "engine" || Spec::KEYS.has(entry.key) && entry.value.get_ref().is_table();
    if !is_of_file || findings.is_full() {
        return entry.unknown(place, keys, findings);
    }
    let message = format!("{place} has no key {}", quote(entry.key));
    let help = "it belongs to the whole file: move it above the first line that begins with [";
    findings.error(code::UNKNOWN_KEY, &entry.key_span(), message, help);
    None
}

/// A key that a frame does not have may be one of its signals.
fn of_signal(entry: &Entry<'_>, place: &str, keys: &KeyTable, findings: &mut Findings) -> Option<&'static str> {
    if !SourceSpec::KEYS.has(entry.key) || findings.is_full() {
        return unknown(entry, place, keys, findings);
    }
    let message = format!("{place} has no key {}", quote(entry.key));
    let help = format!("it belongs to a signal: Speed = {{ from = \"…\", {} = … }} below [frame.signals]", entry.key);
    findings.error(code::UNKNOWN_KEY, &entry.key_span(), message, &help);
    None
}

/// Routes that begin with `[route]`.
fn stray_routes(entry: &Entry<'_>, routes: &mut Vec<Table<RouteSpec>>, findings: &mut Findings) {
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
        routes.push(route(&item.span(), keys, findings));
    }
}
