//! `--user`: running as another user than root.

use std::str::FromStr;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{self, Gid, Group, Uid, User};

/// User and group ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: Uid,
    pub(crate) group: Gid,
}

impl Identity {
    /// Irrevocably switches the process to this user and keeps its permitted capabilities.
    ///
    /// # Kernel
    /// `PR_SET_KEEPCAPS`: without it, leaving uid 0 clears all capabilities.
    pub(in crate::cmd::run) fn assume(self) -> Result<(), Errno> {
        prctl::set_keepcaps(true)?;
        // Before the uid changes. The supplementary groups of root would give access to files of root.
        unistd::setgroups(&[self.group])?;
        unistd::setresgid(self.group, self.group, self.group)?;
        unistd::setresuid(self.user, self.user, self.user)
    }
}

impl FromStr for Identity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
        let (user, group_of_user) = match user.parse() {
            Ok(number) => {
                let uid = Uid::from_raw(number);
                (uid, look_up(User::from_uid(uid))?.map(|user| user.gid))
            }
            Err(_not_a_number) => {
                let known = look_up(User::from_name(user))?.ok_or_else(|| format!("user {user:?} not found"))?;
                (known.uid, Some(known.gid))
            }
        };
        let group = match (group.map(|group| (group, group.parse())), group_of_user) {
            (Some((_, Ok(number))), _) => Gid::from_raw(number),
            (Some((name, Err(_not_a_number))), _) => {
                look_up(Group::from_name(name))?.ok_or_else(|| format!("group {name:?} not found"))?.gid
            }
            (None, Some(group)) => group,
            (None, None) => {
                return Err(format!("user {user} has no name, so give the group as well, as in {user}:{user}"));
            }
        };
        Ok(Self { user, group })
    }
}

fn look_up<T>(found: Result<Option<T>, Errno>) -> Result<Option<T>, String> {
    match found {
        // No /etc/passwd.
        Err(Errno::ENOENT) => Ok(None),
        found => found.map_err(|errno| format!("cannot look up users: {}", errno.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_names_or_numbers() {
        let root = Identity { user: Uid::from_raw(0), group: Gid::from_raw(0) };
        assert_eq!("root".parse(), Ok(root));
        assert_eq!("0:root".parse(), Ok(root));
        let other = Identity { user: Uid::from_raw(54_321), group: Gid::from_raw(12_345) };
        assert_eq!("54321:12345".parse(), Ok(other));
        for (text, words) in [
            ("nobody here", "user \"nobody here\" not found"),
            ("", "user \"\" not found"),
            ("root:no such", "group \"no such\" not found"),
            ("54321", "54321:54321"),
        ] {
            let error = text.parse::<Identity>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
