//! Scope of jobs.

use std::fs;
use std::path::Path;

use candor_io::{lock, netns};
use serde::{Deserialize, Serialize};

use crate::system_error::SystemError;

/// Boot and network namespace, with which jobs end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Scope {
    pub(super) boot_id: String,
    pub(super) netns: u64,
    /// Distinguishes a namespace from a later one with the same inode number; Linux 5.14.
    #[serde(default)]
    pub(super) netns_cookie: Option<u64>,
}

impl Scope {
    pub(super) fn of_this_process() -> Result<Self, SystemError> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(SystemError::while_doing("Reading the boot id from /proc"))?;
        let netns = lock::inode(Path::new("/proc/thread-self/ns/net"))
            .map_err(SystemError::while_doing("Reading the network namespace from /proc"))?;
        let netns_cookie =
            netns::cookie().map_err(SystemError::while_doing("Reading the cookie of the network namespace"))?;
        Ok(Self { boot_id: boot_id.trim().into(), netns, netns_cookie })
    }

    /// True if this namespace no longer exists and another one has its inode number.
    pub(super) fn was_before(&self, here: &Self) -> bool {
        let is_other = |(cookie, here)| cookie != here;
        self.netns == here.netns && self.netns_cookie.zip(here.netns_cookie).is_some_and(is_other)
    }
}
