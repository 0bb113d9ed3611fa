mod kernel;

use candor_core::filter::Filter;
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::{CangwJob, JobFlags};
use proptest::prelude::*;

use super::*;
use kernel::{Kernel, order_matters};

/// A job by the id and mask of its filter, from interface 1 to 2.
fn job(id: u32, mask: u32) -> CangwJob {
    let [source, destination] = [1, 2].map(|index| InterfaceIndex::new(index).unwrap());
    CangwJob::plain(source, destination, Filter { id, mask })
}

fn masked(ids: &[u32]) -> Vec<ExactJob> {
    ids.iter().map(|&id| job(id, 0x7FF).into()).collect()
}

fn with_uid(uid: u32, set: u32) -> CangwJob {
    let mut job = CangwJob { uid, ..job(0x10, 0x7FF) };
    job.modifications.set.id = Some(set);
    job
}

/// A kernel with these jobs, newest first.
fn kernel(jobs: &[ExactJob]) -> Kernel {
    let mut kernel = Kernel::default();
    jobs.iter().rev().for_each(|job| kernel.add(job).unwrap());
    kernel
}

fn ids(jobs: &[ExactJob]) -> Vec<u32> {
    jobs.iter().map(|job| job.job().filter.id).collect()
}

fn simple<'a>(wanted: &'a [ExactJob], present: &'a [ExactJob], owned: &'a [ExactJob]) -> Situation<'a> {
    Situation { wanted, present, owned, others: &[], foreign: Foreign::default() }
}

fn adds(found: &Reconciliation) -> Vec<u32> {
    let added = |step: &Step| if let Step::Add(job) = step { Some(job.job().filter.id) } else { None };
    found.steps.iter().filter_map(added).collect()
}

fn deletes(found: &Reconciliation) -> Vec<u32> {
    let deleted = |step: &Step| if let Step::Delete(job) = step { Some(job.job().filter.id) } else { None };
    found.steps.iter().filter_map(deleted).collect()
}

#[test]
fn the_end_of_the_order_stays() {
    let (wanted, present) = (masked(&[1, 7, 2, 3]), masked(&[1, 2, 3, 4]));
    let found = reconcile(&simple(&wanted, &present, &present));
    assert_eq!((deletes(&found), adds(&found)), (vec![1, 4], vec![7, 1]));
    assert_eq!(found.actions, [Action::Moved(0), Action::Added, Action::Kept(1), Action::Kept(2)]);
    assert_eq!(found.standings[3], Standing::Removed);
}

#[test]
fn what_sees_other_frames_is_no_reason_to_change_anything() {
    let exact = |id| ExactJob::from(job(id, 0xC000_07FF));
    let fd = |id| ExactJob::from(CangwJob { flags: JobFlags::FD, ..job(id, 0x7FF) });
    let present = [exact(1), exact(2), fd(1), masked(&[9])[0].clone()];
    let wanted = [masked(&[9])[0].clone(), fd(1), exact(2), exact(1)];
    assert_eq!(reconcile(&simple(&wanted, &present, &present)).steps, []);
}

#[test]
fn a_uid_changes_a_job_where_it_is() {
    let (old, new) = ([with_uid(5, 1).into()], [with_uid(5, 2).into()]);
    let found = reconcile(&simple(&new, &old, &old));
    assert_eq!(found.steps, [Step::Change(new[0].clone())]);
    assert_eq!(found.actions, [Action::Changed(0)]);
    // With another flag or hop limit the kernel would say yes and do nothing.
    for other in [CangwJob { hop_limit: 1, ..with_uid(5, 2) }, CangwJob { flags: JobFlags::ECHO, ..with_uid(5, 2) }] {
        let new = [other.into()];
        let found = reconcile(&simple(&new, &old, &old));
        assert_eq!(found.steps, [Step::Delete(old[0].clone()), Step::Add(new[0].clone())]);
    }
}

#[test]
fn a_uid_that_somebody_else_has_is_told() {
    let (theirs, ours) = ([with_uid(5, 1).into()], [with_uid(5, 2).into()]);
    let found = reconcile(&simple(&ours, &theirs, &[]));
    assert_eq!((found.uid_taken, found.actions), (vec![(0, 0)], vec![Action::Added]));
    let adopt = Foreign { adopt: true, prune: false };
    let found = reconcile(&Situation { foreign: adopt, ..simple(&ours, &theirs, &[]) });
    assert_eq!(found.uid_taken, [(0, 0)], "it is not equal");
    let prune = Foreign { adopt: false, prune: true };
    let found = reconcile(&Situation { foreign: prune, ..simple(&ours, &theirs, &[]) });
    assert_eq!((found.uid_taken.len(), found.steps.len()), (0, 2));
}

#[test]
fn foreign_jobs_are_left_adopted_or_pruned() {
    let (wanted, present) = (masked(&[1, 2]), masked(&[1, 8, 1, 2]));
    let twin = reconcile(&simple(&wanted, &present, &masked(&[2])));
    assert_eq!((deletes(&twin), adds(&twin)), (vec![], vec![1]));
    assert_eq!(twin.standings[0], Standing::Foreign(Some(0)));
    assert_eq!(twin.standings[1], Standing::Foreign(None));

    let adopt = Foreign { adopt: true, prune: false };
    let adopted = reconcile(&Situation { foreign: adopt, ..simple(&wanted, &present, &masked(&[2])) });
    assert_eq!(adopted.steps, []);
    assert_eq!(adopted.standings[2], Standing::Ours { wanted: 0, adopted: true });
    assert_eq!(adopted.standings[0], Standing::Foreign(Some(0)), "one is enough");

    let prune = Foreign { adopt: false, prune: true };
    let pruned = reconcile(&Situation { foreign: prune, ..simple(&wanted, &present, &masked(&[2])) });
    assert_eq!((deletes(&pruned), adds(&pruned)), (vec![1, 8], vec![]));
}

#[test]
fn other_candors_are_never_touched() {
    let (wanted, present, others) = (masked(&[1]), masked(&[9, 8]), masked(&[9]));
    let prune = Foreign { adopt: true, prune: true };
    let found = reconcile(&Situation { others: &others, foreign: prune, ..simple(&wanted, &present, &[]) });
    assert_eq!((deletes(&found), adds(&found)), (vec![8], vec![1]));
    assert_eq!(found.standings, [Standing::Other, Standing::Pruned]);
}

/// The kernel takes the newest of equal jobs, which is the one that would have been in its place.
#[test]
fn of_equal_jobs_the_newest_goes() {
    let present = masked(&[1, 2, 1]);
    let wanted = masked(&[1, 2]);
    let found = reconcile(&simple(&wanted, &present, &present));
    let mut list = kernel(&present);
    found.steps.iter().for_each(|step| list.follow(step).unwrap());
    assert_eq!(ids(&list.jobs), [1, 2]);
}

fn any_job() -> impl Strategy<Value = CangwJob> {
    let filter = prop_oneof![
        (0..3_u32).prop_map(|id| (id, 0x7FF)),
        (0..2_u32).prop_map(|id| (id, 0xC000_07FF)),
        Just((0, 0)),
        (0..2_u32).prop_map(|id| (id | 0x2000_0000, 0x7FF)),
    ];
    (filter, 1..3_u32, 0..2_u16, prop_oneof![6 => Just(0), 1 => 1..4_u32], 0..2_u32, 0..2_u8).prop_map(
        |((id, mask), source, fd, uid, set, hop_limit)| {
            let mut job = CangwJob { flags: JobFlags(fd * 8), uid, hop_limit, ..job(id, mask) };
            job.source = InterfaceIndex::new(source).unwrap();
            job.modifications.set.id = (uid != 0).then_some(set);
            job
        },
    )
}

/// Jobs of which no two have the same uid: can-gw cannot have such a list.
fn some_jobs(most: usize) -> impl Strategy<Value = Vec<ExactJob>> {
    proptest::collection::vec(any_job(), 0..most).prop_map(|jobs| {
        let mut jobs: Vec<_> = jobs.into_iter().map(ExactJob::from).collect();
        keep_first_of_each_uid(&mut jobs);
        jobs
    })
}

fn keep_first_of_each_uid(jobs: &mut Vec<ExactJob>) {
    let mut uids = Vec::new();
    jobs.retain(|job| {
        let uid = job.job().uid;
        let is_first = uid == 0 || !uids.contains(&uid);
        uids.push(uid);
        is_first
    });
}

/// A list of the kernel whose jobs have owners: 0 ours, 1 another candor's, 2 nobody.
fn world() -> impl Strategy<Value = (Vec<ExactJob>, Vec<ExactJob>, Vec<u8>)> {
    (some_jobs(8), some_jobs(14)).prop_flat_map(|(wanted, extra)| {
        // Much of what is wanted is there, in some order.
        let mut pool: Vec<_> = wanted.iter().chain(&extra).cloned().collect();
        keep_first_of_each_uid(&mut pool);
        let len = pool.len();
        let owners = proptest::collection::vec(prop_oneof![5 => Just(0_u8), 1 => Just(1), 2 => Just(2)], len);
        (Just(wanted), proptest::sample::subsequence(pool, 0..=len).prop_shuffle(), owners)
    })
}

struct Case {
    wanted: Vec<ExactJob>,
    kernel: Kernel,
    owned: Vec<ExactJob>,
    others: Vec<ExactJob>,
    foreign: Foreign,
}

impl Case {
    fn new(wanted: Vec<ExactJob>, present: &[ExactJob], owners: &[u8], adopt: bool, prune: bool) -> Self {
        let of = |owner| {
            present.iter().zip(owners).filter(|(_, other)| **other == owner).map(|(job, _)| job.clone()).collect()
        };
        let foreign = Foreign { adopt, prune };
        Self { kernel: kernel(present), owned: of(0), others: of(1), wanted, foreign }
    }

    fn situation(&self) -> Situation<'_> {
        let Self { wanted, kernel, owned, others, foreign } = self;
        Situation { wanted, present: &kernel.jobs, owned, others, foreign: *foreign }
    }

    fn reconcile(&self) -> Reconciliation {
        reconcile(&self.situation())
    }
}

/// Jobs as they would be written down, so that lists of them can be compared whatever was counted.
fn bytes<'a>(jobs: impl IntoIterator<Item = &'a ExactJob>) -> Vec<Vec<u8>> {
    jobs.into_iter().map(|job| job.bytes().to_vec()).collect()
}

fn sorted(mut lists: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    lists.sort();
    lists
}

/// Those of the list with whom the order of a job matters.
fn seen_with<'a>(job: &'a ExactJob, list: &'a [ExactJob]) -> Vec<Vec<u8>> {
    bytes(list.iter().filter(|other| order_matters(job.job(), other.job())))
}

fn is_subsequence(short: &[Vec<u8>], long: &[Vec<u8>]) -> bool {
    let mut rest = long.iter();
    short.iter().all(|one| rest.any(|other| one == other))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_kernel_ends_with_what_is_wanted((wanted, present, owners) in world(), adopt: bool, prune: bool) {
        let case = Case::new(wanted, &present, &owners, adopt, prune);
        let found = case.reconcile();
        prop_assume!(found.uid_taken.is_empty());
        let mut after = case.kernel.clone();
        for step in &found.steps {
            prop_assert_eq!(after.follow(step), Ok(()), "{:?}", step);
        }
        // In each group the order is that of the file, and all is there as often as it is wanted.
        for job in &case.wanted {
            prop_assert!(is_subsequence(&seen_with(job, &case.wanted), &seen_with(job, &after.jobs)));
        }
        // Jobs that are not ours remain, and with adoption nothing else.
        let stays = |standing: &Standing| matches!(standing, Standing::Foreign(_) | Standing::Other);
        let left = case.kernel.jobs.iter().zip(&found.standings).filter(|(_, standing)| stays(standing));
        let expected = bytes(case.wanted.iter().chain(left.map(|(job, _)| job)));
        prop_assert_eq!(sorted(bytes(&after.jobs)), sorted(expected));
        if prune {
            prop_assert!(!found.standings.iter().any(|standing| matches!(standing, Standing::Foreign(_))));
        }
        let others = found.standings.iter().filter(|standing| **standing == Standing::Other).count();
        prop_assert_eq!(others, case.others.len(), "other candors keep what they have");

        // Once more, there is nothing to do.
        let again = Case { owned: case.wanted.clone(), kernel: after, ..case };
        prop_assert_eq!(again.reconcile().steps, []);
    }

    /// Jobs that are neither ours nor to be pruned stay the same; of equal ones, as many stay.
    #[test]
    fn foreign_jobs_are_untouched((wanted, present, owners) in world()) {
        let case = Case::new(wanted, &present, &owners, false, false);
        let found = case.reconcile();
        prop_assume!(found.uid_taken.is_empty());
        let mut after = case.kernel.clone();
        found.steps.iter().for_each(|step| after.follow(step).unwrap());
        let strangers = || case.kernel.jobs.iter().zip(&found.standings).filter(|(_, standing)| matches!(standing, Standing::Foreign(_) | Standing::Other)).map(|(job, _)| job);
        for job in strangers() {
            let equal = |list: &[ExactJob]| list.iter().filter(|other| other.is_same_job(job)).count();
            let ours = |list: &[ExactJob]| list.iter().filter(|other| other.is_same_job(job)).count();
            let theirs = strangers().filter(|other| other.is_same_job(job)).count();
            prop_assert_eq!(equal(&after.jobs), theirs + ours(&case.wanted));
            if equal(&case.kernel.jobs) == 1 {
                prop_assert!(after.known().contains(&job.job().counters.handled));
            }
        }
    }

    /// Counters live on wherever the file's order allows it: fewer deletions in a group would leave another order.
    #[test]
    fn no_more_is_deleted_than_must_be((wanted, present, owners) in world()) {
        let case = Case::new(wanted, &present, &owners, false, false);
        let found = case.reconcile();
        for (at, action) in found.actions.iter().enumerate() {
            let Action::Moved(from) = action else { continue };
            // A job is moved only if one behind it in the file, in its group, is new or moved, or before it in the kernel.
            let group = |other: &usize| order_matters(case.wanted[at].job(), case.wanted[*other].job());
            let later: Vec<_> = (at + 1..case.wanted.len()).filter(group).collect();
            let is_new = |at: &usize| matches!(found.actions[*at], Action::Added | Action::Moved(_));
            let kept = |at: &usize| match found.actions[*at] {
                Action::Kept(place) | Action::Changed(place) => Some(place),
                _ => None,
            };
            let before = later.iter().filter_map(kept).min();
            let twins = case.kernel.jobs.iter().filter(|job| job.is_same_job(&case.wanted[at])).count() > 1;
            prop_assert!(later.iter().any(is_new) || before.is_some_and(|place| place < *from) || twins);
        }
    }

    /// From wherever it stops, the list can be made what it was.
    #[test]
    fn every_prefix_can_be_undone((wanted, present, owners) in world(), adopt: bool, prune: bool, stop: prop::sample::Index) {
        let case = Case::new(wanted, &present, &owners, adopt, prune);
        let found = case.reconcile();
        prop_assume!(found.uid_taken.is_empty());
        let done = stop.index(found.steps.len() + 1);
        let mut kernel = case.kernel.clone();
        found.steps[..done].iter().for_each(|step| kernel.follow(step).unwrap());
        let undo = Undo::new(&case.situation(), &found);
        for step in undo.steps(&kernel.jobs) {
            prop_assert_eq!(kernel.follow(&step), Ok(()), "{:?}", step);
        }
        prop_assert_eq!(sorted(bytes(&kernel.jobs)), sorted(bytes(&case.kernel.jobs)));
        // What could be touched is in its order again.
        let ours = |standing: &Standing| !matches!(standing, Standing::Foreign(_) | Standing::Other);
        let before: Vec<_> = case.kernel.jobs.iter().zip(&found.standings).filter(|(_, s)| ours(s)).map(|(job, _)| job.clone()).collect();
        for job in &before {
            prop_assert!(is_subsequence(&seen_with(job, &before), &seen_with(job, &kernel.jobs)));
        }
    }
}
