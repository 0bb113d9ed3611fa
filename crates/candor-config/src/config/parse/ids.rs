//! Lists of identifiers: `match`, `allow`, `deny` and the lists of `[ids]`.

use toml::de::{DeTable, DeValue};

use crate::config::spec::{EntrySpec, IDENTIFIERS, ListSpec, RawFilterSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::Entry;
use candor_core::document::keys::{Key, Shape, Value, read};

/// One entry, or a list of them.
impl Value for ListSpec {
    const SHAPE: Shape = IDENTIFIERS;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let mut list = Self { span: entry.value.span(), ..Self::default() };
        let items = entry.items();
        list.entries.reserve_exact(items.len());
        for item in items {
            let one = match item.value.get_ref() {
                DeValue::Table(table) => raw(&item, table, findings).map(|raw| EntrySpec::Raw(Box::new(raw))),
                _ => item.string(key.wanted, findings).map(EntrySpec::Text),
            };
            list.is_torn |= one.is_none();
            list.entries.extend(one);
        }
        let is_list = matches!(entry.value.get_ref(), DeValue::Array(_));
        (is_list || !list.is_torn).then_some(list)
    }
}

fn raw(entry: &Entry<'_>, table: &DeTable<'_>, findings: &mut Findings) -> Option<RawFilterSpec> {
    let span = entry.value.span();
    let places = ["A raw filter", "The raw filter"];
    let (raw, _) = read::<RawFilterSpec>(table, &span, places, findings);
    (raw.id.is_some() && raw.mask.is_some()).then_some(RawFilterSpec { span, ..raw })
}
