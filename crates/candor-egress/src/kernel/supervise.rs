//! Supervises trees while a process runs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::canonical::{Difference, differences};
use crate::control_group::{ControlGroup, GroupName};
use crate::filter::Classifier;
use crate::netlink::TcError;
use crate::tree::Tree;
use candor_core::causes::in_full;

use super::apply::{Applied, ApplyError, Target, apply};
use super::control_groups::FindError;
use super::machine::{Kernel, Machine, locate};

/// After more repairs within [`A_WHILE`], another program keeps changing the tree.
const MOST_MENDS: usize = 5;
const A_WHILE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Keeper<M> {
    machine: M,
    kept: Vec<Kept>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mend {
    No,
    Yes,
}

/// A change of an interface since the last look, reported once.
#[derive(Debug)]
pub struct News {
    pub interface: String,
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The tree matches again, without a change by this [`Keeper`].
    AsWanted,
    /// The tree in the kernel differs from the file.
    Drifted(Vec<Difference>),
    /// Its tree cannot be read or changed, or a control group cannot be looked up; with all causes.
    Failed(String),
    /// Control groups exist again under the same names, and their frames are matched again.
    Followed(Vec<GroupName>),
    /// Another program keeps changing the tree, so repairs pause for a minute.
    Fought,
    Gone,
    /// These control groups do not exist, so their filters match no frame.
    NoGroups(Vec<GroupName>),
    /// The tree differed and was restored.
    PutBack {
        /// True if a new interface has this name.
        is_new: bool,
        differences: Vec<Difference>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Group(#[from] FindError),
    #[error("Interface {0} not found, nothing was changed; ip -br link lists the interfaces")]
    Missing(String),
    #[error("Cannot list the network interfaces, nothing was changed")]
    Unreadable(#[from] TcError),
}

#[derive(Debug)]
struct Kept {
    name: String,
    /// With the control groups of the last look.
    wanted: Tree,
    /// Control groups that did not exist then.
    missing: Vec<GroupName>,
    /// To be restored at the end.
    before: Tree,
    number: Option<u32>,
    /// The last state that was reported.
    state: Event,
    mended: Vec<Instant>,
}

impl<M: Machine> Keeper<M> {
    /// Installs the trees on all interfaces, or on none.
    pub fn apply(machine: M, wanted: Vec<(String, Tree)>) -> Result<(Self, Vec<Applied>), StartError> {
        let mut keeper = Self { machine, kept: Vec::new() };
        let applied = keeper.change(wanted)?;
        Ok((keeper, applied))
    }

    /// Reports differences without restoring the trees.
    pub fn watch(machine: M, wanted: Vec<(String, Tree)>) -> Self {
        // The first look reports differences.
        let kept = wanted.into_iter().map(|(name, wanted)| Kept::new(name, wanted, Tree::default(), None));
        Self { machine, kept: kept.collect() }
    }

    /// Replaces the trees, all or none. An interface no longer listed gets its previous tree back.
    ///
    /// # Errors
    /// [`StartError`]; then all is as it was.
    pub fn change(&mut self, wanted: Vec<(String, Tree)>) -> Result<Vec<Applied>, StartError> {
        let is_wanted = |name: &str| wanted.iter().any(|(other, _)| other == name);
        let mut targets = Vec::new();
        for kept in self.kept.iter().filter(|kept| !is_wanted(&kept.name)) {
            targets.extend(self.machine.open(&kept.name)?.map(|(_, kernel)| Target {
                name: kept.name.clone(),
                kernel,
                wanted: kept.before.clone(),
            }));
        }
        let given_back = targets.len();
        let mut numbers = Vec::new();
        let mut wanted = wanted;
        for (name, wanted) in &mut wanted {
            // Missing groups may appear; the first look reports them.
            locate(&mut self.machine, wanted)?;
            let opened = self.machine.open(name)?;
            let (number, kernel) = opened.ok_or_else(|| StartError::Missing(name.clone()))?;
            numbers.push(number);
            targets.push(Target { name: name.clone(), kernel, wanted: wanted.clone() });
        }
        let applied = apply(&mut targets)?;
        let earlier = std::mem::take(&mut self.kept);
        for (((name, wanted), number), applied) in wanted.into_iter().zip(numbers).zip(&applied[given_back..]) {
            let before = earlier.iter().find(|kept| kept.name == name && kept.number == Some(number));
            let before = before.map_or(&applied.before, |kept| &kept.before);
            self.kept.push(Kept::new(name, wanted, before.clone(), Some(number)));
        }
        Ok(applied)
    }

    pub const fn machine(&self) -> &M {
        &self.machine
    }

    pub fn look(&mut self, mend: Mend, now: Instant) -> Vec<News> {
        let Self { machine, kept } = self;
        kept.iter_mut().flat_map(|kept| kept.look(machine, mend, now)).collect()
    }

    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.kept.iter().any(|kept| kept.wanted.has_programs())
    }

    /// True if control groups have changed since the last look, so that another one is due. Does not read
    /// interfaces.
    pub fn have_groups_moved(&mut self) -> bool {
        let Self { machine, kept } = self;
        let mut groups = kept.iter().flat_map(|kept| groups(&kept.wanted));
        groups.any(|group| {
            // The next look reports errors.
            let id = group.name.as_ref().map(|name| machine.group_id(name));
            id.is_some_and(|id| id.is_ok_and(|id| id != group.id))
        })
    }

    /// True if every interface matched its tree at the last check.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.kept.iter().all(|kept| kept.state == Event::AsWanted)
    }

    /// Restores the previous trees of interfaces that still have the wanted one. Others have been changed by
    /// another program.
    ///
    /// # Errors
    /// [`StartError`]; then all is as it was.
    pub fn stop(mut self) -> Result<Vec<Applied>, StartError> {
        let mut targets = Vec::new();
        for kept in self.kept {
            let Some((number, mut kernel)) = self.machine.open(&kept.name)? else { continue };
            let found = kernel.found()?;
            if differences(&kept.wanted, &found).is_empty() {
                let before = if kept.number == Some(number) { kept.before } else { Tree::default() };
                targets.push(Target { name: kept.name, kernel, wanted: before });
            }
        }
        Ok(apply(&mut targets)?)
    }
}

impl Kept {
    const fn new(name: String, wanted: Tree, before: Tree, number: Option<u32>) -> Self {
        Self { name, wanted, missing: Vec::new(), before, number, state: Event::AsWanted, mended: Vec::new() }
    }

    fn look<M: Machine>(&mut self, machine: &mut M, mend: Mend, now: Instant) -> Vec<News> {
        let before = self.wanted.clone();
        let (event, missing) = match locate(machine, &mut self.wanted) {
            Ok(missing) => {
                let seen = self.seen(machine, mend, &before, now);
                (seen.unwrap_or_else(|why| Some(Event::Failed(why))), self.newly_missing(missing))
            }
            Err(error) => {
                self.wanted = before;
                (Some(Event::Failed(in_full(&error))), None)
            }
        };
        let event = event.filter(|event| self.enter(event));
        event.into_iter().chain(missing).map(|event| News { interface: self.name.clone(), event }).collect()
    }

    /// Groups that existed at the last check, or have not been reported.
    fn newly_missing(&mut self, missing: Vec<GroupName>) -> Option<Event> {
        let groups: Vec<_> = missing.iter().filter(|name| !self.missing.contains(name)).cloned().collect();
        self.missing = missing;
        (!groups.is_empty()).then_some(Event::NoGroups(groups))
    }

    fn seen<M: Machine>(
        &mut self,
        machine: &mut M,
        mend: Mend,
        before: &Tree,
        now: Instant,
    ) -> Result<Option<Event>, String> {
        let opened = machine.open(&self.name).map_err(|error| in_full(&error))?;
        let Some((number, mut kernel)) = opened else { return Ok(Some(Event::Gone)) };
        let found = kernel.found().map_err(|error| in_full(&error))?;
        let was_as_wanted = differences(before, &found).is_empty();
        let differences = differences(&self.wanted, &found);
        if differences.is_empty() {
            return Ok(Some(Event::AsWanted));
        }
        if mend == Mend::No {
            return Ok(Some(Event::Drifted(differences)));
        }
        self.mended.retain(|mended| now.saturating_duration_since(*mended) < A_WHILE);
        // Nothing but the control groups has changed: a service has been restarted.
        let is_followed = *before != self.wanted && was_as_wanted;
        if self.mended.len() >= MOST_MENDS && !is_followed {
            return Ok(Some(Event::Fought));
        }
        let target = Target { name: self.name.clone(), kernel, wanted: self.wanted.clone() };
        apply(&mut [target]).map_err(|error| in_full(&error))?;
        if is_followed {
            let groups = moved(before, &self.wanted);
            if groups.is_empty() {
                self.state = Event::AsWanted;
                return Ok(None);
            }
            return Ok(Some(Event::Followed(groups)));
        }
        self.mended.push(now);
        let is_new = self.number.replace(number).is_some_and(|before| before != number);
        if is_new {
            // What the other interface had went with it.
            self.before = found;
        }
        Ok(Some(Event::PutBack { is_new, differences }))
    }

    /// Notes the state that an event leaves; `false` if it was reported before.
    fn enter(&mut self, event: &Event) -> bool {
        let state = match event {
            Event::Followed(_) | Event::PutBack { .. } => &Event::AsWanted,
            state => state,
        };
        let is_news = event != state || self.state != *state;
        self.state = state.clone();
        is_news
    }
}

/// The existing groups of a tree that have changed.
fn moved(before: &Tree, now: &Tree) -> Vec<GroupName> {
    let ids = |tree| groups(tree).filter_map(|group| Some((group.name.clone()?, group.id?)));
    let before: BTreeMap<_, _> = candor_core::order::map(ids(before));
    let now: BTreeMap<_, _> = candor_core::order::map(ids(now));
    now.into_iter().filter(|(name, id)| before.get(name) != Some(id)).map(|(name, _)| name).collect()
}

fn groups(tree: &Tree) -> impl Iterator<Item = &ControlGroup> {
    let of_filters = tree.filters.iter().filter_map(|filter| match &filter.classifier {
        Classifier::ControlGroups(groups) => Some(groups),
        _ => None,
    });
    of_filters.flatten()
}
