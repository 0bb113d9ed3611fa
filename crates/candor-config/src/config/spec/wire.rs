//! `[wire]` as written.

use toml::de::{DeTable, DeValue};

use super::{BIT_RATE, bit_rate};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, quote};
use candor_core::document::keys::{Field, Key, Keyed, Named, Shape, read};
use candor_core::document::{Flag, Spanned, Text};
use candor_core::keys;

const FILE: Key = Key::new("the name of a file")
    .about("file for the events on the buses, relative to the working directory")
    .default("none");

keys! {
    /// `[wire]`.
    pub struct WireSpec {}
    "bus" => buses: Vec<Named<WireBusSpec>> | buses = Key::new("a table of named buses: [wire.bus.NAME]")
        .shape(Shape::Named("NAME", &Shape::Table(<WireBusSpec as Keyed>::KEYS)))
        .aliases(&["buses"])
        .about("a bus, at least one; letters, digits, `-` and `_`")
        .kernel("`--bus`");
    "adapters" => adapters: Vec<Vec<Text>> | adapters =
        Key::new("a list of adapters, each a list of interfaces, such as [[\"can1\", \"can4\"]]")
        .shape(Shape::List(&Shape::List(&Shape::Text)))
        .about("list of adapters, each with its interfaces, which may be on different buses, such as \
            `[[\"can1\", \"can4\"]]`")
        .default("all interfaces of an adapter are on one bus")
        .kernel("`--adapter`");
    "model" => model: Option<Text> = Key::words(&["gs_usb", "ucan"])
        .about("adapter to emulate: `\"gs_usb\"` or `\"ucan\"`")
        .default("`\"ucan\"` if there is a `depth`, else `\"gs_usb\"`")
        .kernel("`--model`");
    "depth" => depth: Option<Spanned<u8>> = Key::new("a number of frames, such as 3")
        .range(1, 255)
        .help("real controllers hold 1 to 32; ucan supports any of these numbers, gs_usb always has 10")
        .about("transmit frames that a controller holds, 1 to 255 (`ucan`)")
        .default("3; `gs_usb` has 10")
        .kernel("`--depth`");
    "order" => order: Option<Text> = Key::words(&["fifo", "lowest-id"])
        .about("transmit order of a controller: `\"fifo\"` or `\"lowest-id\"`")
        .default("`\"fifo\"`")
        .kernel("`--order`");
    "force-rates" => force_rates: Option<Flag> = Key::new("")
        .about("use the bit rates of the buses in place of those set on the interfaces")
        .default("`false`")
        .kernel("`--force-rates`");
    "seed" => seed: Option<Spanned<u64>> = Key::new("a number, such as 1")
        .range(0, i64::MAX)
        .help("write a number that is not negative")
        .about("seed of all random choices")
        .default("1")
        .kernel("`--seed`");
    "late" => late: Option<Text> = Key::new("a time with its unit, such as \"1ms\"")
        .about("lateness, with unit, above which the run is invalid")
        .default("`\"1ms\"`")
        .kernel("`--late`");
    "log" => log: Option<Text> = FILE.kernel("`--log`");
    "pcapng" => pcapng: Option<Text> = FILE.kernel("`--pcapng`");
    "faults" => faults: Vec<Text> = Key::new("a list of faults, such as [\"bus-off can1 --at 5s\"]")
        .about("list of faults, such as `[\"bus-off can1 --at 5s\"]`, in the syntax of \
            [`candor-lab wire inject`](wire.md#faults)")
        .default("none")
        .kernel("`--fault`");

    /// `[wire.bus.NAME]`.
    pub struct WireBusSpec {}
    "bitrate" => bitrate: Option<Text> | bit_rate = BIT_RATE
        .required("its bit rate, such as bitrate = \"500kbit/s\"")
        .aliases(&["baudrate"])
        .about("bit rate of the bus, with unit");
    "data-bitrate" => data_bitrate: Option<Text> | bit_rate = BIT_RATE
        .aliases(&["dbitrate"])
        .about("bit rate of the CAN FD data phase; not below `bitrate`")
        .default("no CAN FD");
    "interfaces" => interfaces: Vec<Text> = Key::new("a list of names, such as [\"can0\", \"can1\"]")
        .required("the interfaces of its nodes, such as interfaces = [\"can0\", \"can1\"]")
        .about("names of the interfaces to create, one per node");
}

fn buses(into: &mut Vec<Named<WireBusSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let mut is_sound = true;
    for named in entries(table) {
        let keys = named.table("a bus: [wire.bus.NAME], and below it its bitrate and interfaces", findings);
        let bus = keys.and_then(|keys| bus(&named, keys, findings));
        is_sound &= bus.is_some();
        into.extend(bus);
    }
    is_sound
}

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> Option<Named<WireBusSpec>> {
    let name = named.name();
    let places = ["A bus of `wire`", &format!("Bus {}", quote(named.key))];
    let table = read::<WireBusSpec>(keys, &name.span, places, findings);
    let is_sound = !table.is_incomplete && table.bitrate.is_some() && keys.contains_key("interfaces");
    is_sound.then_some(Named { name, table })
}

fn adapters(into: &mut Vec<Vec<Text>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let DeValue::Array(array) = entry.value.get_ref() else {
        return entry.wrong_type::<()>(key.wanted, None, findings).is_some();
    };
    let mut is_sound = true;
    for item in array.iter() {
        let mut interfaces = Vec::new();
        is_sound &= Field::read(&mut interfaces, &entry.with_value(item), key, findings);
        into.push(interfaces);
    }
    is_sound
}
