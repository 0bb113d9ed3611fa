//! `[[route]]` and what stands in it beside operands and checksums.

use toml::de::{DeTable, DeValue};

use crate::config::parse::sections::BUS_NAME;
use crate::config::parse::{checksum, ids, operand};
use crate::config::spec::{MuxSpec, RouteSpec};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put, require};

const KEYS: &[&str] = &[
    "name",
    "from",
    "to",
    "match",
    "errors",
    "allow",
    "deny",
    "frames",
    "payload",
    "mux",
    "both-ways",
    "back-to-incoming",
    "send-as",
    "to-id",
    "and",
    "or",
    "xor",
    "set",
    "checksum-xor",
    "checksum-crc8",
    "echo",
    "hop-limit",
    "keep-timestamp",
    "max-age",
    "when-full",
    "block-limit",
    "uid",
];
/// What the keys with a time want.
const AGE: &str = "a time with its unit, such as \"20ms\"";
const MUX_KEYS: &[&str] = &["start-bit", "bits", "byte-order", "values"];

pub(super) fn route(header: Span, keys: &DeTable<'_>, findings: &mut Findings) -> RouteSpec {
    let mut route = RouteSpec { header: header.clone(), ..RouteSpec::default() };
    let mut suggested = Vec::new();
    for entry in entries(keys) {
        let is_sound = match entry.key {
            "name" => put(&mut route.name, entry.string("a name, such as \"speed\"", findings)),
            "from" => put(&mut route.from, entry.string(BUS_NAME, findings)),
            "to" => put(&mut route.to, entry.string(BUS_NAME, findings)),
            "match" => put(&mut route.filter, ids::list(&entry, findings)),
            "errors" => {
                put(&mut route.errors, entry.string("a mask of error classes in hex, such as \"1FF\"", findings))
            }
            "allow" => put(&mut route.allow, ids::list(&entry, findings)),
            "deny" => put(&mut route.deny, ids::list(&entry, findings)),
            "frames" => put(&mut route.frames, entry.string("\"classic\", \"fd\" or \"any\"", findings)),
            "payload" => put(&mut route.payload, payload(&entry, findings)),
            "mux" => put(&mut route.mux, mux(&entry, findings).map(Box::new)),
            "both-ways" => put(&mut route.both_ways, entry.boolean(findings)),
            "back-to-incoming" => put(&mut route.back_to_incoming, entry.boolean(findings)),
            "send-as" => put(&mut route.send_as, entry.string("\"classic\", \"fd\" or \"fd-brs\"", findings)),
            "to-id" => {
                let wanted = "an identifier in hex such as \"456\", or the first one of a range such as \"500..\"";
                put(&mut route.to_id, entry.string(wanted, findings))
            }
            "and" => put(&mut route.and, operand::operand(&entry, findings).map(Box::new)),
            "or" => put(&mut route.or, operand::operand(&entry, findings).map(Box::new)),
            "xor" => put(&mut route.xor, operand::operand(&entry, findings).map(Box::new)),
            "set" => put(&mut route.set, operand::operand(&entry, findings).map(Box::new)),
            "checksum-xor" => put(&mut route.checksum_xor, checksum::checksum_xor(&entry, findings).map(Box::new)),
            "checksum-crc8" => put(&mut route.checksum_crc8, checksum::checksum_crc8(&entry, findings).map(Box::new)),
            "echo" => put(&mut route.echo, entry.boolean(findings)),
            "hop-limit" => put(&mut route.hop_limit, entry.integer("a number of hops, such as 1", findings)),
            "keep-timestamp" => put(&mut route.keep_timestamp, entry.boolean(findings)),
            "max-age" => put(&mut route.max_age, entry.string(AGE, findings)),
            "when-full" => {
                let wanted = "\"drop-newest\", \"drop-oldest\" or \"block\"";
                put(&mut route.when_full, entry.string(wanted, findings))
            }
            "block-limit" => put(&mut route.block_limit, entry.string(AGE, findings)),
            "uid" => put(&mut route.uid, entry.string("a number in hex, such as \"0000ABCD\"", findings)),
            _ => {
                suggested.extend(entry.unknown("A route", KEYS, findings));
                continue;
            }
        };
        if !is_sound {
            route.broken.extend(KEYS.iter().copied().find(|&key| key == entry.key));
        }
    }
    let required = [
        ("name", "a name of its own, such as name = \"speed\""),
        ("from", "the bus that the frames come from, such as from = \"powertrain\""),
        ("to", "the bus that the frames go to, such as to = \"body\""),
    ];
    // What became of a key says that it is there; for most routes that is all there is to look at.
    if route.name.is_none() || route.from.is_none() || route.to.is_none() {
        require(keys, &header, "The route", &required, &suggested, findings);
    }
    route
}

fn payload(entry: &Entry<'_>, findings: &mut Findings) -> Option<Vec<Spanned<String>>> {
    let wanted = "bytes in hex with ? for digits of any value, such as \"01 ?? 3?\", or a list of such texts";
    let DeValue::Array(array) = entry.value.get_ref() else {
        return entry.string(wanted, findings).map(|text| vec![text]);
    };
    // Every item is looked at before any of them is missed.
    let texts: Vec<_> = array.iter().map(|item| entry.with_value(item).string(wanted, findings)).collect();
    texts.into_iter().collect()
}

fn mux(entry: &Entry<'_>, findings: &mut Findings) -> Option<MuxSpec> {
    let wanted = "a table, such as { start-bit = 0, bits = 8, byte-order = \"little\", values = [1, 2] }";
    let table = entry.table(wanted, findings)?;
    let mut mux = MuxSpec { span: entry.value.span(), ..MuxSpec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        let is_sound = match field.key {
            "start-bit" => put(&mut mux.start_bit, field.integer("the number of a bit, such as 0", findings)),
            "bits" => put(&mut mux.bits, field.integer("how many bits the multiplexer has, such as 8", findings)),
            "byte-order" => put(&mut mux.byte_order, field.string("\"little\" or \"big\"", findings)),
            "values" => put(&mut mux.values, values(&field, findings)),
            _ => {
                suggested.extend(field.unknown("`mux`", MUX_KEYS, findings));
                false
            }
        };
        mux.is_torn |= !is_sound;
    }
    let required = [
        ("start-bit", "where the multiplexer begins, as in a DBC file, such as start-bit = 0"),
        ("bits", "how long it is, such as bits = 8"),
        ("byte-order", "byte-order = \"little\" (Intel, @1 in a DBC file) or \"big\" (Motorola, @0)"),
        ("values", "the values that are wanted, such as values = [1, 2]"),
    ];
    require(table, &entry.key_span(), "`mux`", &required, &suggested, findings);
    Some(mux)
}

fn values(entry: &Entry<'_>, findings: &mut Findings) -> Option<Vec<Spanned<i64>>> {
    let DeValue::Array(array) = entry.value.get_ref() else {
        let number = match entry.value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            _ => "1".to_owned(),
        };
        return entry.wrong_type("a list of numbers", Some(format!("write [{number}]")), findings);
    };
    let values: Vec<_> = array
        .iter()
        .map(|item| entry.with_value(item).integer("a list of numbers, such as [1, 2]", findings))
        .collect();
    values.into_iter().collect()
}
