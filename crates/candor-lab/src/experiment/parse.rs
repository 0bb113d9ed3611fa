//! Text → [`Spec`]: the keys of a plan and their types.

use toml::de::{DeTable, DeValue};

use crate::experiment::check::Factor;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::entry::{Entry, entries, quote};
use candor_core::document::keys::{Field, Key, Keyed, Shape, Value, read};
use candor_core::document::{self, Flag, Number, Spanned, Text, limits};
use candor_core::keys;

const COUNT: Key = Key::new("a number, such as 10000");
const TIME: Key = Key::new("a time with its unit, such as \"500us\"");
const BIT_RATE: Key = Key::new("a bit rate with its unit, such as \"500kbit/s\"");
const INTERFACE: Key = Key::new("the name of an interface, such as \"can0\"");
const FLAG: Key = Key::new("");

keys! {
    /// A plan as it is written.
    pub(super) struct Spec {}
    "seed" => seed: Option<Number> = COUNT;
    "frames" => frames: Option<Number> = COUNT;
    "warm-up" => warm_up: Option<Number> = COUNT;
    "repeats" => repeats: Option<Number> = COUNT;
    "cells-per-guest" => cells_per_guest: Option<Number> = COUNT;
    "gap-min" => gap_min: Option<Text> = TIME;
    "gap-max" => gap_max: Option<Text> = TIME;
    "lost-after" => lost_after: Option<Text> = TIME;
    "bitrate" => bitrate: Option<Text> = BIT_RATE.aliases(&["baudrate"]);
    "stages" => stages: Option<Flag> = FLAG;
    "stamps" => stamps: Option<Text> = Key::new("whose stamps are taken: \"kernel\" or \"hardware\"");
    "factor" => factors: Vec<Levels> | factors =
        Key::new("a table of factors: [factor] and below it gateway = [\"kernel\", \"read-write\"]");
    "gateway" => gateways: Vec<GatewaySpec> | named = Key::new("");
    "rules" => rules: Vec<RulesSpec> | named = Key::new("");
    "bench" => bench: Option<BenchSpec> = Key::new("a table of interfaces: [bench]");
    "ssh" => ssh: Option<SshSpec> = Key::new("a table that names a board: [ssh]");
    "exclude" => excludes: Vec<Selection> | selections = Key::new("a list of tables");
    "include" => includes: Vec<Selection> | selections = Key::new("a list of tables");

    /// `[gateway.NAME]`.
    pub(super) struct GatewaySpec {
        name: Text,
    }
    "engine" => engine: Option<Text> = Key::new("the name of an engine, such as \"mmap-adaptive\"");
    "baseline" => bare: Option<Text> =
        Key::new("the name of an engine of user space, such as \"read-write\"").aliases(&["bare"]);
    "command" => command: Option<Vec<Text>> | texts =
        Key::new("a program and its arguments, such as [\"./gateway\", \"{from}\", \"{to}\"]");
    "stop" => stop: Option<Vec<Text>> | texts = Key::new("a program and its arguments, such as [\"cangw\", \"-F\"]");
    "external" => external: Option<Flag> = FLAG;

    /// `[rules.NAME]`.
    pub(super) struct RulesSpec {
        name: Text,
    }
    "routes" => routes: Option<Text> = Key::new("routes as in a gateway file, in '''");
    "decoys" => decoys: Option<Number> = Key::new("a number of routes, such as 255");
    "decoys-masked" => decoys_masked: Option<Flag> = FLAG;

    /// `[bench]`.
    pub(super) struct BenchSpec {
        key: Span,
    }
    "send" => send: Option<Text> = INTERFACE;
    "monitor" => monitor: Option<Text> = INTERFACE;
    "receive" => receive: Option<Text> = INTERFACE;
    "from" => from: Option<Text> = INTERFACE.aliases(&["source", "src"]);
    "to" => to: Option<Text> = INTERFACE.aliases(&["destination", "dst"]);
    "wire-bitrate" => wire_bitrate: Option<Text> = BIT_RATE;
    "wire-data-bitrate" => wire_data_bitrate: Option<Text> = BIT_RATE;

    /// `[ssh]`.
    pub(super) struct SshSpec {
        key: Span,
    }
    "host" => host: Option<Text> = Key::new("the board, such as \"root@board\"");
    "options" => options: Vec<Text> = Key::new("options of ssh, such as [\"-p\", \"2222\"]");
    "candor" => candor: Option<Text> = Key::new("a static candor for the board, as a path beside the plan");
    "sudo" => sudo: Option<Flag> = FLAG;
}

/// Levels that are written for a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) factor: Factor,
    pub(super) key: Span,
    pub(super) levels: Vec<Spanned<String>>,
}

/// `[[exclude]]` or `[[include]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) span: Span,
    pub(super) levels: Vec<Levels>,
}

/// The plan as written; `None` if it is too strange to look for anything in it.
pub(super) fn plan(bytes: &[u8], findings: &mut Findings) -> Result<Option<Spec>, Box<Diagnostic>> {
    let text = limits::text(bytes)?;
    Ok(document::document(text, findings).map(|document| spec(document.get_ref(), findings)))
}

fn spec(document: &DeTable<'_>, findings: &mut Findings) -> Spec {
    read(document, &(0..0), ["A plan"; 2], findings).value
}

fn factors(into: &mut Vec<Levels>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    *into = all_levels("`factor`", table, findings);
    true
}

/// A table with a name given by the user.
trait Named: Keyed {
    const WORD: &'static str;

    fn with_name(self, name: Text) -> Self;
}

impl Named for GatewaySpec {
    const WORD: &'static str = "Gateway";

    fn with_name(self, name: Text) -> Self {
        Self { name, ..self }
    }
}

impl Named for RulesSpec {
    const WORD: &'static str = "Rules";

    fn with_name(self, name: Text) -> Self {
        Self { name, ..self }
    }
}

/// The tables below `[gateway]` or `[rules]`.
fn named<T: Named>(into: &mut Vec<T>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let word = key.name;
    let Some(table) = entry.table(&format!("a table of named tables: [{word}.NAME]"), findings) else { return false };
    for named in entries(table) {
        let Some(keys) = named.table(&format!("a table: [{word}.{}]", named.key), findings) else { continue };
        let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
        let place = format!("{} {}", T::WORD, quote(named.key));
        let spec = read::<T>(keys, &name.span, [&place; 2], findings).value;
        into.push(spec.with_name(name));
    }
    true
}

/// The table of a key.
fn table<T: Keyed>(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<T> {
    let keys = entry.table(key.wanted, findings)?;
    Some(read(keys, &entry.key_span(), [&format!("`{}`", key.name); 2], findings).value)
}

impl Value for BenchSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        table(entry, key, findings).map(|bench| Self { key: entry.key_span(), ..bench })
    }
}

impl Value for SshSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        table(entry, key, findings).map(|ssh| Self { key: entry.key_span(), ..ssh })
    }
}

fn selections(into: &mut Vec<Selection>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let DeValue::Array(array) = entry.value.get_ref() else {
        let help = format!("write [[{}]], with two brackets", entry.key);
        return entry.wrong_type::<()>(key.wanted, Some(help), findings).is_some();
    };
    for item in array {
        let entry = entry.with_value(item);
        let Some(table) = entry.table("a table of factors and levels", findings) else { continue };
        let place = format!("`{}`", entry.key);
        into.push(Selection { span: item.span(), levels: all_levels(&place, table, findings) });
    }
    true
}

fn all_levels(place: &str, table: &DeTable<'_>, findings: &mut Findings) -> Vec<Levels> {
    let mut all = Vec::new();
    for entry in entries(table) {
        match Factor::ALL.iter().copied().find(|factor| factor.name() == entry.key) {
            Some(factor) => all.push(Levels { factor, key: entry.key_span(), levels: levels(&entry, findings) }),
            None => {
                let names: Vec<_> = Factor::ALL.iter().map(|factor| factor.name()).collect();
                entry.not_one_of(place, &names, None, findings);
            }
        }
    }
    all
}

/// One level or a list of them. Numbers are levels, too.
fn levels(entry: &Entry<'_>, findings: &mut Findings) -> Vec<Spanned<String>> {
    let level = |entry: &Entry<'_>, findings: &mut Findings| match entry.value.get_ref() {
        DeValue::Integer(_) => entry
            .integer(COUNT.wanted, findings)
            .map(|number| Spanned { value: number.value.to_string(), span: number.span }),
        _ => entry.string("a text, or a list of texts", findings),
    };
    match entry.value.get_ref() {
        DeValue::Array(array) => array.iter().filter_map(|item| level(&entry.with_value(item), findings)).collect(),
        _ => level(entry, findings).into_iter().collect(),
    }
}

/// A list of texts, of which those that are texts are kept.
fn texts(into: &mut Option<Vec<Text>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    Field::read(into.insert(Vec::new()), entry, key, findings)
}
