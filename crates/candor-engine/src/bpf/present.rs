//! Programs that are in the kernel, of whichever owner.

use std::collections::{BTreeSet, HashMap};

use candor_bpf::gateway::Kind;
use candor_egress::netlink::program;
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::JobCounters;
use candor_netlink::client::Client;

use super::error::BpfError;
use super::filters::{Installed, Source};
use candor_userspace::counters::RouteCounters;
use candor_userspace::run_dir::OwnedJob;

/// Adds the counters of these filters, by route.
pub(super) fn add(sum: &mut HashMap<String, RouteCounters>, installed: &[Installed]) {
    for (route, counted) in installed.iter().flat_map(Installed::counters) {
        *sum.entry(route.to_owned()).or_default() += counted;
    }
}

/// The programs on an interface, of whichever owner.
pub(super) fn on(client: &mut Client, interface: InterfaceIndex) -> Result<Vec<Installed>, BpfError> {
    let all = program::attached(client, interface).map_err(BpfError::List)?;
    Ok(Kind::ALL.into_iter().filter_map(|kind| Installed::find(Source { interface, kind }, &all)).collect())
}

/// Removes the programs of these jobs, and returns the number of filters.
pub(crate) fn remove_of(client: &mut Client, jobs: &[OwnedJob]) -> Result<usize, BpfError> {
    let interfaces: BTreeSet<_> = candor_core::order::set(jobs.iter().map(|owned| owned.job.job().source));
    let mut removed = 0;
    for interface in interfaces {
        for installed in on(client, interface)? {
            removed += installed.len();
            installed.remove(client)?;
        }
    }
    Ok(removed)
}

/// Routes in the programs of an interface. Their processes or the kernel may know more than these counters.
pub(crate) fn routes_on(client: &mut Client, interface: InterfaceIndex) -> Result<Vec<InProgram>, BpfError> {
    let mut found = Vec::new();
    for installed in on(client, interface)? {
        let mut by_route = HashMap::new();
        add(&mut by_route, std::slice::from_ref(&installed));
        let kind = installed.source.kind;
        found.extend(by_route.into_iter().map(|(route, RouteCounters { handled, dropped, .. })| {
            let [handled, dropped] = [handled, dropped].map(as_in_cangw);
            InProgram { route, kind, counters: Some(JobCounters { handled, dropped, deleted: 0 }) }
        }));
    }
    Ok(found)
}

/// A counter that starts at 0 again after 2^32 - 1.
fn as_in_cangw(frames: u64) -> u32 {
    u32::try_from(frames & u64::from(u32::MAX)).unwrap_or_default()
}

/// A route in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InProgram {
    pub(crate) route: String,
    pub(crate) kind: Kind,
    /// Handled and dropped frames.
    pub(crate) counters: Option<JobCounters>,
}
