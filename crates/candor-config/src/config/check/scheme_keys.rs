//! Keys of a scheme, and those that its checksum does not have.

use crate::config::code;
use crate::config::spec::{PlaceSpec, SchemeSpec};
use candor_core::diagnostic::{Findings, Span};
use candor_core::document::Spanned;

/// The place of a value, if it is written.
pub(super) fn span<T>(written: &Option<Spanned<T>>) -> Option<&Span> {
    written.as_ref().map(|written| &written.span)
}

/// The written keys of schemes that do not authenticate.
pub(super) fn written(scheme: &SchemeSpec) -> impl Iterator<Item = (&'static str, &Span)> {
    const fn place(place: &PlaceSpec) -> &Span {
        match place {
            PlaceSpec::Byte(byte) => &byte.span,
            PlaceSpec::Bits(bits) => &bits.span,
        }
    }
    let all = [
        ("e2e", span(&scheme.e2e)),
        ("mode", span(&scheme.mode)),
        ("offset", span(&scheme.offset)),
        ("max-delta", span(&scheme.max_delta)),
        ("resync", span(&scheme.resync)),
        ("checksum", span(&scheme.checksum)),
        ("crc", scheme.crc.as_ref().map(|crc| &crc.span)),
        ("init", span(&scheme.init)),
        ("negated", span(&scheme.negated)),
        ("final-xor", span(&scheme.final_xor)),
        ("at", scheme.at.as_ref().map(place)),
        ("over", span(&scheme.over)),
        ("counter-at", scheme.counter_at.as_ref().map(place)),
        ("counter-max", span(&scheme.counter_max)),
        ("before", scheme.before.as_ref().and_then(|list| Some(&list.first()?.span))),
        ("after", scheme.after.as_ref().and_then(|list| Some(&list.first()?.span))),
    ];
    all.into_iter().filter_map(|(key, span)| Some((key, span?)))
}

/// False after an error: a key that would change nothing, because the checksum that is named does not have it.
pub(super) fn have_effect(scheme: &SchemeSpec, findings: &mut Findings) -> bool {
    let named = scheme.checksum.as_ref().map(|name| name.value.as_str());
    let is_sum = matches!(named, Some("sum" | "sum-nibbles"));
    let is_xor = matches!(named, Some("xor" | "xor-nibbles"));
    let data_id = scheme.data_id.iter().flatten().map(|id| ("data-id", &id.span)).next();
    let profile = scheme.e2e.as_ref().map(|name| name.value.as_str());
    let no_effect = written(scheme).chain(data_id).find_map(|(key, span)| {
        let help = match (key, profile) {
            ("at" | "over" | "counter-at" | "counter-max" | "before" | "after", Some(_)) => {
                "the profile has its own places; `offset` moves all of them".to_owned()
            }
            ("init" | "negated" | "final-xor", Some(_)) => "the profile has its own checksum".to_owned(),
            ("init", None) if !is_sum && !is_xor => {
                "a CRC with another start value is written as a table `crc`".to_owned()
            }
            ("negated", None) if !is_sum => "only `\"sum\"` and `\"sum-nibbles\"` have it".to_owned(),
            ("final-xor", None) if !is_sum => {
                "only `\"sum\"` and `\"sum-nibbles\"` have it; a CRC has it in a table `crc`".to_owned()
            }
            ("counter-max", None) if scheme.counter_at.is_none() => "add `counter-at`".to_owned(),
            ("data-id", None) => "bytes that the checksum covers beside the payload are `before` or `after`".to_owned(),
            ("mode" | "offset", None) => "only profiles have it: add `e2e`".to_owned(),
            _ => return None,
        };
        Some((key, span, help))
    });
    let Some((key, span, help)) = no_effect else { return true };
    findings.error(code::INTEGRITY, span, format!("`{key}` has no effect here"), format!("remove it: {help}"));
    false
}
