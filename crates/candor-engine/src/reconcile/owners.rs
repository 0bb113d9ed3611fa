//! Owners of the kernel's jobs, from the run directory.

use std::collections::BTreeMap;

use candor_config::placement::Side;
use candor_netlink::cangw::ExactJob;

use candor_userspace::job_identity::{Counts, Identity};
use candor_userspace::owner::Owner;
use candor_userspace::run_dir::{Change, Instance, OwnedJob, RunDir};

/// Owners from the point of view of one of them.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Jobs that this owner has in the kernel.
    pub(super) mine: Vec<OwnedJob>,
    /// Its jobs, and those of dead processes.
    pub(super) owned: Vec<ExactJob>,
    /// Jobs of all other owners.
    pub(super) others: Vec<ExactJob>,
    /// Route and owner by job.
    routes: BTreeMap<Vec<u8>, (String, Owner)>,
}

impl Owners {
    /// From the point of view of `me`; with `None` all are others.
    pub(super) fn of(run_dir: Option<&RunDir>, me: Option<&Owner>, present: &[ExactJob]) -> Self {
        let Some(run_dir) = run_dir else { return Self::default() };
        let mut found = Self::default();
        for instance in run_dir.alive().iter().chain(run_dir.applied()).chain(run_dir.dead()) {
            for owned in instance.all_jobs() {
                let name = || (owned.route.clone(), instance.owner.clone());
                found.routes.entry(owned.job.bytes().to_vec()).or_insert_with(name);
            }
        }
        let mine = run_dir.applied().find(|instance| Some(&instance.owner) == me);
        found.mine = mine.map(|instance| claim(instance, present)).unwrap_or_default();
        let mut owned: Vec<_> = found.mine.iter().map(|owned| owned.job.clone()).collect();
        owned.extend(run_dir.dead().iter().flat_map(Instance::kernel_jobs).map(|owned| owned.job.clone()));
        found.owned = owned;
        let others = run_dir.others(me).flat_map(|instance| claim(instance, present));
        found.others = others.filter(|owned| owned.side == Side::Kernel).map(|owned| owned.job).collect();
        found
    }

    /// Route and owner of a job, current or former.
    pub(super) fn route(&self, job: &ExactJob) -> Option<&(String, Owner)> {
        self.routes.get(job.bytes())
    }
}

/// The installed jobs of an owner. After an interrupted change these are some of the old and some of the new ones, but
/// never those that were foreign before.
pub(super) fn claim(instance: &Instance, present: &[ExactJob]) -> Vec<OwnedJob> {
    let Some(change) = &instance.change else { return instance.kernel_jobs().cloned().collect() };
    let mut free = Counts::of_jobs(present).without(&Counts::of_jobs(&change.strangers));
    let mut also_before = Counts::of_jobs(instance.jobs.iter().map(|owned| &owned.job));
    let before = change.before.iter().filter(|owned| owned.side == Side::Kernel);
    let before = before.filter(|owned| !also_before.take(&Identity::of(&owned.job)));
    let all: Vec<_> = instance.kernel_jobs().chain(before).collect();
    all.into_iter().filter(|owned| free.take(&Identity::of(&owned.job))).cloned().collect()
}

/// The record of jobs about to be removed, which distinguishes them from equal foreign ones after an interruption.
pub(super) fn going(claimed: Vec<OwnedJob>, present: &[ExactJob]) -> Change {
    let jobs = || claimed.iter().map(|owned| &owned.job);
    let (mut ours, all) = (Counts::of_jobs(jobs()), Counts::of_jobs(jobs()));
    let equal = present.iter().filter(|job| all.contains(&Identity::of(job)));
    let strangers = equal.filter(|job| !ours.take(&Identity::of(job))).cloned().collect();
    Change { before: claimed, strangers }
}

#[cfg(test)]
mod tests {
    use candor_config::plan::BusIndex;
    use candor_core::filter::Filter;
    use candor_core::frame::FrameFormat;
    use candor_core::job::Job;
    use candor_io::can::InterfaceIndex;
    use candor_netlink::cangw::CangwJob;

    use super::*;
    use candor_userspace::run_dir::{Change, Since};

    fn job(id: u32) -> ExactJob {
        let index = |number| InterfaceIndex::new(number).unwrap();
        let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id, mask: 0x7FF });
        CangwJob::new(&job, index(1), index(2)).into()
    }

    fn owned(ids: &[u32]) -> Vec<OwnedJob> {
        let owned = |&id: &u32| OwnedJob {
            route: format!("r{id}"),
            from: "can0".into(),
            to: "can1".into(),
            side: Side::Kernel,
            job: job(id),
        };
        ids.iter().map(owned).collect()
    }

    fn claimed(jobs: &[u32], change: Option<(&[u32], &[u32])>, present: &[u32]) -> Vec<u32> {
        let change = change.map(|(before, strangers)| Change {
            before: owned(before),
            strangers: strangers.iter().copied().map(job).collect(),
        });
        let instance = Instance {
            owner: Owner::Applied { file: "/a.toml".into() },
            since: Since { unix_s: 0, boot_s: 0 },
            signer: None,
            jobs: owned(jobs),
            change,
        };
        let present: Vec<_> = present.iter().copied().map(job).collect();
        claim(&instance, &present).iter().map(|owned| owned.job.job().filter.id).collect()
    }

    #[test]
    fn without_a_change_all_jobs_are_claimed() {
        assert_eq!(claimed(&[1, 2], None, &[2]), [1, 2]);
    }

    #[test]
    fn in_the_middle_of_a_change_both_sides_are_claimed_as_far_as_they_are_there() {
        // 1 was to be removed and is still installed, 3 was to be added and is not yet, 2 stays.
        assert_eq!(claimed(&[2, 3], Some((&[1, 2], &[])), &[2, 1, 9]), [2, 1]);
        assert_eq!(claimed(&[2, 3], Some((&[1, 2], &[])), &[3, 2]), [2, 3]);
    }

    #[test]
    fn what_is_left_of_a_taking_out_is_known_from_equal_jobs_of_others() {
        let present: Vec<_> = [5, 1, 2, 1].map(job).into();
        let change = going(owned(&[1, 2]), &present);
        assert_eq!(change.strangers, [job(1)]);
        let begun = Instance {
            owner: Owner::Applied { file: "/a.toml".into() },
            since: Since { unix_s: 0, boot_s: 0 },
            signer: None,
            jobs: Vec::new(),
            change: Some(change),
        };
        let left = |ids: &[u32]| {
            let present: Vec<_> = ids.iter().copied().map(job).collect();
            claim(&begun, &present).iter().map(|owned| owned.job.job().filter.id).collect::<Vec<_>>()
        };
        assert_eq!(left(&[5, 1, 2, 1]), [1, 2]);
        assert_eq!(left(&[5, 1, 1]), [1]);
        assert!(left(&[5, 1]).is_empty(), "the last one is foreign");
    }

    #[test]
    fn equal_jobs_of_somebody_else_are_not_claimed() {
        // 3 was foreign before, and ours is not installed yet.
        assert!(claimed(&[3], Some((&[], &[3])), &[3]).is_empty());
        assert_eq!(claimed(&[3], Some((&[], &[3])), &[3, 3]), [3]);
        assert_eq!(claimed(&[3, 3], Some((&[3], &[])), &[3, 3, 3]), [3, 3]);
    }
}
