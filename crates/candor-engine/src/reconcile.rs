//! From the jobs that the kernel has to those that a gateway file wants, with as little change as there can be.
//!
//! ```text
//!  Plan ─target─▶ wanted jobs ─┐
//!  kernel ─────▶ present jobs ─┼─ reconcile ─▶ steps ─ apply ─▶ kernel     (apply.rs, down.rs)
//!  run directory ─▶ owners ────┘        └────▶ what a person reads         (difference.rs, status.rs)
//! ```
//!
//! can-gw puts every new job at the head of its list, and order matters only among the jobs that can see the same frame
//! one after the other: those of one source, one receive list and one format, and in the list of single identifiers those
//! of one identifier. Of each such group the longest end of the wanted order stays that is there already; what is before
//! it is taken out and added again, last first. A job with a uid whose modifications differ is changed where it is.
//!
//! This file and `parts.rs` are pure. `tests.rs` holds them to a kernel that is played.

mod apply;
mod difference;
mod down;
mod error;
mod exchange;
mod owners;
mod parts;
mod status;
mod target;
mod undo;

use std::path::Path;

use candor_netlink::cangw::{self, CangwError, ExactJob};
use candor_netlink::client::Client;

pub use apply::{Applied, apply, plan};
pub use difference::{Difference, Line, LineKind};
pub use down::{Down, DownCount, down};
pub use error::{InUserSpace, ReconcileError};
pub(crate) use exchange::{Exchange, Mine};
pub use status::{End, JobState, OwnerState, Status, status};
use undo::Undo;

/// The kernel's jobs; an error if it has no can-gw, where the list is empty or one of something else.
fn list(client: &mut Client) -> Result<Vec<ExactJob>, ReconcileError> {
    match cangw::dump_exact(client) {
        Ok(present) if present.is_empty() && !has_cangw() => Err(ReconcileError::CangwMissing),
        Ok(present) => Ok(present),
        Err(CangwError::ModuleMissing) => Err(ReconcileError::CangwMissing),
        Err(error) => Err(ReconcileError::List(error)),
    }
}

/// Whether can-gw is there, as a module or built in; assumed where the kernel does not show its modules.
fn has_cangw() -> bool {
    let modules = Path::new("/sys/module");
    modules.join("can_gw").exists() || !modules.exists()
}

/// What becomes of jobs that candor did not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Foreign {
    /// Those that are equal to wanted ones become candor's.
    pub adopt: bool,
    /// Those that stay foreign are removed. What is wanted would come right back, so it is adopted.
    pub prune: bool,
}

/// All that decides what is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    /// In the order in which frames are to meet them.
    pub(crate) wanted: &'a [ExactJob],
    /// What the kernel lists, newest first.
    pub(crate) present: &'a [ExactJob],
    /// Jobs that are ours, if they are there.
    pub(crate) owned: &'a [ExactJob],
    /// Jobs of other candors, which are never touched.
    pub(crate) others: &'a [ExactJob],
    pub(crate) foreign: Foreign,
}

/// One request to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Adds a job at the head of the list.
    Add(ExactJob),
    /// Gives the job with this uid other modifications and checksums.
    Change(ExactJob),
    /// Deletes the first job that the kernel takes for this one.
    Delete(ExactJob),
}

/// How a wanted job comes to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is added.
    Added,
    /// It is there, with other modifications; the position in the kernel's list.
    Changed(usize),
    /// It is there.
    Kept(usize),
    /// It is there at the wrong place, so it is taken out and added again.
    Moved(usize),
}

/// What a job of the kernel's list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody's of candor; with the wanted job that it is equal to.
    Foreign(Option<usize>),
    /// Another candor's.
    Other,
    /// Ours, and it stays; with the wanted job that it is.
    Ours { wanted: usize, adopted: bool },
    /// Foreign, and it is removed.
    Pruned,
    /// Ours, and not wanted any more.
    Removed,
    /// Ours, and it is added again as this wanted job.
    Replaced { wanted: usize, adopted: bool },
}

/// What is to be done, and what it means for every job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    pub(crate) steps: Vec<Step>,
    /// By wanted job.
    pub(crate) actions: Vec<Action>,
    /// By present job.
    pub(crate) standings: Vec<Standing>,
    /// Wanted jobs whose uid a job has that is not ours: adding them would change that one. With its position.
    pub(crate) uid_taken: Vec<(usize, usize)>,
}

/// Compares what is wanted with what is there.
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
            // A uid is free again before another group wants it.
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

/// Wanted jobs that are to be added although a job that stays has their uid.
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
