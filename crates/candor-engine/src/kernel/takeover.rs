//! Adoption of jobs of dead processes. Pure.

use candor_netlink::cangw::{CangwJob, JobCounters};

use candor_userspace::run_dir::Instance;

/// Treatment of the jobs found at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Takeover {
    /// Number of wanted jobs, counted from the last, that are installed in the right order.
    ///
    /// A new job becomes the first of the kernel's list, so only the end of the wanted order can stay.
    pub(super) adopted: usize,
    /// The processes that installed them.
    pub(super) adopted_from: Vec<u32>,
    /// Their counters; last first, like `adopted_from`.
    adopted_counters: Vec<JobCounters>,
    /// Jobs of dead processes that are removed, with their process ids.
    pub(super) leftovers: Vec<(CangwJob, u32)>,
    /// Wanted jobs that another program has installed.
    pub(super) foreign_twins: Vec<usize>,
}

impl Takeover {
    /// Compares wanted with installed jobs (newest first, as the kernel lists them).
    pub(super) fn of(wanted: &[CangwJob], dead: &[Instance], present: &[CangwJob]) -> Self {
        let mut owners = owners(dead);
        let mut ours = Vec::new();
        let mut foreign = Vec::new();
        for job in present {
            match owners.iter().position(|(owned, _)| owned.is_same_job(job)) {
                Some(position) => ours.push((*job, owners.swap_remove(position).1)),
                None => foreign.push(job),
            }
        }
        let mut takeover = Self {
            foreign_twins: (0..wanted.len())
                .filter(|&position| foreign.iter().any(|job| job.is_same_job(&wanted[position])))
                .collect(),
            ..Self::default()
        };
        // The kernel deletes the newest of equal jobs, which may be one that should stay.
        let kept = (0..=wanted.len())
            .rev()
            .filter_map(|len| places(&wanted[wanted.len() - len..], &ours))
            .find(|kept| kept.is_empty() || stays_in_order(wanted, &ours, kept, present))
            .expect("nothing at all can always stay");
        for &at in kept.iter().rev() {
            takeover.adopted_from.push(ours[at].1);
            takeover.adopted_counters.push(ours[at].0.counters);
            takeover.adopted += 1;
        }
        let is_left = |at: &usize| !kept.contains(at);
        takeover.leftovers = (0..ours.len()).filter(is_left).map(|at| ours[at]).collect();
        takeover
    }

    /// Counters of the adopted jobs, in plan order.
    pub(super) fn adopted_counters(&self) -> impl Iterator<Item = JobCounters> {
        self.adopted_counters.iter().rev().copied()
    }
}

/// Positions of these jobs among ours in this order, if they are.
fn places(jobs: &[CangwJob], ours: &[(CangwJob, u32)]) -> Option<Vec<usize>> {
    let mut end = ours.len();
    let mut places = Vec::new();
    for job in jobs.iter().rev() {
        end = ours[..end].iter().rposition(|(owned, _)| owned.is_same_job(job))?;
        places.push(end);
    }
    places.reverse();
    Some(places)
}

/// True if the last wanted jobs are in order after the kernel has deleted all other jobs of ours.
fn stays_in_order(wanted: &[CangwJob], ours: &[(CangwJob, u32)], kept: &[usize], present: &[CangwJob]) -> bool {
    let mut remaining: Vec<_> = present.iter().collect();
    for (_, (job, _)) in ours.iter().enumerate().filter(|(at, _)| !kept.contains(at)) {
        let newest = remaining.iter().position(|other| other.is_same_job(job));
        newest.map(|at| remaining.remove(at));
    }
    let mut remaining = remaining.into_iter();
    wanted[wanted.len() - kept.len()..].iter().all(|job| remaining.any(|other| other.is_same_job(job)))
}

/// Jobs of dead processes with their process ids.
fn owners(dead: &[Instance]) -> Vec<(CangwJob, u32)> {
    let jobs = |instance: &Instance| {
        let pid = instance.pid().unwrap_or_default();
        instance.kernel_jobs().map(|owned| (*owned.job.job(), pid)).collect::<Vec<_>>()
    };
    dead.iter().flat_map(jobs).collect()
}

#[cfg(test)]
mod tests {
    use candor_config::placement::Side;
    use candor_config::plan::Engine;
    use candor_core::filter::Filter;
    use candor_io::can::InterfaceIndex;

    use super::*;
    use candor_userspace::owner::Owner;
    use candor_userspace::run_dir::{OwnedJob, Since};

    fn job(id: u32) -> CangwJob {
        let [source, destination] = [1, 2].map(|index| InterfaceIndex::new(index).unwrap());
        let counters = JobCounters { handled: id, ..JobCounters::default() };
        CangwJob { counters, ..CangwJob::plain(source, destination, Filter { id, mask: 0x7FF }) }
    }

    fn jobs(ids: &[u32]) -> Vec<CangwJob> {
        ids.iter().copied().map(job).collect()
    }

    fn dead(pid: u32, ids: &[u32]) -> Instance {
        let owned = |job: &CangwJob| OwnedJob {
            route: String::new(),
            from: String::new(),
            to: String::new(),
            side: Side::Kernel,
            job: (*job).into(),
        };
        Instance {
            signer: None,
            owner: Owner::Process { pid, engine: Engine::Kernel },
            since: Since { unix_s: 0, boot_s: 0 },
            jobs: jobs(ids).iter().map(owned).collect(),
            change: None,
        }
    }

    fn left(takeover: &Takeover) -> Vec<(u32, u32)> {
        takeover.leftovers.iter().map(|(job, pid)| (job.filter.id, *pid)).collect()
    }

    #[test]
    fn an_unchanged_plan_is_adopted_whole() {
        let takeover = Takeover::of(&jobs(&[1, 2, 3]), &[dead(9, &[1, 2, 3])], &jobs(&[1, 2, 3]));
        assert_eq!((takeover.adopted, takeover.leftovers.len()), (3, 0));
        assert_eq!(takeover.adopted_from, [9, 9, 9]);
        let counted: Vec<_> = takeover.adopted_counters().map(|counters| counters.handled).collect();
        assert_eq!(counted, [1, 2, 3]);
    }

    #[test]
    fn only_the_end_of_the_order_can_stay() {
        let takeover = Takeover::of(&jobs(&[1, 7, 2, 3]), &[dead(9, &[1, 2, 3, 4])], &jobs(&[1, 2, 3, 4]));
        assert_eq!(takeover.adopted, 2);
        assert_eq!(left(&takeover), [(1, 9), (4, 9)]);
    }

    /// The kernel deletes the first of the list, which is the 1 that should stay before the 2.
    #[test]
    fn of_equal_jobs_the_kernel_deletes_the_newest() {
        let takeover = Takeover::of(&jobs(&[1, 2]), &[dead(9, &[1, 2, 1])], &jobs(&[1, 2, 1]));
        assert_eq!((takeover.adopted, left(&takeover)), (1, vec![(1, 9), (1, 9)]));
    }

    #[test]
    fn another_order_is_made_anew() {
        let takeover = Takeover::of(&jobs(&[3, 2, 1]), &[dead(9, &[1, 2, 3])], &jobs(&[1, 2, 3]));
        assert_eq!(takeover.adopted, 1);
        assert_eq!(left(&takeover), [(2, 9), (3, 9)]);
    }

    #[test]
    fn foreign_jobs_are_left_alone() {
        let takeover = Takeover::of(&jobs(&[1]), &[], &jobs(&[1, 5]));
        assert_eq!(takeover, Takeover { foreign_twins: vec![0], ..Takeover::default() });
    }
}
