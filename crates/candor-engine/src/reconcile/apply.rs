//! Applying a gateway file, all or nothing.
//!
//! Before the first request, the ownership record lists the jobs before and after, and which equal ones are foreign. So
//! even an apply that is killed halfway leaves only jobs that the next one recognizes.

use candor_config::plan::Plan;
use candor_config::signature::Signer;
use candor_netlink::cangw::{self, CangwError, ExactJob};
use candor_netlink::client::Client;

use super::difference::{Difference, Names};
use super::error::ReconcileError;
use super::owners::Owners;
use super::programs::Programs;
use super::target::{FileTarget, Intent, Target};
use super::{Action, Foreign, Reconciliation, Situation, Standing, Step, Undo, reconcile};
use crate::bpf::BpfError;
use crate::refusal::Refusal;
use crate::refused_program::without_refused;
use candor_userspace::notice::Notice;
use candor_userspace::owner::Owner;
use candor_userspace::run_dir::{Change, Instance, RunDir, RunDirError, Since};

/// Attempts to revert while another program changes jobs.
const UNDO_ATTEMPTS: usize = 3;

/// Result of [`apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Difference between file and kernel before the change.
    pub difference: Difference,
    /// Jobs of dead processes that were removed or adopted.
    pub leftovers: usize,
}

/// Compares a gateway file with the kernel, without changing anything.
///
/// # Errors
/// The file cannot be applied, or this user may not read the ownership records.
pub fn plan(
    plan: &Plan,
    file: &str,
    foreign: Foreign,
    notify: &mut dyn FnMut(Notice),
) -> Result<Difference, ReconcileError> {
    let mut client = Client::open().map_err(ReconcileError::Netlink)?;
    let target = FileTarget::of(&mut client, plan, Intent::Compare, notify)?;
    let run_dir = RunDir::open_applied(notify)?;
    let owner = Owner::Applied { file: file.to_owned() };
    let compared = Compared::of(&mut client, run_dir.as_ref(), &owner, &target.cangw, foreign)?;
    // Nothing is replaced or removed now.
    let programs = Programs::find(plan, &target, (run_dir.as_ref(), &owner), &mut |_notice| {})?;
    let refused_by_lists = |run_dir: &RunDir| {
        knows_foreign(run_dir, foreign)?;
        run_dir.refuse_twins(&target.all, Some(&owner))?;
        Programs::refuse(plan, &target, (run_dir, &owner))
    };
    let refusal = run_dir
        .as_ref()
        .map_or(Ok(()), refused_by_lists)
        .and_then(|()| compared.refuse(&target))
        .err()
        .map(|error| error.to_string());
    Ok(Difference { refusal, ..compared.difference(&mut client, &target, &programs)? })
}

/// Installs the jobs of a gateway file, and records who signed it. After an error the kernel is as before.
///
/// # Errors
/// The refused request, and whether everything was reverted.
pub fn apply(
    plan: &Plan,
    file: (&str, Option<&Signer>),
    foreign: Foreign,
    notify: &mut dyn FnMut(Notice),
) -> Result<Applied, ReconcileError> {
    fn program(outcome: &Result<Applied, ReconcileError>) -> Option<&BpfError> {
        let Err(ReconcileError::Undone { source, .. }) = outcome else { return None };
        if let ReconcileError::Bpf(error) = &**source { Some(error) } else { None }
    }
    without_refused(&mut plan.clone(), notify, program, |plan, notify| attempt(plan, file, foreign, notify))
}

fn attempt(
    plan: &Plan,
    (file, signer): (&str, Option<&Signer>),
    foreign: Foreign,
    notify: &mut dyn FnMut(Notice),
) -> Result<Applied, ReconcileError> {
    let mut client = Client::open().map_err(ReconcileError::Netlink)?;
    let target = FileTarget::of(&mut client, plan, Intent::Apply, notify)?;
    let mut run_dir = RunDir::open(notify)?;
    let owner = Owner::Applied { file: file.to_owned() };
    knows_foreign(&run_dir, foreign)?;
    run_dir.refuse_twins(&target.all, Some(&owner))?;
    if let Some((route, other)) = run_dir.first_circle(&target.all, Some(&owner)) {
        notify(Notice::MayCircle { route, other });
    }
    let compared = Compared::of(&mut client, Some(&run_dir), &owner, &target.cangw, foreign)?;
    Programs::refuse(plan, &target, (&run_dir, &owner))?;
    let programs = Programs::find(plan, &target, (Some(&run_dir), &owner), notify)?;
    compared.refuse(&target)?;
    let difference = compared.difference(&mut client, &target, &programs)?;
    if programs.changes > 0 {
        Programs::deaf(plan, &target).into_iter().for_each(&mut *notify);
    }
    let leftovers = run_dir.dead().iter().map(|dead| dead.kernel_jobs().count()).sum();

    let earlier = run_dir.applied().find(|instance| instance.owner == owner).cloned();
    let since = match &earlier {
        Some(earlier) if difference.is_none() => earlier.since,
        _ => Since::now().map_err(RunDirError::from)?,
    };
    let (owner, signer) = (owner.clone(), signer.cloned());
    let wanted = Instance { owner, since, signer, jobs: target.all.clone(), change: None };
    if !compared.found.steps.is_empty() || programs.changes > 0 {
        let change = compared.change(&target.cangw, earlier.as_ref());
        run_dir.keep_applied(Instance { change: Some(change), ..wanted.clone() })?;
        let carry_out = || compared.carry_out(&mut client, &target.cangw);
        if let Err(error) = programs.carry_out(&target, carry_out) {
            if !matches!(error, ReconcileError::NotUndone { .. } | ReconcileError::ProgramsBehind(_)) {
                // Everything was reverted. If the old record cannot be written, the record of the change stays, which
                // is correct for the jobs of both sides; the error of the change matters more.
                let nothing = Instance { jobs: Vec::new(), ..wanted };
                let _ = run_dir.keep_applied(earlier.unwrap_or(nothing));
            }
            return Err(error);
        }
    }
    run_dir.keep_applied(wanted)?;
    run_dir.forget_dead()?;
    Ok(Applied { difference, leftovers })
}

/// Fails if unreadable records could make foreign jobs of those to adopt or prune.
fn knows_foreign(run_dir: &RunDir, foreign: Foreign) -> Result<(), RunDirError> {
    if foreign.adopt || foreign.prune { run_dir.knows_all() } else { Ok(()) }
}

/// The kernel and the ownership records, compared with the target.
pub(super) struct Compared {
    pub(super) present: Vec<ExactJob>,
    owners: Owners,
    foreign: Foreign,
    pub(super) found: Reconciliation,
}

impl Compared {
    fn of(
        client: &mut Client,
        run_dir: Option<&RunDir>,
        owner: &Owner,
        target: &Target,
        foreign: Foreign,
    ) -> Result<Self, ReconcileError> {
        let present = match super::list(client) {
            Err(ReconcileError::CangwMissing) if target.wanted.is_empty() => Vec::new(),
            listed => listed?,
        };
        let owners = Owners::of(run_dir, Some(owner), &present);
        Ok(Self::with(present, owners, foreign, target))
    }

    pub(super) fn with(present: Vec<ExactJob>, owners: Owners, foreign: Foreign, target: &Target) -> Self {
        let mut compared = Self { present, owners, foreign, found: Reconciliation::default() };
        compared.found = reconcile(&compared.situation(target));
        compared
    }

    fn situation<'a>(&'a self, target: &'a Target) -> Situation<'a> {
        let (present, owned, others) = (&self.present, &self.owners.owned, &self.owners.others);
        Situation { wanted: &target.wanted, present, owned, others, foreign: self.foreign }
    }

    fn difference(
        &self,
        client: &mut Client,
        FileTarget { all, cangw, .. }: &FileTarget,
        programs: &Programs,
    ) -> Result<Difference, ReconcileError> {
        let names = Names::read(client)?;
        let lines = programs.lines(all, &names);
        let difference = Difference::new(cangw, &self.situation(cangw), &self.found, &self.owners, &names);
        Ok(difference.with_programs(all, lines, programs.changes))
    }

    /// Refuses changes that would duplicate frames or change foreign jobs.
    fn refuse(&self, FileTarget { cangw: target, copying, .. }: &FileTarget) -> Result<(), ReconcileError> {
        self.uids_are_free(target)?;
        let twin = |standing: &Standing| if let Standing::Foreign(twin) = standing { *twin } else { None };
        let is_new = |wanted: &usize| matches!(self.found.actions[*wanted], Action::Added);
        let mut doubled: Vec<_> = self.found.standings.iter().filter_map(twin).filter(is_new).collect();
        candor_core::order::sort(&mut doubled);
        let mut routes: Vec<_> = doubled.into_iter().map(|wanted| target.jobs[wanted].route.clone()).collect();
        let foreign = || {
            let all = self.present.iter().zip(&self.found.standings);
            all.filter(|(_, standing)| matches!(standing, Standing::Foreign(_))).map(|(job, _)| job.job())
        };
        let in_programs = copying.iter().filter(|owned| foreign().any(|job| job.is_same_job(owned.job.job())));
        routes.extend(in_programs.map(|owned| owned.route.clone()));
        routes.dedup();
        if routes.is_empty() { Ok(()) } else { Err(ReconcileError::WouldDouble { routes }) }
    }

    /// can-gw would change the foreign job with this uid.
    pub(super) fn uids_are_free(&self, target: &Target) -> Result<(), ReconcileError> {
        let Some(&(wanted, holder)) = self.found.uid_taken.first() else { return Ok(()) };
        let uid = target.wanted[wanted].job().uid;
        let by = self.owners.route(&self.present[holder]).map(|(_, owner)| owner.clone());
        Err(ReconcileError::UidTaken { route: target.jobs[wanted].route.clone(), uid, by })
    }

    /// Executes the steps; after an error the jobs are as before.
    pub(super) fn carry_out(&self, client: &mut Client, target: &Target) -> Result<(), ReconcileError> {
        if self.found.steps.is_empty() {
            return Ok(());
        }
        let mut undo = Undo::new(&self.situation(target), &self.found);
        let outcome = follow(client, &self.found.steps, target).and_then(|()| is_as_wanted(client, target, &undo));
        outcome.map_err(|error| undone(client, &mut undo, error))
    }

    /// The ownership record during the change.
    fn change(&self, target: &Target, earlier: Option<&Instance>) -> Change {
        let undo = Undo::new(&self.situation(target), &self.found);
        let mine = |job: &&ExactJob| {
            let ours = self.owners.mine.iter().map(|owned| &owned.job).chain(&target.wanted);
            ours.into_iter().any(|own| own.is_same_job(job))
        };
        let strangers = undo.strangers().iter().filter(mine).cloned().collect();
        let in_programs = earlier.into_iter().flat_map(Instance::all_jobs).filter(|owned| owned.is_bpf());
        Change { before: self.owners.mine.iter().chain(in_programs).cloned().collect(), strangers }
    }
}

fn follow(client: &mut Client, steps: &[Step], target: &Target) -> Result<(), ReconcileError> {
    for step in steps {
        follow_one(client, step).map_err(|(job, source)| {
            let route = target.jobs.iter().find(|owned| owned.job.is_same_job(job)).map(|owned| owned.route.clone());
            match route {
                Some(route) => ReconcileError::Install { route, source: Refusal::explain(client, job.job(), source) },
                None => ReconcileError::Delete(source),
            }
        })?;
    }
    Ok(())
}

fn follow_one<'a>(client: &mut Client, step: &'a Step) -> Result<(), (&'a ExactJob, CangwError)> {
    let (job, outcome) = match step {
        Step::Add(job) | Step::Change(job) => (job, cangw::add_exact(client, job)),
        Step::Delete(job) => match cangw::delete_exact(client, job) {
            // Already deleted.
            Err(CangwError::NoSuchJob | CangwError::NoSuchInterface) => (job, Ok(())),
            outcome => (job, outcome),
        },
    };
    outcome.map_err(|error| (job, error))
}

/// Verifies the result: other programs may have changed jobs without notification.
fn is_as_wanted(client: &mut Client, target: &Target, undo: &Undo) -> Result<(), ReconcileError> {
    let present = super::list(client)?;
    let owned = undo.ours(&present);
    let (others, foreign) = (undo.strangers(), Foreign::default());
    let situation = Situation { wanted: &target.wanted, present: &present, owned: &owned, others, foreign };
    if reconcile(&situation).steps.is_empty() { Ok(()) } else { Err(ReconcileError::Disturbed) }
}

/// Reverts a failed change, and reports the outcome.
fn undone(client: &mut Client, undo: &mut Undo, error: ReconcileError) -> ReconcileError {
    let (mut created, mut lost) = (0, 0);
    for _attempt in 0..UNDO_ATTEMPTS {
        let steps = match super::list(client) {
            Ok(present) => undo.steps(&present),
            Err(why) => return ReconcileError::NotUndone { source: Box::new(error), why: why.to_string() },
        };
        if steps.is_empty() {
            return ReconcileError::Undone { source: Box::new(error), created, lost };
        }
        for step in &steps {
            match follow_one(client, step) {
                Ok(()) => created += usize::from(matches!(step, Step::Add(_))),
                // The interface disappeared with the job.
                Err((job, CangwError::NoSuchInterface)) => {
                    undo.give_up(job);
                    lost += 1;
                }
                Err((_, why)) => return ReconcileError::NotUndone { source: Box::new(error), why: why.to_string() },
            }
        }
    }
    ReconcileError::NotUndone { source: Box::new(error), why: ReconcileError::Disturbed.to_string() }
}
