//! `[egress.BUS]`: bands, limits, or a tree.

use toml::de::DeValue;

use crate::config::code;
use crate::config::spec::{BandSpec, EgressSpec, LimitSpec, SelectionSpec, TreeSpec};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::entry::{Entry, entries, put, quote};
use candor_core::document::keys::{Broken, Key, KeyTable, Keyed, Shape, Value, read, read_with};
use candor_core::document::{Spanned, Text};

/// Words for what no filter sees, where a control group may do.
const BY_PROCESS: &[&str] = &["service", "systemd-unit", "pid", "process", "program", "user", "uid"];

pub(in crate::config) fn egress(
    into: &mut Vec<EgressSpec>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    for named in entries(table) {
        let wanted = "a table: [egress.BUS], and below it [[egress.BUS.band]] for each band";
        let Some(keys) = named.table(wanted, findings) else { continue };
        let bus = Spanned { value: named.key.to_owned(), span: named.key_span() };
        let (egress, broken) = read::<EgressSpec>(keys, &bus.span, ["`egress`"; 2], findings);
        into.push(EgressSpec { bus, is_torn: broken.is_torn(), ..egress });
    }
    true
}

impl Value for TreeSpec {
    const SHAPE: Shape = Shape::Text;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        entry.string(key.wanted, findings).map(|text| Self { text, at: None })
    }
}

/// A table of a list: a band or a limit.
pub(in crate::config) trait Listed: Keyed {
    const PLACES: [&'static str; 2];

    fn placed(self, header: Span, broken: &Broken) -> Self;
}

impl Listed for BandSpec {
    const PLACES: [&'static str; 2] = ["A band", "The band"];

    fn placed(self, header: Span, broken: &Broken) -> Self {
        let own = own(self.own, &header, broken);
        Self { header, is_torn: broken.is_torn(), own, ..self }
    }
}

impl Listed for LimitSpec {
    const PLACES: [&'static str; 2] = ["A limit", "The limit"];

    fn placed(self, header: Span, broken: &Broken) -> Self {
        let own = own(self.own, &header, broken);
        Self { header, is_torn: broken.is_torn(), own, ..self }
    }
}

/// The selection whose keys stand in the table itself.
fn own(selection: SelectionSpec, header: &Span, broken: &Broken) -> SelectionSpec {
    let is_torn = broken.keys.iter().any(|key| SelectionSpec::KEYS.has(key));
    SelectionSpec { span: header.clone(), is_torn, ..selection }
}

/// `[[egress.BUS.KEY]]`. Returns `false` if they are not tables.
pub(in crate::config) fn tables<T: Listed>(
    into: &mut Vec<T>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let name = key.name;
    let help = || Some(format!("start every {name} with a line [[egress.BUS.{name}]]"));
    let DeValue::Array(array) = entry.value.get_ref() else {
        entry.wrong_type::<()>(&format!("a list: [[egress.BUS.{name}]]"), help(), findings);
        return false;
    };
    for item in array {
        let DeValue::Table(keys) = item.get_ref() else {
            let wanted = format!("a list of tables: [[egress.BUS.{name}]]");
            entry.with_value(item).wrong_type::<()>(&wanted, help(), findings);
            return false;
        };
        let (table, broken) = read_with::<T>(keys, &item.span(), T::PLACES, unknown, findings);
        into.push(table.placed(item.span(), &broken));
    }
    true
}

/// A selection, or a list of them.
pub(in crate::config) fn take(
    into: &mut Vec<SelectionSpec>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    for item in entry.items() {
        let span = item.value.span();
        let Some(keys) = item.table(key.wanted, findings) else { return false };
        let (selection, broken) = read_with::<SelectionSpec>(keys, &span, ["A selection"; 2], unknown, findings);
        into.push(SelectionSpec { span, is_torn: broken.is_torn(), ..selection });
    }
    true
}

/// As [`Entry::unknown`]; the finding about a selection by process says what there is instead.
fn unknown(entry: &Entry<'_>, place: &str, keys: &KeyTable, findings: &mut Findings) -> Option<&'static str> {
    if !BY_PROCESS.contains(&entry.key) {
        return entry.unknown(place, keys, findings);
    }
    let message = format!("{place} cannot choose by {}", quote(entry.key));
    findings.report(Diagnostic::error(code::UNKNOWN_KEY, entry.key_span(), message).label("no filter sees it").help(
        "write unit = \"can-logger.service\" or cgroup = \"/can\", or let the program mark its frames: mark = \"7\"",
    ));
    None
}

/// A number, or a range in a text.
pub(in crate::config) fn length(
    into: &mut Option<Text>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let length = match entry.value.get_ref() {
        DeValue::Integer(_) => entry
            .integer(key.wanted, findings)
            .map(|number| Spanned { value: number.value.to_string(), span: number.span }),
        _ => entry.string(key.wanted, findings),
    };
    put(into, length)
}
