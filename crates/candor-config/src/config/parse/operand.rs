//! `and`, `or`, `xor` and `set`: a table each. cangw writes them as one string, so that is what people try first.

use toml::de::DeValue;

use crate::config::code;
use crate::config::parse::table;
use crate::config::spec::OperandSpec;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::entry::{Entry, quote};
use candor_core::document::keys::{Key, Keyed, Shape, Value};

impl Value for OperandSpec {
    const SHAPE: Shape = Shape::Table(<Self as Keyed>::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let written = match entry.value.get_ref() {
            DeValue::Table(fields) => {
                if fields.is_empty() && !findings.torn {
                    let message = format!("{} changes nothing", quote(entry.key));
                    findings.report(
                        Diagnostic::error(code::EMPTY_OPERAND, entry.value.span(), message)
                            .help("name a field: id, len, flags or data; or remove the key"),
                    );
                }
                let (operand, broken) = table::<Self>(entry, key, findings)?;
                return Some(Self { span: entry.value.span(), is_torn: broken.is_torn(), ..operand });
            }
            DeValue::Integer(number) => Some(number.as_str()),
            value => value.as_str(),
        };
        let fields = written.and_then(from_cangw).unwrap_or_else(|| "id = \"456\"".to_owned());
        let help = format!("write a table: {} = {{ {fields} }}", entry.key);
        entry.wrong_type(key.wanted, Some(help), findings)
    }
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
