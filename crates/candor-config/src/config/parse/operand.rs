//! `and`, `or`, `xor` and `set`: a table each. cangw writes them as one string, so that is what people try first.

use toml::de::DeValue;

use crate::config::code;
use crate::config::spec::OperandSpec;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::entry::{Entry, entries, put, quote};

const KEYS: &[&str] = &["id", "len", "flags", "data", "raw-id", "raw-len"];

pub(super) fn operand(entry: &Entry<'_>, findings: &mut Findings) -> Option<OperandSpec> {
    let DeValue::Table(table) = entry.value.get_ref() else {
        let written = match entry.value.get_ref() {
            DeValue::Integer(number) => Some(number.as_str()),
            value => value.as_str(),
        };
        let fields = written.and_then(from_cangw).unwrap_or_else(|| "id = \"456\"".to_owned());
        let help = format!("write a table: {} = {{ {fields} }}", entry.key);
        return entry.wrong_type("a table of fields", Some(help), findings);
    };
    let mut operand = OperandSpec { span: entry.value.span(), ..OperandSpec::default() };
    for field in entries(table) {
        let is_sound = match field.key {
            "id" => {
                put(&mut operand.id, field.string("an identifier in hex, such as \"7FF\" or \"12345678\"", findings))
            }
            "raw-id" => put(&mut operand.raw_id, field.string("a 32-bit word in hex, such as \"80000123\"", findings)),
            "len" => put(&mut operand.len, field.integer("a length, such as 8", findings)),
            "raw-len" => put(&mut operand.raw_len, field.integer("a length byte, such as 8", findings)),
            "flags" => put(&mut operand.flags, field.string("CAN FD flags in hex, such as \"01\"", findings)),
            "data" => put(&mut operand.data, field.string("data bytes in hex, such as \"11 22\"", findings)),
            _ => {
                field.unknown(&quote(entry.key), KEYS, findings);
                false
            }
        };
        operand.is_torn |= !is_sound;
    }
    if table.is_empty() && !findings.torn {
        findings.report(
            Diagnostic::error(code::EMPTY_OPERAND, entry.value.span(), format!("{} changes nothing", quote(entry.key)))
                .help("name a field: id, len, flags or data; or remove the key"),
        );
    }
    Some(operand)
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
    fn strings_of_cangw_become_tables() {
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
