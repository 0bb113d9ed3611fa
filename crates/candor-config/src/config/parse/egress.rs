//! `[egress.BUS]`: bands, limits, or a tree.

use toml::de::{DeTable, DeValue};

use crate::config::code;
use crate::config::parse::ids;
use crate::config::parse::sections::BUS_NAME;
use crate::config::spec::{BandSpec, EgressSpec, J1939Spec, LimitSpec, SelectionSpec, TreeSpec};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put, quote, require};

const KEYS: &[&str] = &["queue", "band", "limit", "tree"];
const SELECTION_KEYS: &[&str] =
    &["match", "kind", "length", "j1939", "from", "socket-priority", "mark", "cgroup", "unit"];
const BAND_KEYS: &[&str] = &[
    "name",
    "take",
    "match",
    "kind",
    "length",
    "j1939",
    "from",
    "socket-priority",
    "mark",
    "cgroup",
    "unit",
    "fair",
    "rate",
    "share",
    "queue",
    "when-full",
    "max-age",
];
const LIMIT_KEYS: &[&str] =
    &["take", "match", "kind", "length", "j1939", "from", "socket-priority", "mark", "cgroup", "unit", "rate", "burst"];
const J1939_KEYS: &[&str] = &["priority", "pgn"];
/// Words for what no filter sees, where a control group may do.
const BY_PROCESS: &[&str] = &["service", "systemd-unit", "pid", "process", "program", "user", "uid"];
const FRAMES: &str = "a number of frames, such as 100";
const RATE: &str = "a rate with its unit, such as \"200 frames/s\" or \"20 %\"";

pub(super) fn egress(entry: &Entry<'_>, egress: &mut Vec<EgressSpec>, findings: &mut Findings) {
    let wanted = "a table of buses: [egress.BUS] for each that is to have bands";
    let Some(table) = entry.table(wanted, findings) else { return };
    for named in entries(table) {
        let wanted = "a table: [egress.BUS], and below it [[egress.BUS.band]] for each band";
        let Some(keys) = named.table(wanted, findings) else { continue };
        egress.push(of_bus(&named, keys, findings));
    }
}

fn of_bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> EgressSpec {
    let bus = Spanned { value: named.key.to_owned(), span: named.key_span() };
    let mut egress = EgressSpec { bus, ..EgressSpec::default() };
    for entry in entries(keys) {
        let is_sound = match entry.key {
            "queue" => put(&mut egress.queue, entry.integer(FRAMES, findings)),
            "band" => tables(&entry, "band", &mut egress.bands, band, findings),
            "limit" => tables(&entry, "limit", &mut egress.limits, limit, findings),
            "tree" => {
                let wanted = "lines of tc between ''' and ''', such as '''qdisc root handle 1: prio'''";
                put(&mut egress.tree, entry.string(wanted, findings).map(|text| TreeSpec { text, at: None }))
            }
            _ => {
                entry.unknown("`egress`", KEYS, findings);
                false
            }
        };
        egress.is_torn |= !is_sound;
    }
    egress
}

/// `[[egress.BUS.WHAT]]`. Says whether they are tables.
fn tables<T>(
    entry: &Entry<'_>,
    what: &str,
    into: &mut Vec<T>,
    read: fn(&Entry<'_>, &DeTable<'_>, &mut Findings) -> T,
    findings: &mut Findings,
) -> bool {
    let help = || Some(format!("start every {what} with a line [[egress.BUS.{what}]]"));
    let DeValue::Array(array) = entry.value.get_ref() else {
        entry.wrong_type::<()>(&format!("a list: [[egress.BUS.{what}]]"), help(), findings);
        return false;
    };
    for item in array {
        let item = entry.with_value(item);
        let DeValue::Table(keys) = item.value.get_ref() else {
            item.wrong_type::<()>(&format!("a list of tables: [[egress.BUS.{what}]]"), help(), findings);
            return false;
        };
        into.push(read(&item, keys, findings));
    }
    true
}

fn band(entry: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> BandSpec {
    let mut band = BandSpec { header: entry.value.span(), ..BandSpec::default() };
    band.own.span = entry.value.span();
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        let is_sound = match entry.key {
            "name" => put(&mut band.name, entry.string("a name, such as \"control\"", findings)),
            "take" => take(&entry, &mut band.take, findings),
            "fair" => put(&mut band.fair, entry.string("\"per-socket\", \"per-mark\" or \"per-user\"", findings)),
            "rate" => put(&mut band.rate, entry.string(RATE, findings)),
            "share" => put(&mut band.share, entry.integer("a number of frames for each round, such as 3", findings)),
            "queue" => put(&mut band.queue, entry.integer(FRAMES, findings)),
            "when-full" => put(&mut band.when_full, entry.string("\"refuse\" or \"drop-oldest\"", findings)),
            "max-age" => put(&mut band.max_age, entry.string("a time with its unit, such as \"50ms\"", findings)),
            _ => match selection_key(&entry, &mut band.own, findings) {
                Some(is_sound) => is_sound,
                None => {
                    suggested.extend(unknown(&entry, "A band", BAND_KEYS, findings));
                    false
                }
            },
        };
        band.is_torn |= !is_sound;
    }
    let required = [("name", "a name of its own, such as name = \"control\"")];
    require(keys, &band.header, "The band", &required, &suggested, findings);
    band
}

fn limit(entry: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> LimitSpec {
    let mut limit = LimitSpec { header: entry.value.span(), ..LimitSpec::default() };
    limit.own.span = entry.value.span();
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        let is_sound = match entry.key {
            "take" => take(&entry, &mut limit.take, findings),
            "rate" => put(&mut limit.rate, entry.string(RATE, findings)),
            "burst" => put(&mut limit.burst, entry.integer(FRAMES, findings)),
            _ => match selection_key(&entry, &mut limit.own, findings) {
                Some(is_sound) => is_sound,
                None => {
                    suggested.extend(unknown(&entry, "A limit", LIMIT_KEYS, findings));
                    false
                }
            },
        };
        limit.is_torn |= !is_sound;
    }
    let required = [("rate", "how many frames there may be, such as rate = \"20 frames/s\"")];
    require(keys, &limit.header, "The limit", &required, &suggested, findings);
    limit
}

/// `take`: a selection, or a list of them.
fn take(entry: &Entry<'_>, into: &mut Vec<SelectionSpec>, findings: &mut Findings) -> bool {
    let items = match entry.value.get_ref() {
        DeValue::Array(array) => &array[..],
        _ => std::slice::from_ref(entry.value),
    };
    for item in items {
        let item = entry.with_value(item);
        let wanted = "a list of selections, such as [{ match = \"123\" }, { mark = \"7\" }]";
        let Some(keys) = item.table(wanted, findings) else { return false };
        let mut selection = SelectionSpec { span: item.value.span(), ..SelectionSpec::default() };
        for key in entries(keys) {
            selection.is_torn |= !selection_key(&key, &mut selection, findings).unwrap_or_else(|| {
                unknown(&key, "A selection", SELECTION_KEYS, findings);
                false
            });
        }
        into.push(selection);
    }
    true
}

/// A key of a selection, and whether it is sound; nothing if it is none.
fn selection_key(entry: &Entry<'_>, into: &mut SelectionSpec, findings: &mut Findings) -> Option<bool> {
    let is_sound = match entry.key {
        "match" => put(&mut into.filter, ids::list(entry, findings)),
        "kind" => put(&mut into.kind, entry.string("\"data\" or \"remote\"", findings)),
        "length" => put(&mut into.length, length(entry, findings)),
        "j1939" => put(&mut into.j1939, j1939(entry, findings)),
        "from" => put(&mut into.from, list(entry, |item, findings| item.string(BUS_NAME, findings), findings)),
        "socket-priority" => {
            let wanted = "a number as SO_PRIORITY has it, such as 6, or a list of them";
            put(&mut into.socket_priority, list(entry, |item, findings| item.integer(wanted, findings), findings))
        }
        "mark" => {
            let wanted = "a mark in hex, such as \"7\" or \"100:F00\", or a list of them";
            put(&mut into.mark, list(entry, |item, findings| item.string(wanted, findings), findings))
        }
        "cgroup" => {
            let wanted = "a control group, such as \"/system.slice/can-logger.service\", or a list of them";
            put(&mut into.cgroup, list(entry, |item, findings| item.string(wanted, findings), findings))
        }
        "unit" => {
            let wanted = "a unit of systemd, such as \"can-logger.service\", or a list of them";
            put(&mut into.unit, list(entry, |item, findings| item.string(wanted, findings), findings))
        }
        _ => return None,
    };
    into.is_torn |= !is_sound;
    Some(is_sound)
}

/// Who looks for a process deserves to hear what there is instead.
fn unknown<'k>(entry: &Entry<'_>, place: &str, known: &[&'k str], findings: &mut Findings) -> Option<&'k str> {
    if !BY_PROCESS.contains(&entry.key) {
        return entry.unknown(place, known, findings);
    }
    let message = format!("{place} cannot choose by {}", quote(entry.key));
    findings.report(Diagnostic::error(code::UNKNOWN_KEY, entry.key_span(), message).label("no filter sees it").help(
        "write unit = \"can-logger.service\" or cgroup = \"/can\", or let the program mark its frames: mark = \"7\"",
    ));
    None
}

/// One, or a list. Nothing if one of them is wrong.
fn list<T>(
    entry: &Entry<'_>,
    read: impl Fn(&Entry<'_>, &mut Findings) -> Option<T>,
    findings: &mut Findings,
) -> Option<Vec<T>> {
    let items = match entry.value.get_ref() {
        DeValue::Array(array) => &array[..],
        _ => std::slice::from_ref(entry.value),
    };
    let all: Vec<_> = items.iter().map(|item| read(&entry.with_value(item), findings)).collect();
    all.into_iter().collect()
}

/// A number, or a range in a text.
fn length(entry: &Entry<'_>, findings: &mut Findings) -> Option<Spanned<String>> {
    let wanted = "a number of bytes such as 8, or a range such as \"0..4\"";
    match entry.value.get_ref() {
        DeValue::Integer(_) => {
            let number = entry.integer(wanted, findings)?;
            Some(Spanned { value: number.value.to_string(), span: number.span })
        }
        _ => entry.string(wanted, findings),
    }
}

fn j1939(entry: &Entry<'_>, findings: &mut Findings) -> Option<J1939Spec> {
    let table = entry.table("a table, such as { priority = [0, 1] } or { pgn = \"FEF1\" }", findings)?;
    let mut j1939 = J1939Spec { span: entry.value.span(), ..J1939Spec::default() };
    let mut is_sound = true;
    for field in entries(table) {
        is_sound &= match field.key {
            "priority" => {
                let wanted = "a priority of J1939, 0 to 7, or a list of them";
                put(&mut j1939.priority, list(&field, |item, findings| item.integer(wanted, findings), findings))
            }
            "pgn" => {
                let wanted = "a parameter group number in hex, such as \"FEF1\", or a list of them";
                put(&mut j1939.pgn, list(&field, |item, findings| item.string(wanted, findings), findings))
            }
            _ => {
                field.unknown("`j1939`", J1939_KEYS, findings);
                false
            }
        };
    }
    is_sound.then_some(j1939)
}
