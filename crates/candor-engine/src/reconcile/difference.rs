//! What a person reads of a comparison: one line for each job.

use std::collections::BTreeMap;

use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::CangwJob;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::error::ReconcileError;
use super::owners::Owners;
use super::target::Target;
use super::{Action, Reconciliation, Situation, Standing};
use crate::owner::Owner;
use crate::preflight::InterfaceError;

/// A gateway file against the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The jobs of the file in its order, then the others as the kernel lists them, newest first.
    pub lines: Vec<Line>,
    /// Requests to the kernel that lead from one to the other.
    pub steps: usize,
    /// Why `candor apply` would not begin, if so.
    pub refusal: Option<String>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What becomes of it.
    pub kind: LineKind,
    /// The route that it belongs to, if any is known.
    pub route: Option<String>,
    /// The interface that frames come from, by its name of now.
    pub from: String,
    /// The interface that they go to.
    pub to: String,
    /// The job, with what it has counted if it is there.
    pub job: CangwJob,
}

/// What becomes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// It is wanted and not there.
    Add,
    /// It is there and wanted, and it becomes candor's.
    Adopt,
    /// Its modifications or checksums are exchanged where it is; its counters go on.
    Change,
    /// It is not candor's, and it stays.
    Foreign {
        /// Whether it does the same as a wanted job, so that frames are forwarded twice.
        duplicate: bool,
    },
    /// It is there as it is wanted.
    Keep,
    /// It is deleted and added again, because it stands at the wrong place; its counters begin anew.
    Move {
        /// Whether it was not candor's.
        adopted: bool,
    },
    /// It is another candor's.
    Other(Owner),
    /// It is not candor's, and it is removed.
    Prune,
    /// It is candor's and not wanted any more.
    Remove,
}

impl Difference {
    /// Whether anything is to be done.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.steps == 0 && !self.lines.iter().any(|line| line.kind == LineKind::Adopt)
    }

    pub(super) fn new(
        target: &Target,
        situation: &Situation<'_>,
        found: &Reconciliation,
        owners: &Owners,
        names: &Names,
    ) -> Self {
        let wanted = target.jobs.iter().zip(&found.actions).map(|(owned, action)| {
            let kind = kind_of_wanted(*action, &found.standings);
            let counted = match *action {
                Action::Kept(at) | Action::Changed(at) => situation.present[at].job().counters,
                Action::Added | Action::Moved(_) => owned.job.job().counters,
            };
            let job = CangwJob { counters: counted, ..*owned.job.job() };
            names.line(kind, Some(owned.route.clone()), job)
        });
        let present = situation.present.iter().zip(&found.standings).filter_map(|(exact, standing)| {
            let known = owners.route(exact);
            let route = || known.map(|(route, _)| route.clone());
            let (kind, route) = match *standing {
                Standing::Ours { .. } | Standing::Replaced { .. } => return None,
                Standing::Removed => (LineKind::Remove, route()),
                Standing::Pruned => (LineKind::Prune, None),
                Standing::Other => (known.map_or(LineKind::Foreign { duplicate: false }, other), route()),
                Standing::Foreign(twin) => {
                    let of_twin = twin.map(|wanted| target.jobs[wanted].route.clone());
                    (LineKind::Foreign { duplicate: twin.is_some() }, of_twin)
                }
            };
            Some(names.line(kind, route, *exact.job()))
        });
        Self { lines: wanted.chain(present).collect(), steps: found.steps.len(), refusal: None }
    }
}

fn other((_, owner): &(String, Owner)) -> LineKind {
    LineKind::Other(owner.clone())
}

fn kind_of_wanted(action: Action, standings: &[Standing]) -> LineKind {
    match action {
        Action::Added => LineKind::Add,
        Action::Changed(_) => LineKind::Change,
        Action::Kept(at) if matches!(standings[at], Standing::Ours { adopted: true, .. }) => LineKind::Adopt,
        Action::Kept(_) => LineKind::Keep,
        Action::Moved(at) => {
            LineKind::Move { adopted: matches!(standings[at], Standing::Replaced { adopted: true, .. }) }
        }
    }
}

/// The names that interfaces have now.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<InterfaceIndex, String>);

impl Names {
    pub(super) fn read(client: &mut Client) -> Result<Self, ReconcileError> {
        let links = link::list(client).map_err(InterfaceError::List)?;
        Ok(Self(links.into_iter().map(|link| (link.index, link.name)).collect()))
    }

    /// The name of an interface, or its number if it has just gone.
    pub(super) fn of(&self, index: InterfaceIndex) -> String {
        self.0.get(&index).cloned().unwrap_or_else(|| format!("interface {index}"))
    }

    /// The name of an interface, if it is there.
    pub(super) fn known(&self, index: InterfaceIndex) -> Option<&str> {
        self.0.get(&index).map(String::as_str)
    }

    fn line(&self, kind: LineKind, route: Option<String>, job: CangwJob) -> Line {
        Line { kind, route, from: self.of(job.source), to: self.of(job.destination), job }
    }
}
