//! Text → [`Spec`]. Touches nothing but the text, and reports what is not as the file format wants it.

pub(super) mod egress;
mod headers;
mod ids;
mod operand;
pub(super) mod realtime;
pub(super) mod sections;
pub(super) mod wire;

use std::borrow::Cow;

use candor_core::document::{limits, syntax};
use toml::de::{DeTable, DeValue};

use crate::config::spec::{Crc8Spec, J1939Spec, MuxSpec, ProfileSpec, RealtimeSpec, Spec, WireSpec, XorSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::Entry;
use candor_core::document::keys::{Broken, Key, Keyed, Shape, Value, one_or_list, read};
use candor_core::document::{Number, Spanned};

/// The file as written; `None` if it is too strange to look for anything in it.
pub(super) fn spec(text: &str, findings: &mut Findings) -> Option<Spec> {
    if let Err(diagnostic) = limits::depth(text) {
        findings.report(*diagnostic);
        return None;
    }
    let mended = headers::with_stray_routes_apart(text);
    let (document, errors) = DeTable::parse_recoverable(&mended);
    syntax::report(text, document.get_ref(), &errors, findings);
    let has_strays = matches!(mended, Cow::Owned(_));
    let mut spec = sections::spec(document.get_ref(), has_strays, findings);
    for tree in spec.egress.iter_mut().filter_map(|egress| egress.tree.as_mut()) {
        tree.at = in_quotes(text, &tree.text);
    }
    Some(spec)
}

/// Where the content of a string begins, if it stands in the text as it is.
fn in_quotes(text: &str, written: &Spanned<String>) -> Option<usize> {
    /// Quotes, and the end of the line behind three of them, which is no part of the content.
    const MOST_BYTES: usize = "'''\r\n".len();
    let starts = (1..=MOST_BYTES).rev().map(|quotes| written.span.start + quotes);
    starts.into_iter().find(|start| text.get(*start..).is_some_and(|rest| rest.starts_with(&written.value)))
}

/// The table of a key, which findings call by the name of the key.
fn table<T: Keyed>(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<(T, Broken)> {
    let keys = entry.table(key.wanted, findings)?;
    let place = format!("`{}`", key.name);
    Some(read(keys, &entry.key_span(), [&place; 2], findings))
}

/// A list of numbers. The finding about a number alone, the likely mistake, says how to write it.
pub(super) fn numbers(into: &mut Option<Vec<Number>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let number = match entry.value.get_ref() {
        DeValue::Array(_) => return one_or_list(into, entry, key, findings),
        DeValue::Integer(number) => number.to_string(),
        _ => "1".to_owned(),
    };
    entry.wrong_type::<()>("a list of numbers", Some(format!("write [{number}]")), findings).is_some()
}

macro_rules! tables {
    ($($Spec:ty),*) => { $(
        impl Value for $Spec {
            const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

            fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
                let (value, broken) = table::<Self>(entry, key, findings)?;
                Some(Self { span: entry.value.span(), is_torn: broken.is_torn(), ..value })
            }
        }
    )* };
}

tables!(Crc8Spec, MuxSpec, ProfileSpec, RealtimeSpec, XorSpec);

impl Value for WireSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let (wire, broken) = table::<Self>(entry, key, findings)?;
        Some(Self { span: entry.key_span(), is_torn: broken.is_torn(), ..wire })
    }
}

impl Value for J1939Spec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let (j1939, broken) = table::<Self>(entry, key, findings)?;
        (!broken.is_torn()).then(|| Self { span: entry.value.span(), ..j1939 })
    }
}
