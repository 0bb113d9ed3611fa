//! What a refusal can be about.

use std::fs;

use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwJob};
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use crate::kernel::abilities;

/// Bit of CAP_NET_ADMIN.
const CAP_NET_ADMIN: u32 = 12;
/// `/proc/self/uid_map` where nothing is mapped: all 2³² - 1 users are themselves.
const INITIAL_USERS: [&str; 3] = ["0", "0", "4294967295"];

/// The machine as it is after a refusal, as far as it can be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) links: Vec<Link>,
    pub(crate) jobs: Vec<CangwJob>,
    pub(crate) max_hops: Option<u8>,
    pub(crate) in_user_namespace: bool,
    /// Whether the process has CAP_NET_ADMIN.
    pub(crate) may_configure: Option<bool>,
    /// Whether the kernel's can-gw has jobs for FD frames.
    pub(crate) fd_jobs: Option<bool>,
}

impl Facts {
    /// Reads all that can be read; what cannot is left out.
    pub(crate) fn gather(client: &mut Client) -> Self {
        let text = |path: &str| fs::read_to_string(path).ok();
        Self {
            links: link::list(client).unwrap_or_default(),
            jobs: cangw::dump(client).unwrap_or_default(),
            max_hops: text("/sys/module/can_gw/parameters/max_hops").and_then(|text| text.trim().parse().ok()),
            in_user_namespace: text("/proc/self/uid_map").is_some_and(|text| is_mapped(&text)),
            may_configure: text("/proc/self/status").and_then(|text| has_capability(&text)),
            fd_jobs: abilities::running_kernel().ok().map(|kernel| kernel.has_fd_jobs()),
        }
    }

    pub(super) fn name(&self, index: InterfaceIndex) -> String {
        let named = self.links.iter().find(|link| link.index == index);
        named.map_or_else(|| format!("interface {index}"), |link| link.name.clone())
    }
}

fn is_mapped(uid_map: &str) -> bool {
    uid_map.split_whitespace().ne(INITIAL_USERS)
}

fn has_capability(status: &str) -> Option<bool> {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let bits = u64::from_str_radix(effective.trim(), 16).ok()?;
    Some(bits >> CAP_NET_ADMIN & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_is_read() {
        assert!(!is_mapped("         0          0 4294967295\n"));
        assert!(is_mapped("         0       1000          1\n"));
        assert!(is_mapped(""), "nobody is mapped yet");
        assert_eq!(has_capability("Name:\tx\nCapEff:\t0000000000001000\n"), Some(true));
        assert_eq!(has_capability("CapEff:\t0000000000000fff\n"), Some(false));
        assert_eq!(has_capability("nothing"), None);
    }
}
