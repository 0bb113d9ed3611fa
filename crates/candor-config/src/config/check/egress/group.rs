//! `cgroup` and `unit`: frames by who sends them.

use super::selection::every;
use crate::config::code;
use crate::config::spec::SelectionSpec;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::quote;
use candor_egress::control_group::{GroupName, NameError};

/// The groups of a selection; `None` if one is wrong, or if the selection looks at something else, too.
pub(super) fn all(spec: &SelectionSpec, findings: &mut Findings) -> Option<Vec<GroupName>> {
    let paths = every(spec.cgroup.as_deref(), |written| name(written, GroupName::path, findings));
    let units = every(spec.unit.as_deref(), |written| name(written, GroupName::unit, findings));
    let is_one = stands_alone(spec, findings);
    let all = [paths?, units?].concat();
    is_one.then_some(all)
}

/// A filter that is a program is asked beside the others, and cannot ask them itself.
fn stands_alone(spec: &SelectionSpec, findings: &mut Findings) -> bool {
    let first =
        |list: &Option<Vec<Spanned<String>>>| list.as_ref().map(|list| list.first().map(|item| item.span.clone()));
    let (cgroup, unit) = (first(&spec.cgroup), first(&spec.unit));
    let key = if cgroup.is_some() { "cgroup" } else { "unit" };
    let is_both = cgroup.is_some() && unit.is_some();
    let Some(span) = cgroup.or(unit).map(|span| span.unwrap_or_else(|| spec.span.clone())) else { return true };
    let empty = |list: &Option<Vec<_>>| list.as_ref().is_some_and(Vec::is_empty);
    let (message, help) = if is_both {
        let message = "A selection cannot have both `cgroup` and `unit`";
        (message.to_owned(), "write two selections: take = [{ cgroup = \"/can\" }, { unit = \"can.service\" }]")
    } else if spec.is_by_frame() {
        let message = format!("`{key}` must be the only key of a selection");
        (message, "no filter looks at both; put the other criteria into a band above, or remove them")
    } else if empty(&spec.cgroup) || empty(&spec.unit) {
        (format!("`{key}` is empty"), "write unit = \"can-logger.service\" or cgroup = \"/can\"")
    } else {
        return true;
    };
    findings.report(Diagnostic::error(code::EGRESS, span, message).help(help));
    false
}

fn name(
    written: &Spanned<String>,
    read: fn(&str) -> Result<GroupName, NameError>,
    findings: &mut Findings,
) -> Option<GroupName> {
    let error = match read(&written.value) {
        Ok(name) => return Some(name),
        Err(error) => error,
    };
    let help = match error {
        NameError::NoDirectory | NameError::NoPath => {
            "write it as shown by systemd-cgls or /proc/PID/cgroup, such as \"/system.slice/can-logger.service\""
        }
        NameError::Root => {
            "the last band takes the rest anyway; write a cgroup below the root, such as \"/user.slice\""
        }
        NameError::NoKind => "write it as shown by systemctl, such as \"can-logger.service\"",
        NameError::NoUnit => "write it as shown by systemctl, such as \"can-logger.service\"; for a path use `cgroup`",
    };
    let message = format!("{error}: {}", quote(&written.value));
    findings.report(Diagnostic::error(code::NAME, written.span.clone(), message).help(help));
    None
}
