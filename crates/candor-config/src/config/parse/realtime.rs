//! `[realtime]`.

use toml::de::DeValue;

use crate::config::spec::CpusSpec;
use candor_core::diagnostic::Findings;
use candor_core::document::Text;
use candor_core::document::entry::{Entry, put};
use candor_core::document::keys::{Key, Shape, Value, one_or_list};

pub(in crate::config) fn policy(
    into: &mut Option<Text>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    put(into, text(entry, key, ["fifo:", ""], findings))
}

pub(in crate::config) fn latency(
    into: &mut Option<Text>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    put(into, text(entry, key, ["", "us"], findings))
}

/// Text. The finding about a number alone says what belongs around it.
fn text(entry: &Entry<'_>, key: &Key, [before, after]: [&str; 2], findings: &mut Findings) -> Option<Text> {
    match entry.value.get_ref() {
        DeValue::Integer(number) => {
            entry.wrong_type(key.wanted, Some(format!("write \"{before}{number}{after}\"")), findings)
        }
        _ => entry.string(key.wanted, findings),
    }
}

impl Value for CpusSpec {
    const SHAPE: Shape = Shape::List(&Shape::Integer(0, i64::MAX));

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let number = match entry.value.get_ref() {
            DeValue::Array(_) => {
                let mut numbers = None;
                one_or_list(&mut numbers, entry, key, findings);
                return numbers.map(|numbers| Self { span: entry.value.span(), numbers });
            }
            DeValue::Integer(number) => number.to_string(),
            _ => "2".to_owned(),
        };
        entry.wrong_type(key.wanted, Some(format!("write [{number}]")), findings)
    }
}
