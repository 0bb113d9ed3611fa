//! candor.toml: text → [`spec::Spec`] (as written, with spans) → [`crate::plan::Plan`] (proven).
//!
//! ```text
//!  bytes ──limits──▶ text ──parse──▶ Spec ──check──▶ Plan + warnings
//!                      └───────────────┴───────────────┴──▶ Diagnostics, all at once, in the order of the file
//! ```
//!
//! `docs/config.md` describes the keys, `docs/findings.md` the codes.

pub mod code;
pub mod promises;
pub mod spec;

mod check;
mod hazards;
pub(crate) mod parse;

pub use check::{ListKind, ListOf, Lists, Withheld};

use crate::plan::{Engine, Plan};
use crate::wire::Wire;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::limits;

pub use candor_core::document::limits::{MAX_FILE_BYTES, MAX_LINE_BYTES};

/// A file that is a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The gateway.
    pub plan: Plan,
    /// Warnings and notes, in the order of the file.
    pub warnings: Vec<Diagnostic>,
    /// Number of warnings and notes not listed, by code.
    pub left_out: Vec<(&'static str, usize)>,
}

/// Reads a gateway from the bytes of a file.
///
/// # Errors
/// Every mistake in the file, and the warnings too, in the order of the file. There is at least one of
/// [`candor_core::diagnostic::Severity::Error`]. Spans count bytes from the start of `bytes`.
pub fn load(bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    load_for(bytes, None)
}

/// As [`load`], but for this engine, whatever the file says of it.
///
/// # Errors
/// As [`load`].
pub fn load_for(bytes: &[u8], engine: Option<Engine>) -> Result<Loaded, Vec<Diagnostic>> {
    let text = limits::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut findings = Findings::default();
    let plan = parse::spec(text, &mut findings).and_then(|spec| {
        let plan = check::plan(&spec, engine, &mut findings)?;
        hazards::report(&plan, &spec, &mut findings);
        Some(plan)
    });
    match plan {
        Some(plan) if !findings.has_errors() => {
            let (warnings, left_out) = findings.into_listed();
            Ok(Loaded { plan, warnings, left_out })
        }
        _ => Err(findings.into_sorted()),
    }
}

/// Reads the buses that a file declares for `candor-lab wire`, and their faults as `fault` understands them; `None` if it has
/// none. Whether the rest is a gateway does not matter, as long as it is written as the file format wants it.
///
/// # Errors
/// Every mistake, as [`load`].
pub fn load_wire<F>(
    bytes: &[u8],
    fault: impl Fn(&str) -> Result<F, String>,
) -> Result<Option<(Wire, Vec<F>)>, Vec<Diagnostic>> {
    let text = limits::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut findings = Findings::default();
    let spec = parse::spec(text, &mut findings);
    let wire = spec.and_then(|spec| {
        let written = spec.wire.as_ref()?;
        let faults = check::wire::faults(written, fault, &mut findings);
        Some((check::wire::wire(written, &mut findings)?, faults))
    });
    if findings.has_errors() { Err(findings.into_sorted()) } else { Ok(wire) }
}

/// Returns the `allow` and `deny` lists of a file, which a [`Plan`] no longer contains.
///
/// `None` if the file is no gateway for this engine, as in [`load_for`].
#[must_use]
pub fn lists_for(bytes: &[u8], engine: Option<Engine>) -> Option<Lists> {
    let mut findings = Findings::default();
    let spec = parse::spec(limits::text(bytes).ok()?, &mut findings)?;
    let plan = check::plan(&spec, engine, &mut findings)?;
    Some(Lists::of(&spec, &plan))
}

#[cfg(test)]
pub(crate) mod tests;
