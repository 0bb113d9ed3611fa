//! Reinstalls missing jobs.
//!
//! The kernel removes the jobs of an interface that disappears, all jobs when the module is unloaded, and any job on
//! request, without notification. candor waits for interfaces and modules without limit. Deleted jobs are reinstalled
//! at once, but not forever: otherwise two programs could undo each other's changes endlessly.
//!
//! The counts of a job between the last reading and its removal are lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use candor_config::plan::Plan;
use candor_netlink::cangw::{CangwError, CangwJob};

use super::{JobRoute, KernelGateway};
use crate::fights::{MEMORY, PATIENCE};
use crate::kernel::KernelError;
use candor_userspace::notice::Notice;
use candor_userspace::preflight::Interfaces;

/// Exists while can-gw is loaded or built in.
const MODULE: &str = "/sys/module/can_gw";

impl KernelGateway {
    /// Updates the counters; returns by job whether it is installed, or `None` without the module.
    ///
    /// Call it before refreshing the interfaces: a missing job whose interfaces are then present was deleted.
    pub(crate) fn presence(&mut self) -> Result<Option<Vec<bool>>, KernelError> {
        match self.refresh() {
            // If the kernel lists no foreign routes either, a missing module looks like an empty list.
            Ok(is_there) if is_there.contains(&false) && !Path::new(MODULE).exists() => Ok(None),
            Ok(is_there) => Ok(Some(is_there)),
            Err(CangwError::ModuleMissing) => Ok(None),
            Err(error) => Err(KernelError::List(error)),
        }
    }

    /// Reinstalls the missing jobs whose interfaces are present, unless the ownership record is outdated.
    pub(crate) fn mend(
        &mut self,
        plan: &Plan,
        is_there: Option<Vec<bool>>,
        interfaces: &Interfaces,
        is_announced: bool,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) -> Result<(), KernelError> {
        let Some(is_there) = is_there else {
            notices.extend(self.wait_for_module());
            return Ok(());
        };
        let was_unloaded = std::mem::take(&mut self.misses_module);
        let owed: BTreeSet<_> = candor_core::order::set(
            self.owed.iter().copied().filter(|&at| !is_there[at] && self.can_be(at, interfaces)),
        );
        self.owed = owed;
        notices.extend(was_unloaded.then_some(Notice::CangwBack));
        let missing: Vec<_> = (0..is_there.len()).filter(|&at| !is_there[at] && self.can_be(at, interfaces)).collect();
        let (Some(&first), true) = (missing.first(), is_announced) else { return Ok(()) };
        let is_deleted =
            |at: &&usize| !self.owed.contains(*at) && self.now(**at, interfaces) == *self.installed.job(**at);
        let deleted = missing.iter().filter(is_deleted).count();
        if deleted > 0 && !was_unloaded {
            let route = self.route(plan, first);
            if self.fights.note(now) {
                return Err(KernelError::Contested { route, times: PATIENCE, within: MEMORY });
            }
            notices.push(Notice::JobsPutBack { jobs: deleted, route });
        }
        self.put_back(plan, &missing, &is_there, interfaces)
    }

    /// Adds the missing jobs. Jobs that a frame must meet before one of them, between the same buses, are deleted and
    /// added after it, because a new job comes first in the kernel's list. No other job is touched.
    fn put_back(
        &mut self,
        plan: &Plan,
        missing: &[usize],
        is_there: &[bool],
        interfaces: &Interfaces,
    ) -> Result<(), KernelError> {
        let way = |job_route: JobRoute| (job_route.from, job_route.to);
        let mut to_add = missing.to_vec();
        for at in (0..is_there.len()).filter(|&at| is_there[at]) {
            let job_route = self.job_routes[at];
            if missing.iter().any(|&later| at < later && way(self.job_routes[later]) == way(job_route)) {
                match self.installed.take_out(at) {
                    Ok(()) => self.owed.insert(at),
                    Err(CangwError::ModuleMissing) => return Ok(()),
                    Err(error) => return Err(KernelError::List(error)),
                };
                to_add.push(at);
            }
        }
        candor_core::order::sort(&mut to_add);
        self.owed.extend(&to_add);
        for &at in to_add.iter().rev() {
            let job = self.now(at, interfaces);
            match self.installed.put_back(at, &job) {
                Ok(()) => {
                    self.followed[at].restart();
                    self.owed.remove(&at);
                }
                // Gone again; the next check finds it missing.
                Err(CangwError::NoSuchInterface) => {
                    self.owed.remove(&at);
                }
                Err(CangwError::ModuleMissing) => return Ok(()),
                Err(error) => {
                    let source = self.installed.explain(&job, error);
                    return Err(KernelError::Install { route: self.route(plan, at), source });
                }
            }
        }
        Ok(())
    }

    fn wait_for_module(&mut self) -> Option<Notice> {
        self.owed.clear();
        let told_already = std::mem::replace(&mut self.misses_module, true);
        (!told_already).then_some(Notice::CangwGone)
    }

    /// True if both interfaces of a job are present.
    fn can_be(&self, at: usize, interfaces: &Interfaces) -> bool {
        let JobRoute { from, to, .. } = self.job_routes[at];
        interfaces.present(from).is_some() && interfaces.present(to).is_some()
    }

    /// A job with the current interface indexes.
    fn now(&self, at: usize, interfaces: &Interfaces) -> CangwJob {
        let JobRoute { from, to, .. } = self.job_routes[at];
        let (source, destination) = (interfaces.index(from), interfaces.index(to));
        CangwJob { source, destination, ..*self.installed.job(at) }
    }
}
