//! Facts that can explain a refusal.

use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{self, CangwJob};
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use crate::abilities;
use candor_io::machine::{Capability, Machine};
use candor_userspace::running_kernel::running_kernel;

/// State of the machine after a refusal, as far as readable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) links: Vec<Link>,
    pub(crate) jobs: Vec<CangwJob>,
    pub(crate) max_hops: Option<u8>,
    pub(crate) in_user_namespace: bool,
    /// CAP_NET_ADMIN.
    pub(crate) may_configure: Option<bool>,
    /// can-gw has jobs for FD frames.
    pub(crate) fd_jobs: Option<bool>,
}

impl Facts {
    /// Reads everything that can be read.
    pub(crate) fn gather(client: &mut Client) -> Self {
        let machine = Machine::here();
        Self {
            links: link::list(client).unwrap_or_default(),
            jobs: cangw::dump(client).unwrap_or_default(),
            max_hops: abilities::max_hops(),
            in_user_namespace: machine.own().is_in_user_namespace(),
            may_configure: machine.own().has(Capability::NetAdmin),
            fd_jobs: running_kernel().ok().map(|kernel| kernel.has_fd_jobs()),
        }
    }

    pub(super) fn name(&self, index: InterfaceIndex) -> String {
        let named = self.links.iter().find(|link| link.index == index);
        named.map_or_else(|| format!("interface {index}"), |link| link.name.clone())
    }
}
