//! Lists of identifiers: `match`, `allow`, `deny` and the lists of `[ids]`.

use toml::de::{DeTable, DeValue};

use crate::config::spec::{EntrySpec, ListSpec, RawFilterSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, put, require};

const RAW_KEYS: &[&str] = &["id", "mask"];
const WANTED: &str = "a filter such as \"123\" or \"123:C00007FF\", a range such as \"100..1FF\", or a list of them";
const WORD: &str = "a 32-bit word in hex, such as \"80000123\"";

/// One entry, or a list of them.
pub(super) fn list(entry: &Entry<'_>, findings: &mut Findings) -> Option<ListSpec> {
    let mut list = ListSpec { span: entry.value.span(), ..ListSpec::default() };
    let items = match entry.value.get_ref() {
        DeValue::Array(array) => &array[..],
        _ => std::slice::from_ref(entry.value),
    };
    list.entries.reserve_exact(items.len());
    let is_list = matches!(entry.value.get_ref(), DeValue::Array(_));
    for item in items {
        let item = entry.with_value(item);
        let one = match item.value.get_ref() {
            DeValue::Table(table) => raw(&item, table, findings).map(|raw| EntrySpec::Raw(Box::new(raw))),
            _ => item.string(WANTED, findings).map(EntrySpec::Text),
        };
        list.is_torn |= one.is_none();
        list.entries.extend(one);
    }
    (is_list || !list.is_torn).then_some(list)
}

fn raw(entry: &Entry<'_>, table: &DeTable<'_>, findings: &mut Findings) -> Option<RawFilterSpec> {
    let mut raw = RawFilterSpec { span: entry.value.span(), ..RawFilterSpec::default() };
    let mut suggested = Vec::new();
    for field in entries(table) {
        match field.key {
            "id" => put(&mut raw.id, field.string(WORD, findings)),
            "mask" => put(&mut raw.mask, field.string(WORD, findings)),
            _ => {
                suggested.extend(field.unknown("A raw filter", RAW_KEYS, findings));
                false
            }
        };
    }
    let required = [
        ("id", "the identifier word, such as id = \"00000123\""),
        ("mask", "the mask word, such as mask = \"C00007FF\""),
    ];
    require(table, &entry.value.span(), "The raw filter", &required, &suggested, findings);
    (raw.id.is_some() && raw.mask.is_some()).then_some(raw)
}
