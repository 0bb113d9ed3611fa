//! The file of the bridge: text to checked settings. Files that it names are read through a function of the caller.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use candor_config::config::code;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::entry::{Entry, closest, entries, quote};
use candor_core::document::keys::{Key, Named, Table, one_or_list, read};
use candor_core::document::{self, Flag, Spanned, Text, limits};
use candor_core::filter::Filter;
use candor_core::ids::IdRange;
use candor_core::units::{WrittenFrameRate, parse_duration, parse_frame_rate};
use candor_core::{interface_name, keys};
use candor_guard::Rate;
use candor_signals::Database;
use rustls::ClientConfig;

use crate::admission::Allowed;
use crate::keys::{is_prefix, part};
use crate::tls::{self, TlsError};

/// A checked file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In the order of the file.
    pub buses: Vec<Bus>,
    /// Without it nothing is on Zenoh, and nothing comes back.
    pub zenoh: Option<Zenoh>,
    /// Without it nothing is on MQTT.
    pub mqtt: Option<Mqtt>,
    /// Frames of the network that may reach a bus.
    pub allowed: Vec<Allowed>,
}

/// `[bus.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Part of the keys.
    pub name: String,
    /// CAN interface.
    pub interface: String,
    /// Its messages; without one there are no signals.
    pub database: Option<Database>,
}

/// `[zenoh]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zenoh {
    /// Zenoh's own configuration file, as text in JSON5. Without one, Zenoh's defaults.
    pub config: Option<String>,
    /// First part of all keys.
    pub prefix: String,
    /// Entries that wait at most.
    pub queue: usize,
    /// They wait no longer.
    pub max_age: Duration,
}

/// `[mqtt]`.
#[derive(Clone, Debug)]
pub struct Mqtt {
    /// Name or address of the broker.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// First part of all topics of values.
    pub prefix: String,
    /// First part of the topics of Home Assistant's discovery. Without one, nothing is announced.
    pub discovery: Option<String>,
    /// A value is sent at most once in this time.
    pub interval: Duration,
    /// Name and password for the broker.
    pub login: Option<(String, String)>,
    /// Certificates for TLS.
    pub tls: Option<Arc<ClientConfig>>,
}

const TEXT: Key = Key::new("a text");
const TIME: Key = Key::new("a time with its unit, such as \"10s\"");
const PEM: Key = Key::new("the path of a file in PEM");
const PREFIX: Key = Key::new("names with / between them, such as \"candor/car7\"");

keys! {
    /// The file as written.
    struct File {}
    "bus" => buses: Vec<Named<BusSpec>> | buses = Key::new("a table with a name: [bus.front]");
    "zenoh" => zenoh: Option<Table<ZenohSpec>> = Key::new("a table: [zenoh]");
    "mqtt" => mqtt: Option<Table<MqttSpec>> = Key::new("a table: [mqtt]");
    "in" => allowed: Vec<Table<InSpec>> = Key::new("a list of tables: [[in]]");

    /// `[bus.NAME]`.
    struct BusSpec {}
    "interface" => interface: Option<Text> =
        Key::new("the name of an interface, such as \"can0\"").required("interface = \"can0\"");
    "database" => database: Option<Text> = Key::new("the path of a database, such as \"car.dbc\"").aliases(&["dbc"]);

    /// `[zenoh]`.
    struct ZenohSpec {}
    "config" => config: Option<Text> = Key::new("the path of a configuration file of Zenoh, such as \"zenoh.json5\"");
    "prefix" => prefix: Option<Text> = PREFIX.required("prefix = \"candor/car7\"");
    "queue" => queue: Option<u32> = Key::new("a number of entries").range(1, 1_000_000).default("16384");
    "max-age" => max_age: Option<Spanned<Duration>> | time = TIME.default("\"10s\"");

    /// `[mqtt]`.
    struct MqttSpec {}
    "broker" => broker: Option<Text> =
        Key::new("the address of a broker, such as \"broker.local:8883\"").required("broker = \"broker.local:8883\"");
    "prefix" => prefix: Option<Text> = PREFIX.required("prefix = \"candor/car7\"");
    "discovery" => discovery: Option<Text> = Key::new("the prefix of Home Assistant, \"homeassistant\"");
    "interval" => interval: Option<Spanned<Duration>> | time = TIME.default("\"1s\"");
    "user" => user: Option<Text> = TEXT;
    "password-file" => password_file: Option<Text> = Key::new("the path of a file with a password");
    "tls" => tls: Option<Table<TlsSpec>> = Key::new("a table, such as { ca = \"ca.pem\" }");
    "insecure" => insecure: Option<Flag> = Key::new("");

    /// `tls`.
    struct TlsSpec {}
    "ca" => ca: Option<Text> = PEM.required("the certificates of authorities, such as ca = \"ca.pem\"");
    "cert" => cert: Option<Text> = PEM.aliases(&["certificate"]);
    "key" => key: Option<Text> = PEM;

    /// `[[in]]`.
    struct InSpec {}
    "bus" => bus: Option<Text> = Key::new("the name of a bus").required("bus = \"front\"");
    "match" => ids: Option<Vec<Text>> | one_or_list =
        Key::new("an identifier such as \"123\", a range such as \"100..1FF\", or a list of them")
            .required("match = \"123\"").aliases(&["id", "ids", "identifiers"]);
    "rate" => rate: Option<Text> =
        Key::new("a frame rate, such as \"100 frames/s\"").required("rate = \"100 frames/s\"");
    "burst" => burst: Option<u32> = Key::new("a number of frames").range(2, 1_000_000).default("10");
}

/// Frames of an entry of the allow-list at once, if it does not say.
const BURST: u32 = 10;
const QUEUE: u32 = 16_384;
const MAX_AGE: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(1);
const MQTT_PORT: u16 = 1883;
const MQTT_TLS_PORT: u16 = 8883;

/// Reads a file of the folder of the settings.
pub type ReadFile<'r> = &'r dyn Fn(&str) -> io::Result<Vec<u8>>;

/// Checks a file. Also returns warnings.
///
/// # Errors
/// All findings of a file that is not valid.
pub fn load(bytes: &[u8], read_file: ReadFile<'_>) -> Result<(Settings, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let settings = match limits::text(bytes) {
        Ok(text) => document::document(text, &mut findings).map(|table| {
            let places = ["the top level", "The file"];
            let file = read::<File>(table.get_ref(), &(0..0), places, &mut findings);
            check(&file, read_file, &mut findings)
        }),
        Err(wrong) => {
            findings.report(*wrong);
            None
        }
    };
    match settings {
        Some(settings) if findings.errors() == 0 => Ok((settings, findings.into_sorted())),
        _ => Err(findings.into_sorted()),
    }
}

fn buses(into: &mut Vec<Named<BusSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let mut are_sound = true;
    for named in entries(table) {
        let Some(keys) = named.table("a table: [bus.front]", findings) else {
            are_sound = false;
            continue;
        };
        let place = format!("bus {}", quote(named.key));
        let places = [place.as_str(), &format!("Bus {}", quote(named.key))];
        into.push(Named { name: named.name(), table: read(keys, &named.key_span(), places, findings) });
    }
    are_sound
}

fn time(into: &mut Option<Spanned<Duration>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(Spanned { value, span }) = entry.string(key.wanted, findings) else { return false };
    match parse_duration(&value) {
        Ok(value) => *into = Some(Spanned { value, span }),
        Err(wrong) => findings.error(code::DURATION, &span, wrong.to_string(), format!("write {}", key.wanted)),
    }
    into.is_some()
}

fn check(file: &File, read_file: ReadFile<'_>, findings: &mut Findings) -> Settings {
    if file.buses.is_empty() && findings.errors() == 0 {
        findings.error(code::NO_BUS, &(0..0), "The file has no bus", "add [bus.front] with interface = \"can0\"");
    }
    if file.zenoh.is_none() && file.mqtt.is_none() && findings.errors() == 0 {
        let help = "add [zenoh] or [mqtt] with a prefix = \"candor/car7\"";
        findings.error(code::MISSING_KEY, &(0..0), "The file has no network", help);
    }
    let buses: Vec<_> = file.buses.iter().map(|spec| bus(spec, read_file, findings)).collect();
    for (at, spec) in file.buses.iter().enumerate() {
        let interface = |one: &Named<BusSpec>| one.interface.as_ref().map(|text| text.value.clone());
        if let Some(first) = file.buses[..at].iter().find(|one| interface(one) == interface(spec)) {
            let message = format!(
                "Interface of bus {} already belongs to bus {}",
                quote(&spec.name.value),
                quote(&first.name.value)
            );
            let place = spec.interface.as_ref().map_or(&spec.name.span, |text| &text.span);
            findings.error(code::SHARED_INTERFACE, place, message, "give each bus an interface of its own");
        }
    }
    let zenoh = file.zenoh.as_ref().map(|spec| zenoh(spec, read_file, findings));
    let mqtt = file.mqtt.as_ref().map(|spec| mqtt(spec, read_file, findings));
    if let (Some(mqtt), None) = (&file.mqtt, file.buses.iter().find(|bus| bus.database.is_some())) {
        let help = "add database = \"car.dbc\" to a bus; MQTT has signals only";
        findings.report(
            Diagnostic::error(code::LINK, mqtt.span.clone(), "No bus has a database, so nothing is sent to the broker")
                .help(help),
        );
    }
    if let (Some(first), None) = (file.allowed.first(), &file.zenoh) {
        let help = "add [zenoh]; nothing comes back from MQTT";
        findings.error(code::CONFLICT, &first.span, "Frames come back from Zenoh only", help);
    }
    let allowed = file.allowed.iter().filter_map(|spec| allowed(spec, &file.buses, findings)).collect();
    Settings { buses, zenoh, mqtt, allowed }
}

fn bus(spec: &Named<BusSpec>, read_file: ReadFile<'_>, findings: &mut Findings) -> Bus {
    let name = spec.name.value.clone();
    if part(&name) != name {
        let message = format!("Bus name {} is not a part of a key", quote(&name));
        findings.error(code::NAME, &spec.name.span, message, "use letters, digits, `_`, `-` and `.`");
    }
    if let Some(interface) = &spec.interface
        && let Err(wrong) = interface_name::check(&interface.value)
    {
        findings.error(code::INTERFACE, &interface.span, wrong.to_string(), "write the name that `ip link` shows");
    }
    let database = spec.database.as_ref().and_then(|path| {
        let database = candor_signals::read(&named_file(path, code::DATABASE, read_file, findings)?);
        if let Some(refusal) = database.refusal() {
            let message = format!("{}:{}: {}", path.value, refusal.line, refusal.kind);
            findings.error(code::DATABASE, &path.span, message, "`candor-lab database FILE` shows all of it");
        }
        Some(database)
    });
    Bus { name, interface: spec.interface.clone().unwrap_or_default().value, database }
}

fn named_file(path: &Text, code: &'static str, read_file: ReadFile<'_>, findings: &mut Findings) -> Option<Vec<u8>> {
    let read = read_file(&path.value);
    if let Err(why) = &read {
        let message = format!("Cannot read {}: {why}", quote(&path.value));
        findings.error(code, &path.span, message, "paths start at the folder of this file");
    }
    read.ok()
}

fn prefix(text: Option<&Text>, findings: &mut Findings) -> String {
    let Some(text) = text else { return String::new() };
    if !is_prefix(&text.value) {
        let message = format!("Prefix {} is not a key", quote(&text.value));
        let help = "write names with / between them, such as \"candor/car7\", without spaces and wildcards";
        findings.error(code::NAME, &text.span, message, help);
    }
    text.value.clone()
}

fn zenoh(spec: &ZenohSpec, read_file: ReadFile<'_>, findings: &mut Findings) -> Zenoh {
    let config = spec.config.as_ref().and_then(|path| {
        let bytes = named_file(path, code::LINK, read_file, findings)?;
        let text = String::from_utf8(bytes).map_err(|wrong| wrong.to_string());
        let parsed = text
            .and_then(|text| zenoh::Config::from_json5(&text).map(|_config| text).map_err(|wrong| wrong.to_string()));
        if let Err(why) = &parsed {
            let message = format!("Zenoh refuses {}: {why}", quote(&path.value));
            findings.error(code::LINK, &path.span, message, "see DEFAULT_CONFIG.json5 of Zenoh");
        }
        parsed.ok()
    });
    Zenoh {
        config,
        prefix: prefix(spec.prefix.as_ref(), findings),
        queue: usize::try_from(spec.queue.unwrap_or(QUEUE)).unwrap_or(usize::MAX),
        max_age: spec.max_age.as_ref().map_or(MAX_AGE, |age| age.value),
    }
}

fn mqtt(spec: &Table<MqttSpec>, read_file: ReadFile<'_>, findings: &mut Findings) -> Mqtt {
    let broker = spec.broker.clone().unwrap_or_default();
    let usual = if spec.tls.is_some() { MQTT_TLS_PORT } else { MQTT_PORT };
    let (host, port) = match broker.value.rsplit_once(':') {
        // An address of IPv6 has brackets.
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => (host, port.parse().ok()),
        _ => (broker.value.as_str(), Some(usual)),
    };
    let host = host.to_owned();
    if spec.broker.is_some() {
        if host.is_empty() || port.is_none_or(|port| port == 0) {
            let message = format!("{} is not an address of a broker", quote(&broker.value));
            findings.error(code::LINK, &broker.span, message, "write a host and a port, such as \"broker.local:8883\"");
        } else if spec.tls.is_some() && host.starts_with('[') {
            findings.error(
                code::LINK,
                &broker.span,
                "TLS needs the name of the broker",
                "write its name, or an address of IPv4",
            );
        } else if spec.tls.is_none() {
            protected(&host, &broker, spec.insecure.as_ref().is_some_and(|flag| flag.value), findings);
        }
    }
    let password = spec.password_file.as_ref().and_then(|path| {
        let bytes = named_file(path, code::LINK, read_file, findings)?;
        Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    });
    if let (None, Some(path)) = (&spec.user, &spec.password_file) {
        findings.error(code::CONFLICT, &path.span, "A password needs a `user`", "add user = \"…\"");
    }
    Mqtt {
        host,
        port: port.unwrap_or(usual),
        prefix: prefix(spec.prefix.as_ref(), findings),
        discovery: spec.discovery.as_ref().map(|text| prefix(Some(text), findings)),
        interval: spec.interval.as_ref().map_or(INTERVAL, |interval| interval.value),
        login: spec.user.as_ref().map(|user| (user.value.clone(), password.unwrap_or_default())),
        tls: spec.tls.as_ref().and_then(|spec| tls(spec, read_file, findings)),
    }
}

/// Nothing leaves this machine unprotected, unless the file says so.
fn protected(host: &str, broker: &Text, is_insecure: bool, findings: &mut Findings) {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return;
    }
    let message =
        format!("Signals cross the network without protection: {} is not of this machine", quote(&broker.value));
    if is_insecure {
        let help = "whoever reaches this network can read them and the password; use tls = { ca = \"…\" }, or a tunnel";
        findings.report(Diagnostic::warning(code::INSECURE_LINK, broker.span.clone(), message).help(help));
        return;
    }
    let help = "add tls = { ca = \"…\" }; in a network that you trust, add insecure = true";
    findings.error(code::LINK, &broker.span, message, help);
}

fn tls(spec: &Table<TlsSpec>, read_file: ReadFile<'_>, findings: &mut Findings) -> Option<Arc<ClientConfig>> {
    let mut file = |path: &Text| named_file(path, code::LINK, read_file, findings);
    let ca = file(spec.ca.as_ref()?)?;
    let own = match (&spec.cert, &spec.key) {
        (Some(certificate), Some(key)) => Some((file(certificate)?, file(key)?)),
        (None, None) => None,
        _ => {
            findings.error(code::CONFLICT, &spec.span, "`cert` and `key` go together", "add the other one, or neither");
            return None;
        }
    };
    let own = own.as_ref().map(|(certificate, key)| (&certificate[..], &key[..]));
    let refused = |why: TlsError| {
        let place = match &why {
            TlsError::Authorities(_) => &spec.ca,
            TlsError::Certificate(_) => &spec.cert,
            TlsError::Key | TlsError::Pair(_) => &spec.key,
        };
        let place = place.as_ref().map_or(&spec.span, |path| &path.span);
        findings.error(code::LINK, place, why.to_string(), "name a file in PEM, as tools of TLS write it");
    };
    tls::client(&ca, own).map_err(refused).ok()
}

fn allowed(spec: &InSpec, buses: &[Named<BusSpec>], findings: &mut Findings) -> Option<Allowed> {
    let (bus, ids, rate) = (spec.bus.as_ref()?, spec.ids.as_ref()?, spec.rate.as_ref()?);
    let names: Vec<_> = buses.iter().map(|one| one.name.value.as_str()).collect();
    if !names.contains(&bus.value.as_str()) {
        let unknown =
            Diagnostic::error(code::UNKNOWN_BUS, bus.span.clone(), format!("Unknown bus {}", quote(&bus.value)));
        let unknown = match closest(&bus.value, &names) {
            Some(name) => unknown.label(format!("did you mean {}?", quote(name))),
            None => unknown,
        };
        findings.report(unknown.help(format!("buses of this file: {}", names.join(", "))));
    }
    let ranges: Vec<_> = ids.iter().filter_map(|text| ids_of(text, findings)).collect();
    if ids.is_empty() {
        findings.error(code::FILTER, &spec_span(bus, rate), "`match` has no identifier", "write match = \"123\"");
    }
    let per_second = match parse_frame_rate(&rate.value) {
        Ok(WrittenFrameRate::FramesPerSecond(per_second)) => Ok(per_second),
        Ok(WrittenFrameRate::PerMille(_)) => Err("A share of the bus is no rate here".to_owned()),
        Err(wrong) => Err(wrong.to_string()),
    };
    let per_second = per_second.map_err(|why| {
        findings.error(code::FRAME_RATE, &rate.span, why, "write frames in a second, such as \"100 frames/s\"")
    });
    let rate = Rate::frames(per_second.ok()?.into(), spec.burst.unwrap_or(BURST)).ok()?;
    Some(Allowed { bus: bus.value.clone(), ids: ranges, rate })
}

fn spec_span(bus: &Text, rate: &Text) -> std::ops::Range<usize> {
    bus.span.start.min(rate.span.start)..bus.span.end.max(rate.span.end)
}

fn ids_of(text: &Text, findings: &mut Findings) -> Option<IdRange> {
    let parsed = if text.value.contains(IdRange::DOTS) {
        IdRange::parse(&text.value)
    } else {
        match Filter::parse(&text.value).map(IdRange::of_exact) {
            Ok(Some(one)) => Ok(one),
            Ok(None) => {
                let help = "write an identifier such as \"123\", or a range such as \"100..1FF\"";
                findings.error(code::FILTER, &text.span, "The allow-list has no masks", help);
                return None;
            }
            Err(wrong) => Err(wrong),
        }
    };
    parsed
        .map_err(|wrong| {
            findings.error(code::FILTER, &text.part(wrong.range.clone()), wrong.to_string(), wrong.kind.help())
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DBC: &[u8] = b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n";

    fn load_with_warnings(text: &str) -> Result<(Settings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let file = |path: &str| match path {
            "car.dbc" => Ok(DBC.to_vec()),
            "zenoh.json5" => Ok(b"{ mode: \"client\" }".to_vec()),
            "bad.json5" => Ok(b"{ mode: \"boss\" }".to_vec()),
            "secret" => Ok(b"s3cret\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        load(text.as_bytes(), &file)
    }

    fn load_text(text: &str) -> Result<Settings, Vec<Diagnostic>> {
        load_with_warnings(text).map(|(settings, warnings)| {
            assert_eq!(warnings, []);
            settings
        })
    }

    fn complete() -> String {
        "[bus.front]\ninterface = \"can0\"\ndatabase = \"car.dbc\"\n\
         [zenoh]\nconfig = \"zenoh.json5\"\nprefix = \"candor/car7\"\nmax-age = \"2s\"\n\
         [mqtt]\nbroker = \"127.0.0.1:1884\"\nprefix = \"candor/car7\"\ndiscovery = \"homeassistant\"\n\
         user = \"car7\"\npassword-file = \"secret\"\n\
         [[in]]\nbus = \"front\"\nmatch = [\"123\", \"00000100..000001FF\"]\nrate = \"100 frames/s\"\nburst = 5\n"
            .to_owned()
    }

    #[test]
    fn a_complete_file() {
        let settings = load_text(&complete()).unwrap();
        assert_eq!(settings.buses[0].database.as_ref().unwrap().messages[0].name, "ABS1");
        let zenoh = settings.zenoh.unwrap();
        assert_eq!(
            (zenoh.prefix.as_str(), zenoh.queue, zenoh.max_age),
            ("candor/car7", 16_384, Duration::from_secs(2))
        );
        let mqtt = settings.mqtt.unwrap();
        assert_eq!((mqtt.host.as_str(), mqtt.port), ("127.0.0.1", 1884));
        assert_eq!(mqtt.login, Some(("car7".to_owned(), "s3cret".to_owned())));
        let [one] = &settings.allowed[..] else { panic!() };
        assert_eq!((one.rate.per_second(), one.rate.at_once(), one.ids.len()), (100, 5, 2));
    }

    #[test]
    fn errors_have_a_code_and_a_place() {
        let cases = [
            ("[bus.front]", "[bus.\"a/b\"]", "E0309", "\"a/b\""),
            ("can0", "can/0", "E0303", "\"can/0\""),
            ("car.dbc", "none.dbc", "E0421", "\"none.dbc\""),
            ("zenoh.json5", "bad.json5", "E0433", "\"bad.json5\""),
            ("candor/car7", "candor/*", "E0309", "\"candor/*\""),
            ("127.0.0.1:1884", "127.0.0.1:http", "E0433", "\"127.0.0.1:http\""),
            ("127.0.0.1", "broker.local", "E0433", "\"broker.local:1884\""),
            ("127.0.0.1:1884\"", "broker.local\"\ntls = { ca = \"none.pem\" }", "E0433", "\"none.pem\""),
            ("127.0.0.1:1884\"", "broker.local\"\ntls = { ca = \"secret\" }", "E0433", "\"secret\""),
            ("127.0.0.1:1884\"", "[::1]\"\ntls = { ca = \"secret\" }", "E0433", "\"[::1]\""),
            (
                "127.0.0.1:1884\"",
                "broker.local\"\ntls = { ca = \"secret\", key = \"secret\" }",
                "E0410",
                "{ ca = \"secret\", key = \"secret\" }",
            ),
            ("2s", "2", "E0312", "\"2\""),
            ("bus = \"front\"", "bus = \"fron\"", "E0401", "\"fron\""),
            ("\"123\"", "\"123:7FF\"", "E0304", "\"123:7FF\""),
            ("00000100..000001FF", "100..99", "E0304", "100..99"),
            ("100 frames/s", "100", "E0317", "\"100\""),
            ("100 frames/s", "10 %", "E0317", "\"10 %\""),
            ("burst = 5", "burst = 1", "E0308", "1"),
            ("burst", "bursts", "E0201", "bursts"),
            ("rate = \"100 frames/s\"\n", "", "E0203", "in"),
            ("user = \"car7\"\n", "", "E0410", "\"secret\""),
        ];
        for (from, to, code, place) in cases {
            let text = complete().replace(from, to);
            let findings = load_text(&text).unwrap_err();
            let first = &findings[0];
            assert_eq!((first.code, &text[first.primary.span.clone()]), (code, place), "{to}: {findings:#?}");
            assert!(first.help.is_some() || !first.primary.text.is_empty(), "{first:?}");
        }
    }

    #[test]
    fn a_broker_without_protection_is_a_warning_if_the_file_says_so() {
        let text = complete().replace("127.0.0.1:1884\"", "broker.local\"\ninsecure = true");
        let (settings, warnings) = load_with_warnings(&text).unwrap();
        assert_eq!(warnings.iter().map(|one| one.code).collect::<Vec<_>>(), ["W0523"]);
        assert_eq!(settings.mqtt.unwrap().port, 1883);
    }

    #[test]
    fn a_file_needs_a_bus_and_a_network() {
        let codes = |text| load_text(text).unwrap_err().into_iter().map(|one| one.code).collect::<Vec<_>>();
        assert_eq!(codes("[zenoh]\nprefix = \"c\"\n"), ["E0204"]);
        assert_eq!(codes("[bus.a]\ninterface = \"can0\"\n"), ["E0203"]);
        let without_signals = "[bus.a]\ninterface = \"can0\"\n[mqtt]\nbroker = \"localhost\"\nprefix = \"c\"\n";
        assert_eq!(codes(without_signals), ["E0433"]);
        let shared = "[zenoh]\nprefix = \"c\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can0\"\n";
        assert_eq!(codes(shared), ["E0403"]);
    }
}
