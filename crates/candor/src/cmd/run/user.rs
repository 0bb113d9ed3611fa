//! Another user for a gateway that root starts (`--user`).

use std::str::FromStr;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{self, Gid, Group, Uid, User};

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: Uid,
    pub(crate) group: Gid,
}

impl Identity {
    /// Makes the calling process one of this user, which keeps the capabilities that are permitted to it. For good.
    ///
    /// # Kernel
    /// `PR_SET_KEEPCAPS`: without it a process that is root's no more has no capabilities either.
    pub(in crate::cmd::run) fn assume(self) -> Result<(), Errno> {
        prctl::set_keepcaps(true)?;
        // While the right to do so is there; root's other groups would open root's files.
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
                let known = look_up(User::from_name(user))?.ok_or_else(|| format!("there is no user {user:?}"))?;
                (known.uid, Some(known.gid))
            }
        };
        let group = match (group.map(|group| (group, group.parse())), group_of_user) {
            (Some((_, Ok(number))), _) => Gid::from_raw(number),
            (Some((name, Err(_not_a_number))), _) => {
                look_up(Group::from_name(name))?.ok_or_else(|| format!("there is no group {name:?}"))?.gid
            }
            (None, Some(group)) => group,
            (None, None) => return Err(format!("write the group as well, as in {user}:{user}: that user has no name")),
        };
        Ok(Self { user, group })
    }
}

fn look_up<T>(found: Result<Option<T>, Errno>) -> Result<Option<T>, String> {
    match found {
        // A machine without /etc/passwd knows nobody by name.
        Err(Errno::ENOENT) => Ok(None),
        found => found.map_err(|errno| format!("users cannot be looked up: {}", errno.desc())),
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
            ("nobody here", "there is no user \"nobody here\""),
            ("", "there is no user"),
            ("root:no such", "there is no group"),
            ("54321", "54321:54321"),
        ] {
            let error = text.parse::<Identity>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
