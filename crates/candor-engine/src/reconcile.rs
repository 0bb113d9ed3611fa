//! Changes the kernel's jobs to those of a gateway file, with minimal changes.
//!
//! ```text
//!  Plan ─target─▶ wanted jobs ─┐
//!  kernel ─────▶ present jobs ─┼─ reconcile ─▶ steps ─ apply ─▶ kernel     (apply.rs, down.rs)
//!  run directory ─▶ owners ────┘        └────▶ what a person reads         (difference.rs, status.rs)
//! ```
//!
//! can-gw inserts every new job at the head of its list, and order matters only among jobs that can see the same frame:
//! those of one source, receive list and format, and in the list of single identifiers those of one identifier. In each
//! such group, the longest suffix of the wanted order that is already installed stays; the jobs before it are deleted
//! and added again, last first. A job with a uid whose modifications differ is changed in place.
//!
//! This file and `parts.rs` are pure; `tests.rs` compares them with a fake kernel.

mod apply;
mod difference;
mod down;
mod error;
mod exchange;
mod owners;
mod parts;
mod programs;
mod status;
mod target;
mod undo;

use std::path::Path;

use candor_netlink::cangw::{self, CangwError, ExactJob};
use candor_netlink::client::Client;

pub use apply::{Applied, apply, plan};
pub use difference::{Difference, Line, LineKind};
pub use down::{Down, DownCount, abandon, down};
pub use error::{InUserSpace, ReconcileError};
pub(crate) use exchange::{Exchange, Mine};
pub use status::{End, JobState, LeftoverProgram, OwnerState, Status, status};
use undo::Undo;

/// The kernel's jobs; an error without can-gw, where the list is empty or contains other routes.
fn list(client: &mut Client) -> Result<Vec<ExactJob>, ReconcileError> {
    match cangw::dump_exact(client) {
        Ok(present) if present.is_empty() && !has_cangw() => Err(ReconcileError::CangwMissing),
        Ok(present) => Ok(present),
        Err(CangwError::ModuleMissing) => Err(ReconcileError::CangwMissing),
        Err(error) => Err(ReconcileError::List(error)),
    }
}

/// True if can-gw is loaded or built in, or if the kernel does not export its modules.
fn has_cangw() -> bool {
    let modules = Path::new("/sys/module");
    modules.join("can_gw").exists() || !modules.exists()
}

/// Treatment of jobs that candor did not install.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foreign {
    /// Adopt those that equal a wanted job.
    pub adopt: bool,
    /// Remove the others. Wanted ones would be added again at once, so they are adopted.
    pub prune: bool,
}

/// Input of [`reconcile`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// In the order in which a frame meets them.
    pub(crate) wanted: &'a [ExactJob],
    /// The kernel's list, newest first.
    pub(crate) present: &'a [ExactJob],
    /// Jobs that are ours if they are installed.
    pub(crate) owned: &'a [ExactJob],
    /// Jobs of other candors, which are left alone.
    pub(crate) others: &'a [ExactJob],
    pub(crate) foreign: Foreign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Adds a job at the head of the list.
    Add(ExactJob),
    /// Replaces modifications and checksums of the job with this uid.
    Change(ExactJob),
    /// Deletes the first job that the kernel considers equal.
    Delete(ExactJob),
}

/// Treatment of a wanted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Not installed: added.
    Added,
    /// Installed with other modifications, at this position in the kernel's list: changed in place.
    Changed(usize),
    /// Installed at this position: kept.
    Kept(usize),
    /// Installed at the wrong position: deleted and added again.
    Moved(usize),
}

/// Treatment of an installed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not candor's; with the wanted job that it equals.
    Foreign(Option<usize>),
    /// It belongs to another candor process or file.
    Other,
    /// Ours: stays as this wanted job.
    Ours { wanted: usize, adopted: bool },
    /// Foreign: removed.
    Pruned,
    /// Ours: no longer wanted, removed.
    Removed,
    /// Ours: deleted and added again as this wanted job.
    Replaced { wanted: usize, adopted: bool },
}

/// The requests, and the treatment of every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    pub(crate) steps: Vec<Step>,
    /// Indexed by wanted job.
    pub(crate) actions: Vec<Action>,
    /// Indexed by present job.
    pub(crate) standings: Vec<Standing>,
    /// Wanted jobs whose uid a foreign job has, with its position: adding them would change that job.
    pub(crate) uid_taken: Vec<(usize, usize)>,
}

/// Compares wanted with installed jobs.
pub(crate) fn reconcile(situation: &Situation<'_>) -> Reconciliation {
    let Situation { wanted, present, .. } = *situation;
    let mut found = Reconciliation {
        steps: Vec::new(),
        actions: vec![Action::Added; wanted.len()],
        standings: vec![Standing::Foreign(None); present.len()],
        uid_taken: Vec::new(),
    };
    let (mut changes, mut rest) = (Vec::new(), Vec::new());
    for part in parts::split(situation) {
        let kept = part.longest_end();
        part.name(&kept, &mut found);
        let is_going = |standing| matches!(standing, Standing::Pruned | Standing::Removed | Standing::Replaced { .. });
        for &at in part.present.iter().filter(|&&at| is_going(found.standings[at])) {
            let delete = Step::Delete(present[at].clone());
            // First, so that the uid is free before another group needs it.
            if present[at].job().uid != 0 { found.steps.push(delete) } else { rest.push(delete) }
        }
        let (to_add, stays) = part.wanted.split_at(part.wanted.len() - kept.len());
        rest.extend(to_add.iter().rev().map(|&at| Step::Add(wanted[at].clone())));
        let changed = stays.iter().zip(&kept).filter(|&(&at, to)| !wanted[at].is_same_job(&present[to.at]));
        changes.extend(changed.map(|(&at, _)| Step::Change(wanted[at].clone())));
    }
    found.steps.extend(rest);
    found.steps.extend(changes);
    found.uid_taken = uid_taken(situation, &found);
    found
}

/// Wanted jobs to add whose uid a remaining job has.
fn uid_taken(situation: &Situation<'_>, found: &Reconciliation) -> Vec<(usize, usize)> {
    let is_added = |at: &usize| matches!(found.actions[*at], Action::Added | Action::Moved(_));
    let stays = |at: &usize| matches!(found.standings[*at], Standing::Foreign(_) | Standing::Other);
    let with_uid = (0..situation.wanted.len()).filter(is_added).filter(|&at| situation.wanted[at].job().uid != 0);
    let holder = |uid| {
        let mut stay = (0..situation.present.len()).filter(stays);
        stay.find(|&at| situation.present[at].job().uid == uid)
    };
    with_uid.filter_map(|at| Some((at, holder(situation.wanted[at].job().uid)?))).collect()
}

#[cfg(test)]
mod tests;
