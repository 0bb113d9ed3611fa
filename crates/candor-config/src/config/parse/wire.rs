//! `bus` and `adapters` of `[wire]`.

use toml::de::{DeTable, DeValue};

use crate::config::spec::WireBusSpec;
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, quote};
use candor_core::document::keys::{Field, Key, read};
use candor_core::document::{Spanned, Text};

pub(in crate::config) fn buses(
    into: &mut Vec<WireBusSpec>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
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

fn bus(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> Option<WireBusSpec> {
    let name = Spanned { value: named.key.to_owned(), span: named.key_span() };
    let places = ["A bus of `wire`", &format!("Bus {}", quote(named.key))];
    let (bus, broken) = read::<WireBusSpec>(keys, &name.span, places, findings);
    let is_sound = !broken.is_torn() && bus.bitrate.is_some() && keys.contains_key("interfaces");
    is_sound.then_some(WireBusSpec { name, ..bus })
}

pub(in crate::config) fn adapters(
    into: &mut Vec<Vec<Text>>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
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
