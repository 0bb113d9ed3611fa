//! candor.toml: text → [`spec::Spec`] (as written, with spans) → [`crate::plan::Plan`] (validated).
//!
//! ```text
//!  bytes ──limits──▶ text ──spec──▶ Spec ──check──▶ Plan + warnings
//!                      └──────────────┴──────────────┴──▶ Diagnostics, all at once, in the order of the file
//! ```
//!
//! `docs/config.md` describes the keys, `docs/findings.md` the codes.

pub mod code;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
pub mod spec;

mod check;
mod hazards;
mod names;
mod places;

pub use candor_secoc::Key;
pub use names::{Read, ReadKey, is_key};
pub use places::{Part, Places};

pub use check::{ListKind, ListOf, Lists, Withheld};

use crate::plan::{Engine, Plan, Queueing};
use crate::wire::Wire;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::Keyed as _;
use candor_core::document::limits;

pub use candor_core::document::limits::{MAX_FILE_BYTES, MAX_LINE_BYTES};

/// A valid gateway file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub plan: Plan,
    /// Warnings and notes, in the order of the file.
    pub warnings: Vec<Diagnostic>,
    /// Number of warnings and notes not listed, by code.
    pub left_out: Vec<(&'static str, usize)>,
}

impl Loaded {
    /// Adapts the queues in the order of arbitration to a kernel, of which `has_queues` says whether it has queues in BPF: if
    /// so, nothing warns that others have not; if not, their bands take their place.
    pub fn settle_queues(&mut self, has_queues: impl FnOnce() -> bool) {
        if !self.plan.has_arbitration() {
            return;
        }
        if has_queues() {
            self.warnings.retain(|finding| finding.code != code::NO_BPF_QUEUES);
            return;
        }
        for egress in &mut self.plan.egress {
            if let Queueing::Arbitration { otherwise, .. } = &egress.queueing {
                egress.queueing = Queueing::Bands(otherwise.clone());
            }
        }
    }
}

/// Reads a gateway from the bytes of a file.
///
/// # Errors
/// All findings, warnings too, in the order of the file. At least one is a
/// [`candor_core::diagnostic::Severity::Error`]. Spans count bytes from the start of `bytes`.
pub fn load(bytes: &[u8]) -> Result<Loaded, Vec<Diagnostic>> {
    load_for(bytes, None, &mut no_files)
}

/// For files that may not refer to others.
pub(crate) fn no_files(_path: &str) -> Result<Vec<u8>, String> {
    Err("a file that is not on its own cannot be read here".to_owned())
}

/// For files that may not refer to keys.
pub(crate) fn no_keys(_path: &str) -> Result<Key, String> {
    Err("keys cannot be read here".to_owned())
}

/// As [`load`], but for this engine in place of the one in the file, and with databases.
///
/// # Errors
/// As [`load`].
pub fn load_for(bytes: &[u8], engine: Option<Engine>, read: &mut Read<'_>) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(bytes, engine, read, &mut no_keys)
}

/// As [`load_for`], and with keys.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    bytes: &[u8],
    engine: Option<Engine>,
    read: &mut Read<'_>,
    key: &mut ReadKey<'_>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let text = limits::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut findings = Findings::default();
    let plan = spec::parse(text, &mut findings).and_then(|mut spec| {
        let names = names::Names::resolve(&mut spec, (read, key), &mut findings);
        let plan = check::plan(&spec, &names, engine, &mut findings)?;
        check::in_each_mode(&plan, &spec, &mut findings, |plan, findings| hazards::report(plan, &spec, findings));
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

/// Reads the buses of a file for `candor-lab wire`, with their faults as parsed by `fault`; `None` if there are none. The
/// rest of the file need not be a gateway, but its keys must have the right types.
///
/// # Errors
/// As [`load`].
pub fn load_wire<F>(
    bytes: &[u8],
    fault: impl Fn(&str) -> Result<F, String>,
) -> Result<Option<(Wire, Vec<F>)>, Vec<Diagnostic>> {
    let text = limits::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let mut findings = Findings::default();
    let spec = spec::parse(text, &mut findings);
    let wire = spec.and_then(|spec| {
        let written = spec.wire.as_ref()?;
        let faults = check::wire::faults(written, fault, &mut findings);
        Some((check::wire::wire(written, &mut findings), faults))
    });
    if findings.has_errors() { Err(findings.into_sorted()) } else { Ok(wire) }
}

/// Returns the `allow` and `deny` lists of a file, which a [`Plan`] does not contain; `None` if the file is not valid for
/// this engine, as in [`load_for`], or has no such mode.
pub fn lists_for(
    bytes: &[u8],
    (engine, mode): (Option<Engine>, Option<&str>),
    read: &mut Read<'_>,
    key: &mut ReadKey<'_>,
) -> Option<Lists> {
    let mut findings = Findings::default();
    let mut spec = spec::parse(limits::text(bytes).ok()?, &mut findings)?;
    let names = names::Names::resolve(&mut spec, (read, key), &mut findings);
    let plan = check::plan(&spec, &names, engine, &mut findings)?;
    let plan = match mode {
        Some(mode) => plan.in_mode(mode)?,
        None => plan,
    };
    Some(Lists::of(&spec, &plan))
}

/// The keys of [`crate::plan::Route::notes`].
pub fn note_keys() -> impl Iterator<Item = &'static str> {
    spec::Notes::KEYS.keys().into_iter().map(|key| key.name)
}

#[cfg(test)]
pub(crate) mod tests;
