//! Where jobs are.

use std::fs;
use std::path::Path;

use candor_io::{lock, netns};
use serde::{Deserialize, Serialize};

use crate::system_error::SystemError;

/// Where jobs are: they end with the boot and live in one network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Scope {
    pub(super) boot_id: String,
    pub(super) netns: u64,
    /// Tells a namespace from a later one with the same number; kernels before 5.14 have none.
    #[serde(default)]
    pub(super) netns_cookie: Option<u64>,
}

impl Scope {
    /// The network namespace of the calling thread.
    pub(super) fn of_this_process() -> Result<Self, SystemError> {
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map_err(SystemError::while_doing("Reading the boot id from /proc"))?;
        let netns = lock::inode(Path::new("/proc/thread-self/ns/net"))
            .map_err(SystemError::while_doing("Reading the network namespace from /proc"))?;
        let netns_cookie =
            netns::cookie().map_err(SystemError::while_doing("Asking for the network namespace's cookie"))?;
        Ok(Self { boot_id: boot_id.trim().into(), netns, netns_cookie })
    }

    /// Whether this is a namespace that is no more, and whose number another one has got.
    pub(super) fn was_before(&self, here: &Self) -> bool {
        let is_other = |(cookie, here)| cookie != here;
        self.netns == here.netns && self.netns_cookie.zip(here.netns_cookie).is_some_and(is_other)
    }
}
