//! Text → [`Spec`]: the keys of a plan, their types and ranges.

use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::StampSource;
use super::cells::Factor;
use super::code::{self, error, suggest};
use super::rules::{MOST_DECOYS, MOST_MASKS};
use candor_config::config;
use candor_config::engine::Engine;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::entry::{Entry, entries, quote};
use candor_core::document::keys::{Field, Key, Keyed, Shape, Value, read};
use candor_core::document::{self, Flag, Number, Spanned, Text, limits};
use candor_core::interface_name;
use candor_core::keys;
use candor_core::units::{BitRate, parse_duration};

const COUNT: Key = Key::new("a number, such as 10000");
const TIME: Key = Key::new("a time with its unit, such as \"500us\"");
const BIT_RATE: Key = Key::new("a bit rate with its unit, such as \"500kbit/s\"");
const INTERFACE: Key = Key::new("the name of an interface, such as \"can0\"");
const FLAG: Key = Key::new("");

type Count = Option<Spanned<u32>>;

keys! {
    /// A plan as written.
    pub(super) struct Spec {
        /// A value is missing because it is wrong.
        is_broken: bool,
    }
    "seed" => seed: Option<u64> | seed = COUNT;
    "frames" => frames: Count | count = COUNT.range(1, 10_000_000).default("10000");
    "warm-up" => warm_up: Count | count = COUNT.range(0, 1_000_000).default("500");
    "repeats" => repeats: Count | count = COUNT.range(1, 1000).default("1");
    "cells-per-guest" => cells_per_guest: Count | count = COUNT.range(1, 1000).default("24");
    "gap-min" => gap_min: Option<Spanned<Duration>> | time = TIME;
    "gap-max" => gap_max: Option<Spanned<Duration>> | time = TIME;
    "lost-after" => lost_after: Option<Spanned<Duration>> | time = TIME;
    "bitrate" => bitrate: Option<Spanned<BitRate>> | bit_rate = BIT_RATE.aliases(&["baudrate"]);
    "stages" => stages: Option<Flag> = FLAG;
    "stamps" => stamps: Option<Spanned<StampSource>> | stamps =
        Key::new("the source of timestamps: \"kernel\" or \"hardware\"");
    "factor" => factors: Vec<Levels> | factors =
        Key::new("a table of factors: [factor] and below it gateway = [\"kernel\", \"read-write\"]");
    "gateway" => gateways: Vec<GatewaySpec> | named = Key::new("Gateway");
    "rules" => rules: Vec<RulesSpec> | named = Key::new("Rules");
    "bench" => bench: Option<BenchSpec> = Key::new("a table of interfaces: [bench]");
    "ssh" => ssh: Option<SshSpec> = Key::new("a table that names a board: [ssh]");
    "exclude" => excludes: Vec<Selection> | selections = Key::new("a list of tables");
    "include" => includes: Vec<Selection> | selections = Key::new("a list of tables");

    /// `[gateway.NAME]`.
    pub(super) struct GatewaySpec {
        name: Text,
        is_broken: bool,
    }
    "engine" => engine: Option<Spanned<Engine>> | engine =
        Key::new("the name of an engine, such as \"mmap-adaptive\"");
    "baseline" => baseline: Option<Spanned<Engine>> | engine =
        Key::new("the name of a user-space engine, such as \"read-write\"").aliases(&["bare"]);
    "command" => command: Option<Vec<Text>> | texts =
        Key::new("a program and its arguments, such as [\"./gateway\", \"{from}\", \"{to}\"]");
    "stop" => stop: Option<Vec<Text>> | texts = Key::new("a program and its arguments, such as [\"cangw\", \"-F\"]");
    "external" => external: Option<Flag> = FLAG;

    /// `[rules.NAME]`.
    pub(super) struct RulesSpec {
        name: Text,
        is_broken: bool,
    }
    "routes" => routes: Option<Text> = Key::new("routes as in a gateway file, in '''");
    "database" => database: Option<Text> = Key::new("a DBC file of both buses, in '''");
    "decoys" => decoys: Count | count =
        Key::new("a number of routes, such as 255").range(0, MOST_DECOYS as i64).default("0");
    "decoys-masked" => decoys_masked: Count | masks =
        Key::new("true, or a number of masks, such as 8").range(1, MOST_MASKS as i64).default("false");
    "classic-only" => classic_only: Option<Flag> = FLAG;
    "exclusive" => exclusive: Option<Flag> = FLAG;

    /// `[bench]`.
    pub(super) struct BenchSpec {
        key: Span,
        is_broken: bool,
    }
    "send" => send: Option<Text> | interface = INTERFACE;
    "monitor" => monitor: Option<Text> | interface = INTERFACE;
    "receive" => receive: Option<Text> | interface = INTERFACE;
    "from" => from: Option<Text> | interface = INTERFACE.aliases(&["source", "src"]);
    "to" => to: Option<Text> | interface = INTERFACE.aliases(&["destination", "dst"]);
    "wire-bitrate" => wire_bitrate: Option<Spanned<BitRate>> | bit_rate = BIT_RATE;
    "wire-data-bitrate" => wire_data_bitrate: Option<Spanned<BitRate>> | bit_rate = BIT_RATE;

    /// `[ssh]`.
    pub(super) struct SshSpec {
        key: Span,
        is_broken: bool,
    }
    "host" => host: Option<Text> = Key::new("the board, such as \"root@board\"");
    "options" => options: Vec<Text> = Key::new("options of ssh, such as [\"-p\", \"2222\"]");
    "candor" => candor: Option<Text> = Key::new("the path of a static candor for the board, relative to the plan");
    "sudo" => sudo: Option<Flag> = FLAG;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) factor: Factor,
    pub(super) key: Span,
    pub(super) levels: Vec<Text>,
}

/// `[[exclude]]` or `[[include]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) span: Span,
    pub(super) levels: Vec<Levels>,
}

/// `None` if the text cannot be parsed.
pub(super) fn plan(bytes: &[u8], findings: &mut Findings) -> Result<Option<Spec>, Box<Diagnostic>> {
    let text = limits::text(bytes)?;
    Ok(document::document(text, findings).map(|document| {
        let table = read::<Spec>(document.get_ref(), &(0..0), ["A plan"; 2], findings);
        Spec { is_broken: !table.broken.is_empty(), ..table.value }
    }))
}

/// Reads a value that has its own type. The finding about a wrong one is an error with this code.
fn parsed<T>(
    into: &mut Option<Spanned<T>>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
    parse: impl FnOnce(&str) -> Result<T, (&'static str, String)>,
) -> bool {
    let Some(Spanned { value, span }) = entry.string(key.wanted, findings) else { return false };
    *into = match parse(&value) {
        Ok(value) => Some(Spanned { value, span }),
        Err((code, message)) => error(findings, code, &span, message, format!("write {}", key.wanted)),
    };
    into.is_some()
}

fn time(into: &mut Option<Spanned<Duration>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    parsed(into, entry, key, findings, |text| {
        parse_duration(text).map_err(|error| (config::code::DURATION, error.to_string()))
    })
}

fn bit_rate(into: &mut Option<Spanned<BitRate>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    parsed(into, entry, key, findings, |text| {
        text.parse().map_err(|error: <BitRate as std::str::FromStr>::Err| (config::code::BIT_RATE, error.to_string()))
    })
}

fn interface(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    parsed(into, entry, key, findings, |text| match interface_name::check(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(problem) => Err((config::code::INTERFACE, problem.to_string())),
    })
}

/// Reads one of the words of a list.
fn word<T>(
    into: &mut Option<Spanned<T>>,
    written: Option<Text>,
    value: fn(&str) -> Option<T>,
    wrong: impl FnOnce(&Text) -> (Diagnostic, Vec<&'static str>),
    findings: &mut Findings,
) -> bool {
    let Some(written) = written else { return false };
    *into = value(&written.value).map(|value| Spanned { value, span: written.span.clone() });
    if into.is_none() {
        let (diagnostic, known) = wrong(&written);
        findings.report(suggest(diagnostic, &written.value, &known));
    }
    into.is_some()
}

fn engine(into: &mut Option<Spanned<Engine>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let wrong = |written: &Text| {
        let message = format!("Unknown engine {}", quote(&written.value));
        let diagnostic = Diagnostic::error(config::code::ENGINE, written.span.clone(), message);
        (diagnostic.help("candor engines lists them"), Engine::all().map(Engine::name).collect())
    };
    word(into, entry.string(key.wanted, findings), Engine::named, wrong, findings)
}

fn stamps(into: &mut Option<Spanned<StampSource>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let wrong = |written: &Text| {
        let message = format!("{} is not a source of timestamps", quote(&written.value));
        let help = "write \"kernel\", or \"hardware\" for timestamps that the adapter takes on the wire";
        let diagnostic = Diagnostic::error(code::STAMPS, written.span.clone(), message).help(help);
        (diagnostic, StampSource::names())
    };
    word(into, entry.string(key.wanted, findings), StampSource::named, wrong, findings)
}

/// A number within the range of its key.
fn count(into: &mut Count, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let (Some(Number { value, span }), Shape::Integer(least, most)) = (entry.integer(key.wanted, findings), key.shape)
    else {
        return false;
    };
    *into = match u32::try_from(value) {
        Ok(value) if (least..=most).contains(&value.into()) => Some(Spanned { value, span }),
        _ => {
            let message = format!("{value} is not from {least} to {most}");
            error(findings, code::RANGE, &span, message, format!("the default is {}", key.default))
        }
    };
    into.is_some()
}

/// Reads `masks`: true for one mask, or the number of masks.
fn masks(into: &mut Count, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    match entry.value.get_ref() {
        DeValue::Boolean(is_masked) => {
            *into = Some(Spanned { value: u32::from(*is_masked), span: entry.value.span() });
            true
        }
        _ => count(into, entry, key, findings),
    }
}

fn seed(into: &mut Option<u64>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(written) = entry.integer(key.wanted, findings) else { return false };
    let seed = u64::try_from(written.value).ok();
    *into = seed.or_else(|| error(findings, code::RANGE, &written.span, "The seed is negative", "write 0 or more"));
    into.is_some()
}

fn factors(into: &mut Vec<Levels>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    *into = all_levels("`factor`", table, findings);
    true
}

/// A table that keeps its name or its place, and whether a value is missing because it is wrong.
trait Table: Keyed {
    fn set(&mut self, name: Text, is_broken: bool);
}

macro_rules! tables {
    ($($Spec:ident { $field:ident: $name:ident => $value:expr })+) => { $(
        impl Table for $Spec {
            fn set(&mut self, $name: Text, is_broken: bool) {
                (self.$field, self.is_broken) = ($value, is_broken);
            }
        }
    )+ };
}

tables! {
    GatewaySpec { name: name => name }
    RulesSpec { name: name => name }
    BenchSpec { key: name => name.span }
    SshSpec { key: name => name.span }
}

/// The table of a key, called `place` in findings.
fn table<T: Table>(entry: &Entry<'_>, wanted: &str, place: &str, findings: &mut Findings) -> Option<T> {
    let keys = entry.table(wanted, findings)?;
    let name = Spanned { value: entry.key.to_owned(), span: entry.key_span() };
    let mut table = read::<T>(keys, &name.span, [place; 2], findings);
    table.value.set(name, !table.broken.is_empty());
    Some(table.value)
}

/// The tables below `[gateway]` or `[rules]`.
fn named<T: Table>(into: &mut Vec<T>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let word = key.name;
    let Some(tables) = entry.table(&format!("a table of named tables: [{word}.NAME]"), findings) else { return false };
    for named in entries(tables) {
        let place = format!("{} {}", key.wanted, quote(named.key));
        into.extend(table(&named, &format!("a table: [{word}.{}]", named.key), &place, findings));
    }
    true
}

impl Value for BenchSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        table(entry, key.wanted, "`bench`", findings)
    }
}

impl Value for SshSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        table(entry, key.wanted, "`ssh`", findings)
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
        match Factor::named(entry.key) {
            Some(factor) => {
                let levels = entry.items().filter_map(|item| level(&item, findings)).collect();
                all.push(Levels { factor, key: entry.key_span(), levels });
            }
            None => drop(entry.not_one_of(place, &Factor::names(), None, findings)),
        }
    }
    all
}

/// A level as written; numbers are levels, too.
pub(super) fn level(entry: &Entry<'_>, findings: &mut Findings) -> Option<Text> {
    match entry.value.get_ref() {
        DeValue::Integer(_) => {
            let number = entry.integer(COUNT.wanted, findings)?;
            Some(Spanned { value: number.value.to_string(), span: number.span })
        }
        _ => entry.string("a text, or a list of texts", findings),
    }
}

/// Keeps the items that are strings.
fn texts(into: &mut Option<Vec<Text>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    Field::read(into.insert(Vec::new()), entry, key, findings)
}
