//! A group of jobs whose order matters.

use std::collections::BTreeMap;

use candor_netlink::cangw::ExactJob;

use super::{Action, Reconciliation, Situation, Standing};
use candor_userspace::job_identity::{Counts, Group, Identity};

/// A group, as positions in the lists of the situation.
pub(super) struct Part<'a> {
    situation: &'a Situation<'a>,
    pub(super) wanted: Vec<usize>,
    pub(super) present: Vec<usize>,
    wanted_identities: Vec<Identity<'a>>,
    present_identities: Vec<Identity<'a>>,
    owned: Vec<usize>,
    others: Vec<usize>,
    shares: Shares,
}

/// Number of equal jobs by owner: equal jobs are indistinguishable.
#[derive(Default)]
struct Shares {
    present: Counts,
    /// Ours, including adopted ones.
    ours: Counts,
    owned: Counts,
    others: Counts,
}

/// A job that is in the kernel before and after the change.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// Position in the kernel's list.
    pub(super) at: usize,
    /// True if it belonged to no candor before.
    adopted: bool,
}

/// The groups in file order, then those without a wanted job.
pub(super) fn split<'a>(situation: &'a Situation<'a>) -> Vec<Part<'a>> {
    let mut parts = Parts { situation, by_group: BTreeMap::new() };
    for (at, job) in situation.wanted.iter().enumerate() {
        let part = parts.of(job);
        part.wanted.push(at);
        part.wanted_identities.push(Identity::of(job));
    }
    for (at, job) in situation.present.iter().enumerate() {
        let part = parts.of(job);
        part.present.push(at);
        part.present_identities.push(Identity::of(job));
    }
    situation.owned.iter().enumerate().for_each(|(at, job)| parts.of(job).owned.push(at));
    situation.others.iter().enumerate().for_each(|(at, job)| parts.of(job).others.push(at));
    let mut parts: Vec<_> = parts.by_group.into_values().collect();
    parts.iter_mut().for_each(Part::share_out);
    candor_core::order::sort_by_key(&mut parts, |part| {
        (part.wanted.first().copied().unwrap_or(usize::MAX), part.present.first().copied())
    });
    parts
}

struct Parts<'a> {
    situation: &'a Situation<'a>,
    by_group: BTreeMap<Group, Part<'a>>,
}

impl<'a> Parts<'a> {
    fn of(&mut self, job: &ExactJob) -> &mut Part<'a> {
        self.by_group.entry(Group::of(job)).or_insert_with(|| Part::empty(self.situation))
    }
}

impl<'a> Part<'a> {
    fn empty(situation: &'a Situation<'a>) -> Self {
        let (wanted, present, owned, others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (wanted_identities, present_identities, shares) = (Vec::new(), Vec::new(), Shares::default());
        Self { situation, wanted, present, wanted_identities, present_identities, owned, others, shares }
    }

    fn share_out(&mut self) {
        let Situation { wanted, present, owned, others, foreign } = *self.situation;
        let all = Counts::of(&self.present_identities);
        let others = Counts::of_jobs(self.others.iter().map(|&at| &others[at])).at_most(&all);
        let owned = Counts::of_jobs(self.owned.iter().map(|&at| &owned[at])).at_most(&all.without(&others));
        let mut ours = owned.clone();
        if foreign.adopt || foreign.prune {
            // Compares modifications too: with the same uid they may differ.
            let equal = |&&at: &&usize| self.present.iter().any(|&other| wanted[at].is_same_job(&present[other]));
            let equal = Counts::of_jobs(self.wanted.iter().filter(equal).map(|&at| &wanted[at]));
            ours.add(&equal.without(&owned).at_most(&all.without(&others).without(&owned)));
        }
        self.shares = Shares { present: all, ours, owned, others };
    }

    /// The longest suffix of the wanted order that can stay, as positions.
    pub(super) fn longest_end(&self) -> Vec<Kept> {
        let mut left = self.shares.ours.clone();
        let mut len = 0;
        let mut end = self.present.len();
        for identity in self.wanted_identities.iter().rev() {
            let found = self.present_identities[..end].iter().rposition(|other| other == identity);
            let Some(found) = found.filter(|_| left.take(identity)) else { break };
            end = found;
            len += 1;
        }
        // The kernel deletes the newest of equal jobs, which is not always the one in the way.
        (0..=len).rev().find_map(|len| self.places(len)).expect("nothing at all can always stay")
    }

    /// Positions of the last `len` wanted jobs after all others of ours are deleted; `None` if not in this order.
    fn places(&self, len: usize) -> Option<Vec<Kept>> {
        let stays = &self.wanted_identities[self.wanted.len() - len..];
        let mut to_delete = self.to_delete(stays);
        let remaining: Vec<_> =
            (0..self.present.len()).filter(|&at| !to_delete.take(&self.present_identities[at])).collect();
        let mut owned = self.shares.owned.clone();
        let mut kept = Vec::new();
        let mut end = remaining.len();
        for identity in stays.iter().rev() {
            end = remaining[..end].iter().rposition(|&at| self.present_identities[at] == *identity)?;
            kept.push(Kept { at: self.present[remaining[end]], adopted: !owned.take(identity) });
        }
        kept.reverse();
        Some(kept)
    }

    /// Jobs to delete if only these wanted jobs stay.
    fn to_delete(&self, stays: &[Identity<'_>]) -> Counts {
        let Shares { present, ours, others, .. } = &self.shares;
        let stays = Counts::of(stays);
        if self.situation.foreign.prune { present.without(others).without(&stays) } else { ours.without(&stays) }
    }

    /// Sets actions and standings of the group.
    pub(super) fn name(&self, kept: &[Kept], found: &mut Reconciliation) {
        let Situation { wanted, present, .. } = *self.situation;
        let added = self.wanted.len() - kept.len();
        for (&at, &Kept { at: to, adopted }) in self.wanted[added..].iter().zip(kept) {
            let same = wanted[at].is_same_job(&present[to]);
            found.actions[at] = if same { Action::Kept(to) } else { Action::Changed(to) };
            found.standings[to] = Standing::Ours { wanted: at, adopted };
        }
        let stays = &self.wanted_identities[added..];
        let (mut to_delete, mut others) = (self.to_delete(stays), self.shares.others.clone());
        let stays = Counts::of(stays);
        let (mut ours, mut owned) = (self.shares.ours.without(&stays), self.shares.owned.without(&stays));
        for (&at, identity) in self.present.iter().zip(&self.present_identities) {
            if matches!(found.standings[at], Standing::Ours { .. }) {
                continue;
            }
            found.standings[at] = if to_delete.take(identity) {
                let again = (0..added).filter(|&wanted| self.wanted_identities[wanted] == *identity);
                let again = again.map(|at| self.wanted[at]).find(|&wanted| found.actions[wanted] == Action::Added);
                match again.filter(|_| ours.take(identity)) {
                    Some(wanted) => {
                        found.actions[wanted] = Action::Moved(at);
                        Standing::Replaced { wanted, adopted: !owned.take(identity) }
                    }
                    None if owned.take(identity) => Standing::Removed,
                    None => Standing::Pruned,
                }
            } else if others.take(identity) {
                Standing::Other
            } else {
                // Also one that differs only in unused bytes.
                let does_the_same = |&one: &usize| wanted[one].job().is_same_job(present[at].job());
                Standing::Foreign(self.wanted.iter().copied().find(does_the_same))
            };
        }
    }
}
