//! `and`, `or`, `xor` and `set` as written: a table each. cangw takes one string, which is what people try first.

use toml::de::DeValue;

use super::OperandSpec;
use crate::config::code;
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, put, quote};
use candor_core::document::keys::{Key, Table, Value};

pub(super) fn operand(
    into: &mut Option<Box<Table<OperandSpec>>>,
    entry: &Entry<'_>,
    key: &Key,
    findings: &mut Findings,
) -> bool {
    let written = match entry.value.get_ref() {
        DeValue::Table(fields) => {
            if fields.is_empty() && !findings.is_incomplete {
                let message = format!("{} changes nothing", quote(entry.key));
                let help = "name a field: id, len, flags or data; or remove the key";
                findings.error(code::EMPTY_OPERAND, &entry.span(), message, help);
            }
            return put(into, Value::read(entry, key, findings));
        }
        DeValue::Integer(number) => Some(number.as_str()),
        value => value.as_str(),
    };
    let fields = written.and_then(from_cangw).unwrap_or_else(|| "id = \"456\"".to_owned());
    let help = format!("write a table: {} = {{ {fields} }}", entry.key);
    entry.wrong_type::<()>(key.wanted, Some(help), findings).is_some()
}

/// The fields of a modification of cangw: `I:456.0.00`, or with its instruction `SET:ID:456.8.1122334455667788`.
fn from_cangw(text: &str) -> Option<String> {
    let mut parts = text.trim().rsplit(':');
    let mut values = parts.next()?.split('.');
    let letters = parts.next().unwrap_or("I");
    let mut fields = Vec::new();
    for (letter, key) in [('I', "id"), ('L', "len"), ('D', "data")] {
        let value = values.next().unwrap_or_default();
        if !letters.contains(letter) {
            continue;
        }
        // from_str_radix would accept a sign.
        let is_hex = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(value, 16);
        fields.push(match key {
            _ if !is_hex => return None,
            "id" if value.len() <= 3 => format!("id = \"{:03X}\"", number.ok()?),
            "id" if value.len() <= 8 => format!("id = \"{:08X}\"", number.ok()?),
            "len" if value.len() <= 2 => format!("len = {}", number.ok()?),
            "data" if value.len() <= 128 => format!("data = \"{value}\""),
            _ => return None,
        });
    }
    (!fields.is_empty()).then(|| fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_strings_of_cangw_to_fields() {
        for (text, fields) in [
            ("I:456.0.00", Some("id = \"456\"")),
            ("456", Some("id = \"456\"")),
            ("7", Some("id = \"007\"")),
            ("12345678", Some("id = \"12345678\"")),
            ("SET:ILD:456.8.1122334455667788", Some("id = \"456\", len = 8, data = \"1122334455667788\"")),
            ("D:0.0.FF", Some("data = \"FF\"")),
            ("X:1", None),
            ("I:", None),
            ("I:+1.0.0", None),
            ("no hex", None),
            ("", None),
        ] {
            assert_eq!(from_cangw(text).as_deref(), fields, "{text}");
        }
    }
}
