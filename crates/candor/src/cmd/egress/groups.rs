//! Resolves the control groups that a file names.

use std::fmt;

use candor_egress::control_group::GroupName;
use candor_egress::kernel::{FindError, Here, locate};

use super::Wanted;

/// Control groups that do not exist. A single `apply` cannot wait for them.
#[derive(Debug)]
pub(super) struct NoGroups(Vec<(String, GroupName)>);

impl fmt::Display for NoGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (bus, name)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{name} (bus {bus}) not found: {}", remedy(name))?;
        }
        f.write_str("; candor run waits for them")
    }
}

impl std::error::Error for NoGroups {}

/// Remedy for a control group that does not exist.
pub(in crate::cmd) fn remedy(name: &GroupName) -> String {
    match name {
        GroupName::Path(_) => "systemd-cgls lists the existing ones; to keep an empty one, set Slice= or \
                               Delegate=yes in the unit"
            .to_owned(),
        GroupName::Unit(unit) => format!("start it: sudo systemctl start {unit}"),
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum GroupsError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Missing(#[from] NoGroups),
}

/// Resolves the control groups in the trees; an error if one does not exist.
pub(super) fn all(wanted: &mut [Wanted]) -> Result<(), GroupsError> {
    let (mut machine, mut missing) = (Here::default(), Vec::new());
    for Wanted { bus, tree, .. } in wanted {
        missing.extend(locate(&mut machine, tree)?.into_iter().map(|name| (bus.clone(), name)));
    }
    if missing.is_empty() { Ok(()) } else { Err(NoGroups(missing).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_to_do() {
        let groups = [GroupName::unit("a.service").unwrap(), GroupName::path("/b").unwrap()];
        let error = NoGroups(groups.map(|name| ("body".to_owned(), name)).to_vec());
        insta::assert_snapshot!(error, @"unit a.service (bus body) not found: start it: sudo systemctl start a.service; cgroup /b (bus body) not found: systemd-cgls lists the existing ones; to keep an empty one, set Slice= or Delegate=yes in the unit; candor run waits for them");
    }
}
