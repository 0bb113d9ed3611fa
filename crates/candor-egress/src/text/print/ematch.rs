//! Expressions, with brackets around every group.

use super::NotSayable;
use crate::constants::Constant;
use crate::ematch::{CanRule, Cmp, Ematch, Meta};
use crate::text::ematch::{MOST_LEVELS, MOST_RULES_OF_TC};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

pub(super) fn text(expression: &Ematch) -> Result<String, NotSayable> {
    at(expression, 0)
}

fn at(expression: &Ematch, level: usize) -> Result<String, NotSayable> {
    if level > MOST_LEVELS {
        return Err(NotSayable::TooDeep);
    }
    match expression {
        Ematch::And(terms) => group(terms, " and ", level),
        Ematch::Or(terms) => group(terms, " or ", level),
        Ematch::Not(inner) => Ok(format!("not {}", within(inner, level)?)),
        Ematch::Canid(rules) => {
            if rules.is_empty() {
                return Err(NotSayable::Expression);
            }
            if rules.len() > MOST_RULES_OF_TC {
                return Err(NotSayable::TooManyIdentifiers);
            }
            let has_flags = |rule: &CanRule| {
                rule.mask & !(CAN_EFF_MASK | CAN_EFF_FLAG) != 0 || rule.id & !(CAN_EFF_MASK | CAN_EFF_FLAG) != 0
            };
            if rules.iter().any(has_flags) {
                return Err(NotSayable::RemoteFlag);
            }
            Ok(canid(rules))
        }
        Ematch::Cmp(cmp) => Ok(self::cmp(*cmp)),
        Ematch::Meta(meta) => self::meta(*meta),
        Ematch::Nbyte { offset, bytes } if !bytes.is_empty() => {
            Ok(format!("nbyte(\"{}\" at {offset} layer link)", escaped(bytes)))
        }
        Ematch::Nbyte { .. } => Err(NotSayable::Expression),
        Ematch::Other { .. } => Err(NotSayable::Other),
        Ematch::U32 { mask, value, offset } => {
            let is_right = *offset >= 0 && offset % 4 == 0 && *offset <= 65_535 && value & !mask == 0;
            let text = format!("u32(u32 0x{value:08x} 0x{mask:08x} at {offset})");
            if is_right { Ok(text) } else { Err(NotSayable::Number) }
        }
    }
}

fn group(terms: &[Ematch], joint: &str, level: usize) -> Result<String, NotSayable> {
    if terms.len() < 2 {
        return Err(NotSayable::Expression);
    }
    let terms: Result<Vec<_>, _> = terms.iter().map(|term| within(term, level)).collect();
    Ok(terms?.join(joint))
}

/// A term of a group; nested groups get brackets.
fn within(term: &Ematch, level: usize) -> Result<String, NotSayable> {
    let text = at(term, level + 1)?;
    match term {
        // `not` alone needs none in a group, but another `not` before it does.
        Ematch::And(_) | Ematch::Or(_) | Ematch::Not(_) => Ok(format!("({text})")),
        _ => Ok(text),
    }
}

/// `canid(sff 0x123 eff 0x1:0xff)`, without masks of all bits.
pub(in crate::text) fn canid(rules: &[CanRule]) -> String {
    let rule = |rule: &CanRule| {
        let (word, all) = if rule.id & CAN_EFF_FLAG != 0 { ("eff", CAN_EFF_MASK) } else { ("sff", CAN_SFF_MASK) };
        let (id, mask) = (rule.id & CAN_EFF_MASK, rule.mask & CAN_EFF_MASK);
        let mask = if mask == all { String::new() } else { format!(":0x{mask:x}") };
        format!("{word} 0x{id:x}{mask}")
    };
    let rules: Vec<_> = rules.iter().map(rule).collect();
    format!("canid({})", rules.join(" "))
}

fn cmp(Cmp { width, offset, mask, host_order, relation, value }: Cmp) -> String {
    let [width, relation] = [width.word(), relation.word()].map(Option::unwrap_or_default);
    let mask = if mask == 0 { String::new() } else { format!(" mask 0x{mask:x}") };
    let trans = if host_order { " trans" } else { "" };
    format!("cmp({width} at {offset} layer link{mask}{trans} {relation} 0x{value:x})")
}

fn meta(Meta { what, mask, relation, value }: Meta) -> Result<String, NotSayable> {
    let what = what.word().ok_or(NotSayable::ByteOrder)?;
    let mask = if mask == 0 { String::new() } else { format!(" mask 0x{mask:x}") };
    Ok(format!("meta({what}{mask} {} 0x{value:x})", relation.word().unwrap_or_default()))
}

/// Letters as they are, everything else in octal, safe for `tc` and a shell. A plain digit would extend an octal number
/// before it.
fn escaped(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        byte if byte.is_ascii_alphabetic() => char::from(*byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    bytes.iter().map(one).collect()
}
