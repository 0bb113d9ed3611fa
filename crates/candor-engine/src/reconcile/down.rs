//! Removing applied jobs.

use candor_netlink::cangw::{self, CangwError, ExactJob};
use candor_netlink::client::Client;

use super::error::ReconcileError;
use super::owners::{claim, going};
use crate::bpf;
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::run_dir::{Instance, OwnedJob, RunDir};

/// Result of [`down`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Down {
    /// By owner, in order of removal.
    pub owners: Vec<(Owner, DownCount)>,
    /// Filters with programs of dead processes.
    pub removed_filters: usize,
    /// The routes of these owners, in order of removal.
    pub routes: Vec<String>,
    /// Files that remain applied, if only one was removed.
    pub others: Vec<String>,
}

impl Down {
    fn add_routes<'a>(&mut self, jobs: impl IntoIterator<Item = &'a OwnedJob>) {
        for OwnedJob { route, .. } in jobs {
            if !self.routes.contains(route) {
                self.routes.push(route.clone());
            }
        }
    }
}

/// Counts for one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownCount {
    /// Filters with eBPF programs.
    pub filters: usize,
    pub removed: usize,
    /// Jobs that had already disappeared.
    pub missing: usize,
}

/// Removes the jobs applied from a file, or all applied jobs and those of dead processes.
///
/// # Errors
/// A job could not be removed; the rest stays recorded.
pub fn down(file: Option<&str>, notify: &mut dyn FnMut(Notice)) -> Result<Down, ReconcileError> {
    let Some(mut run_dir) = RunDir::open_applied(notify)? else {
        let removed_filters = if file.is_none() { bpf::remove_leftovers(None, notify)? } else { 0 };
        return Ok(Down { removed_filters, ..Down::default() });
    };
    let is_meant = |owner: &Owner| match (owner, file) {
        (Owner::Applied { file }, Some(wanted)) => file == wanted,
        (Owner::Applied { .. }, None) => true,
        (Owner::Process { .. }, _) => false,
    };
    let meant: Vec<_> = run_dir.applied().filter(|instance| is_meant(&instance.owner)).cloned().collect();
    let mut done = Down::default();
    let mut client = Client::open().map_err(ReconcileError::Netlink)?;
    for instance in meant {
        let present = list(&mut client)?;
        let claimed = claim(&instance, &present);
        let programs: Vec<_> = instance.all_jobs().filter(|owned| owned.is_bpf()).cloned().collect();
        let nothing = Instance { jobs: Vec::new(), change: None, ..instance };
        // If this process is killed halfway, the next one must not remove equal foreign jobs. If the record cannot be
        // written, the jobs are removed nevertheless.
        let mut change = going(claimed.clone(), &present);
        change.before.extend(programs.iter().cloned());
        let begun = Instance { change: Some(change), ..nothing.clone() };
        let _ = run_dir.keep_applied(begun);
        let filters = bpf::remove_of(&mut client, &programs)?;
        let count = DownCount { filters, ..remove(&mut client, &claimed)? };
        let owner = nothing.owner.clone();
        done.add_routes(claimed.iter().chain(&programs));
        run_dir.keep_applied(nothing)?;
        done.owners.push((owner, count));
    }
    if file.is_none() {
        for dead in run_dir.dead().to_vec() {
            let claimed = claim(&dead, &list(&mut client)?);
            done.owners.push((dead.owner, remove(&mut client, &claimed)?));
            done.add_routes(&claimed);
        }
        run_dir.forget_dead()?;
        done.removed_filters = bpf::remove_leftovers(Some(&run_dir), notify)?;
    }
    done.others = run_dir.applied().map(|instance| instance.owner.to_string()).collect();
    Ok(done)
}

/// Removes what this process has in the kernel, by its own record. For a panic, after which nothing else of the gateway may run;
/// queues of `[egress]` stay.
///
/// # Errors
/// As [`down`].
pub fn abandon() -> Result<DownCount, ReconcileError> {
    let mut count = DownCount::default();
    for run_dir in RunDir::open_existing(&mut |_notice| {})?.open {
        for instance in run_dir.alive().iter().filter(|instance| instance.pid() == Some(std::process::id())) {
            let mut client = Client::open().map_err(ReconcileError::Netlink)?;
            let claimed = claim(instance, &list(&mut client)?);
            let programs: Vec<_> = instance.all_jobs().filter(|owned| owned.is_bpf()).cloned().collect();
            count.filters += bpf::remove_of(&mut client, &programs)?;
            let jobs = remove(&mut client, &claimed)?;
            (count.removed, count.missing) = (count.removed + jobs.removed, count.missing + jobs.missing);
        }
    }
    Ok(count)
}

fn list(client: &mut Client) -> Result<Vec<ExactJob>, ReconcileError> {
    match super::list(client) {
        // Unloading the module removes its jobs.
        Err(ReconcileError::CangwMissing) => Ok(Vec::new()),
        listed => listed,
    }
}

fn remove(client: &mut Client, claimed: &[OwnedJob]) -> Result<DownCount, ReconcileError> {
    let mut count = DownCount::default();
    for owned in claimed.iter().rev() {
        match cangw::delete_exact(client, &owned.job) {
            Ok(()) => count.removed += 1,
            Err(CangwError::ModuleMissing | CangwError::NoSuchInterface | CangwError::NoSuchJob) => count.missing += 1,
            Err(CangwError::NotPermitted) => return Err(ReconcileError::NotPermitted),
            Err(error) => return Err(ReconcileError::Delete(error)),
        }
    }
    Ok(count)
}
