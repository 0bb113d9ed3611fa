//! Lengths of payloads that the keys of a route require of each other: a frame that meets one of them must meet all.

use crate::config::code;
use crate::config::spec::RouteSpec;
use crate::plan::Formats;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::frame::{CAN_MAX_DLEN, CANFD_MAX_DLEN, FD_LENGTHS, FrameFormat};

/// The longest payload of a format, in bytes.
pub(super) const fn largest(formats: Formats) -> usize {
    match formats {
        Formats::Only(FrameFormat::Classic) => CAN_MAX_DLEN,
        _ => CANFD_MAX_DLEN,
    }
}

/// Reports a length that no frame of these formats has.
pub(super) fn exists(code: &'static str, (len, place): (usize, &Span), formats: Formats, findings: &mut Findings) {
    let most = largest(formats);
    if len > most {
        let help = "write a length of this format, or change `frames`";
        findings.error(code, place, format!("Classic frames have at most {most} bytes, not {len}"), help);
    } else if let Some((shorter, longer)) = around(len) {
        let help = format!("write {shorter} or {longer}");
        findings.error(code, place, format!("No CAN FD frame has {len} bytes"), help);
    }
}

/// The lengths of CAN FD frames next to one that is none of them.
fn around(len: usize) -> Option<(u8, u8)> {
    let longer = FD_LENGTHS.iter().position(|length| usize::from(*length) >= len)?;
    let found = FD_LENGTHS[longer];
    (usize::from(found) != len).then(|| (FD_LENGTHS[longer - 1], found))
}

/// Reports a guard that lets no frame of this length pass, which is the only one that `place` accepts.
pub(super) fn guarded(route: &RouteSpec, (len, place): (usize, &Span), findings: &mut Findings) {
    let lengths = route.guard.as_ref().and_then(|guard| guard.len.as_deref()).unwrap_or_default();
    let Some(first) = lengths.first() else { return };
    if lengths.iter().all(|length| usize::from(length.value) != len) {
        let message = format!("No frame has one of these lengths and {len} bytes");
        findings.report(
            Diagnostic::error(code::GUARD, first.span.clone(), message)
                .also(place.clone(), format!("accepts {len} bytes only"))
                .help(format!("write len = {len}, or set `len` there")),
        );
    }
}

/// Reports a modification that gives frames of these formats another length than a protection accepts.
pub(super) fn set(route: &RouteSpec, (len, place): (usize, &Span), formats: Formats, findings: &mut Findings) {
    let Some(set) = route.set.as_ref().and_then(|set| set.len.as_ref()) else { return };
    // Codes above 8 mean 8 bytes in a classic frame.
    if usize::try_from(set.value).is_ok_and(|set| set.min(largest(formats)) != len) {
        let message = format!("With {} bytes, no frame can be protected", set.value);
        findings.report(
            Diagnostic::error(code::INTEGRITY, set.span.clone(), message)
                .also(place.clone(), format!("accepts {len} bytes only"))
                .help(format!("write len = {len}, or set `len` there")),
        );
    }
}
