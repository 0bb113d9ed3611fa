//! The control groups that a file names, as they are now.

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
            write!(f, "There is no {name} (bus {bus}): {}", remedy(name))?;
        }
        f.write_str("; candor run waits for them")
    }
}

impl std::error::Error for NoGroups {}

/// What to do about a group that is not there.
pub(in crate::cmd) fn remedy(name: &GroupName) -> String {
    match name {
        GroupName::Path(_) => "systemd-cgls shows those that there are; what systemd is to keep wants Slice= or \
                               Delegate=yes in its unit"
            .to_owned(),
        GroupName::Unit(unit) => format!("start it, sudo systemctl start {unit}"),
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum GroupsError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Missing(#[from] NoGroups),
}

/// Puts into the trees which groups they name; all of them have to be there.
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
        insta::assert_snapshot!(error, @"There is no unit a.service (bus body): start it, sudo systemctl start a.service; There is no cgroup /b (bus body): systemd-cgls shows those that there are; what systemd is to keep wants Slice= or Delegate=yes in its unit; candor run waits for them");
    }
}
