//! Text → [`Spec`]: the keys of a plan and their types.

use toml::de::{DeTable, DeValue};

use crate::experiment::check::Factor;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put, quote};
use candor_core::document::{self, limits};

/// A plan as it is written.
#[derive(Debug, Default)]
pub(super) struct Spec {
    pub(super) seed: Option<Spanned<i64>>,
    pub(super) frames: Option<Spanned<i64>>,
    pub(super) warm_up: Option<Spanned<i64>>,
    pub(super) repeats: Option<Spanned<i64>>,
    pub(super) cells_per_guest: Option<Spanned<i64>>,
    pub(super) gap_min: Option<Spanned<String>>,
    pub(super) gap_max: Option<Spanned<String>>,
    pub(super) lost_after: Option<Spanned<String>>,
    pub(super) bitrate: Option<Spanned<String>>,
    pub(super) stages: Option<Spanned<bool>>,
    pub(super) stamps: Option<Spanned<String>>,
    /// In the order of the file.
    pub(super) factors: Vec<Levels>,
    pub(super) gateways: Vec<GatewaySpec>,
    pub(super) rules: Vec<RulesSpec>,
    pub(super) bench: Option<BenchSpec>,
    pub(super) ssh: Option<SshSpec>,
    pub(super) excludes: Vec<Selection>,
    pub(super) includes: Vec<Selection>,
}

/// Levels that are written for a factor.
#[derive(Debug)]
pub(super) struct Levels {
    pub(super) factor: Factor,
    pub(super) key: Span,
    pub(super) levels: Vec<Spanned<String>>,
}

/// `[[exclude]]` or `[[include]]`.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) span: Span,
    pub(super) levels: Vec<Levels>,
}

/// `[gateway.NAME]`.
#[derive(Debug)]
pub(super) struct GatewaySpec {
    pub(super) name: Spanned<String>,
    pub(super) engine: Option<Spanned<String>>,
    pub(super) command: Option<Vec<Spanned<String>>>,
    pub(super) stop: Option<Vec<Spanned<String>>>,
    pub(super) bare: Option<Spanned<String>>,
    pub(super) external: Option<Spanned<bool>>,
}

/// `[rules.NAME]`.
#[derive(Debug)]
pub(super) struct RulesSpec {
    pub(super) name: Spanned<String>,
    pub(super) routes: Option<Spanned<String>>,
    pub(super) decoys: Option<Spanned<i64>>,
    pub(super) decoys_masked: Option<Spanned<bool>>,
}

/// `[bench]`.
#[derive(Debug, Default)]
pub(super) struct BenchSpec {
    pub(super) key: Span,
    pub(super) send: Option<Spanned<String>>,
    pub(super) monitor: Option<Spanned<String>>,
    pub(super) receive: Option<Spanned<String>>,
    pub(super) from: Option<Spanned<String>>,
    pub(super) to: Option<Spanned<String>>,
    pub(super) wire_bitrate: Option<Spanned<String>>,
    pub(super) wire_data_bitrate: Option<Spanned<String>>,
}

/// `[ssh]`.
#[derive(Debug, Default)]
pub(super) struct SshSpec {
    pub(super) key: Span,
    pub(super) host: Option<Spanned<String>>,
    pub(super) options: Vec<Spanned<String>>,
    pub(super) candor: Option<Spanned<String>>,
    pub(super) sudo: Option<Spanned<bool>>,
}

const KEYS: &[&str] = &[
    "seed",
    "frames",
    "warm-up",
    "repeats",
    "cells-per-guest",
    "gap-min",
    "gap-max",
    "lost-after",
    "bitrate",
    "stages",
    "stamps",
    "factor",
    "gateway",
    "rules",
    "bench",
    "ssh",
    "exclude",
    "include",
];
const GATEWAY_KEYS: &[&str] = &["engine", "baseline", "command", "stop", "external"];
const BENCH_KEYS: &[&str] = &["send", "monitor", "receive", "from", "to", "wire-bitrate", "wire-data-bitrate"];
const SSH_KEYS: &[&str] = &["host", "options", "candor", "sudo"];
const RULES_KEYS: &[&str] = &["routes", "decoys", "decoys-masked"];

const TIME: &str = "a time with its unit, such as \"500us\"";
const COUNT: &str = "a number, such as 10000";

/// The plan as written; `None` if it is too strange to look for anything in it.
pub(super) fn plan(bytes: &[u8], findings: &mut Findings) -> Result<Option<Spec>, Box<Diagnostic>> {
    let text = limits::text(bytes)?;
    Ok(document::document(text, findings).map(|document| spec(document.get_ref(), findings)))
}

fn spec(document: &DeTable<'_>, findings: &mut Findings) -> Spec {
    let mut spec = Spec::default();
    for entry in entries(document) {
        match entry.key {
            "seed" => spec.seed = entry.integer(COUNT, findings),
            "frames" => spec.frames = entry.integer(COUNT, findings),
            "warm-up" => spec.warm_up = entry.integer(COUNT, findings),
            "repeats" => spec.repeats = entry.integer(COUNT, findings),
            "cells-per-guest" => spec.cells_per_guest = entry.integer(COUNT, findings),
            "gap-min" => spec.gap_min = entry.string(TIME, findings),
            "gap-max" => spec.gap_max = entry.string(TIME, findings),
            "lost-after" => spec.lost_after = entry.string(TIME, findings),
            "bitrate" => spec.bitrate = entry.string("a bit rate with its unit, such as \"500kbit/s\"", findings),
            "stages" => {
                put(&mut spec.stages, entry.boolean(findings));
            }
            "stamps" => spec.stamps = entry.string("whose stamps are taken: \"kernel\" or \"hardware\"", findings),
            "factor" => {
                let wanted = "a table of factors: [factor] and below it gateway = [\"kernel\", \"read-write\"]";
                let Some(table) = entry.table(wanted, findings) else { continue };
                spec.factors = all_levels("`factor`", table, findings);
            }
            "gateway" => named(&entry, "gateway", findings, |named, keys, findings| {
                spec.gateways.push(gateway(named, keys, findings));
            }),
            "rules" => named(&entry, "rules", findings, |named, keys, findings| {
                spec.rules.push(rules(named, keys, findings));
            }),
            "bench" => {
                if let Some(table) = entry.table("a table of interfaces: [bench]", findings) {
                    spec.bench = Some(bench(&entry, table, findings));
                }
            }
            "ssh" => {
                if let Some(table) = entry.table("a table that names a board: [ssh]", findings) {
                    spec.ssh = Some(ssh(&entry, table, findings));
                }
            }
            "exclude" => selections(&entry, &mut spec.excludes, findings),
            "include" => selections(&entry, &mut spec.includes, findings),
            _ => {
                entry.unknown("A plan", KEYS, findings);
            }
        }
    }
    spec
}

/// The tables below `[gateway]` or `[rules]`.
fn named<'t>(
    entry: &Entry<'t>,
    word: &str,
    findings: &mut Findings,
    mut each: impl FnMut(&Entry<'t>, &'t DeTable<'t>, &mut Findings),
) {
    let Some(table) = entry.table(&format!("a table of named tables: [{word}.NAME]"), findings) else { return };
    for named in entries(table) {
        if let Some(keys) = named.table(&format!("a table: [{word}.{}]", named.key), findings) {
            each(&named, keys, findings);
        }
    }
}

fn name(named: &Entry<'_>) -> Spanned<String> {
    Spanned { value: named.key.to_owned(), span: named.key_span() }
}

fn gateway(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> GatewaySpec {
    let mut spec =
        GatewaySpec { name: name(named), engine: None, bare: None, command: None, stop: None, external: None };
    for entry in entries(keys) {
        match entry.key {
            "engine" => spec.engine = entry.string("the name of an engine, such as \"mmap-adaptive\"", findings),
            // `bare` is its name in older plans.
            "baseline" | "bare" => {
                spec.bare = entry.string("the name of an engine of user space, such as \"read-write\"", findings)
            }
            "command" => {
                let wanted = "a program and its arguments, such as [\"./gateway\", \"{from}\", \"{to}\"]";
                spec.command = Some(texts(&entry, wanted, findings));
            }
            "stop" => {
                let wanted = "a program and its arguments, such as [\"cangw\", \"-F\"]";
                spec.stop = Some(texts(&entry, wanted, findings));
            }
            "external" => {
                put(&mut spec.external, entry.boolean(findings));
            }
            _ => {
                entry.unknown(&format!("Gateway {}", quote(named.key)), GATEWAY_KEYS, findings);
            }
        }
    }
    spec
}

fn rules(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> RulesSpec {
    let mut spec = RulesSpec { name: name(named), routes: None, decoys: None, decoys_masked: None };
    for entry in entries(keys) {
        match entry.key {
            "routes" => spec.routes = entry.string("routes as in a gateway file, in '''", findings),
            "decoys" => spec.decoys = entry.integer("a number of routes, such as 255", findings),
            "decoys-masked" => {
                put(&mut spec.decoys_masked, entry.boolean(findings));
            }
            _ => {
                entry.unknown(&format!("Rules {}", quote(named.key)), RULES_KEYS, findings);
            }
        }
    }
    spec
}

fn bench(table: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> BenchSpec {
    const INTERFACE: &str = "the name of an interface, such as \"can0\"";
    const RATE: &str = "a bit rate with its unit, such as \"500kbit/s\"";
    let mut spec = BenchSpec { key: table.key_span(), ..BenchSpec::default() };
    for entry in entries(keys) {
        match entry.key {
            "send" => spec.send = entry.string(INTERFACE, findings),
            "monitor" => spec.monitor = entry.string(INTERFACE, findings),
            "receive" => spec.receive = entry.string(INTERFACE, findings),
            "from" => spec.from = entry.string(INTERFACE, findings),
            "to" => spec.to = entry.string(INTERFACE, findings),
            "wire-bitrate" => spec.wire_bitrate = entry.string(RATE, findings),
            "wire-data-bitrate" => spec.wire_data_bitrate = entry.string(RATE, findings),
            _ => {
                entry.unknown("`bench`", BENCH_KEYS, findings);
            }
        }
    }
    spec
}

fn ssh(table: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> SshSpec {
    let mut spec = SshSpec { key: table.key_span(), ..SshSpec::default() };
    for entry in entries(keys) {
        match entry.key {
            "host" => spec.host = entry.string("the board, such as \"root@board\"", findings),
            "options" => spec.options = texts(&entry, "options of ssh, such as [\"-p\", \"2222\"]", findings),
            "candor" => {
                spec.candor = entry.string("a static candor for the board, as a path beside the plan", findings)
            }
            "sudo" => {
                put(&mut spec.sudo, entry.boolean(findings));
            }
            _ => {
                entry.unknown("`ssh`", SSH_KEYS, findings);
            }
        }
    }
    spec
}

fn selections(entry: &Entry<'_>, selections: &mut Vec<Selection>, findings: &mut Findings) {
    let DeValue::Array(array) = entry.value.get_ref() else {
        let help = format!("write [[{}]], with two brackets", entry.key);
        entry.wrong_type::<()>("a list of tables", Some(help), findings);
        return;
    };
    for item in array {
        let entry = entry.with_value(item);
        let Some(table) = entry.table("a table of factors and levels", findings) else { continue };
        let place = format!("`{}`", entry.key);
        let start = item.span().start;
        selections.push(Selection { span: start..item.span().end, levels: all_levels(&place, table, findings) });
    }
}

fn all_levels(place: &str, table: &DeTable<'_>, findings: &mut Findings) -> Vec<Levels> {
    let mut all = Vec::new();
    for entry in entries(table) {
        match Factor::ALL.iter().copied().find(|factor| factor.name() == entry.key) {
            Some(factor) => all.push(Levels { factor, key: entry.key_span(), levels: levels(&entry, findings) }),
            None => {
                let names: Vec<_> = Factor::ALL.iter().map(|factor| factor.name()).collect();
                entry.unknown(place, &names, findings);
            }
        }
    }
    all
}

/// One level or a list of them. Numbers are levels, too.
fn levels(entry: &Entry<'_>, findings: &mut Findings) -> Vec<Spanned<String>> {
    let level = |entry: &Entry<'_>, findings: &mut Findings| match entry.value.get_ref() {
        DeValue::Integer(_) => {
            entry.integer(COUNT, findings).map(|number| Spanned { value: number.value.to_string(), span: number.span })
        }
        _ => entry.string("a text, or a list of texts", findings),
    };
    match entry.value.get_ref() {
        DeValue::Array(array) => array.iter().filter_map(|item| level(&entry.with_value(item), findings)).collect(),
        _ => level(entry, findings).into_iter().collect(),
    }
}

fn texts(entry: &Entry<'_>, wanted: &str, findings: &mut Findings) -> Vec<Spanned<String>> {
    let DeValue::Array(array) = entry.value.get_ref() else {
        entry.wrong_type::<()>(wanted, None, findings);
        return Vec::new();
    };
    array.iter().filter_map(|item| entry.with_value(item).string(wanted, findings)).collect()
}
