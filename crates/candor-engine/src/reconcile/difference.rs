//! Result of a comparison, one line for each job.

use std::collections::BTreeMap;

use candor_config::placement::Side;
use candor_io::can::InterfaceIndex;
use candor_netlink::cangw::CangwJob;
use candor_netlink::client::Client;
use candor_netlink::link;

use super::error::ReconcileError;
use super::owners::Owners;
use super::target::Target;
use super::{Action, Reconciliation, Situation, Standing};
use candor_userspace::owner::Owner;
use candor_userspace::preflight::InterfaceError;
use candor_userspace::run_dir::OwnedJob;

/// Difference between a gateway file and the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The jobs of the file in order, then other installed jobs, newest first.
    pub lines: Vec<Line>,
    /// Number of requests that `candor apply` would send.
    pub steps: usize,
    /// The error with which `candor apply` would refuse.
    pub refusal: Option<String>,
}

/// A job of the file or the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Treatment of the job.
    pub kind: LineKind,
    /// Name of its route, if known.
    pub route: Option<String>,
    /// Current name of the source interface.
    pub from: String,
    /// Current name of the destination interface.
    pub to: String,
    /// can-gw, or an eBPF program.
    pub side: Side,
    /// The job, with its counters if can-gw has installed it.
    pub job: CangwJob,
}

/// Treatment of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// Not installed: added.
    Add,
    /// Installed by another program and wanted: adopted.
    Adopt,
    /// Modified in place; counters continue.
    Change,
    /// Not candor's: stays.
    Foreign {
        /// Equals a wanted job, so that frames are forwarded twice.
        duplicate: bool,
    },
    /// Installed as wanted.
    Keep,
    /// At the wrong position: deleted and added again; counters restart at 0.
    Move {
        /// It was not candor's.
        adopted: bool,
    },
    /// It belongs to another candor process or file.
    Other(Owner),
    /// Not candor's: removed.
    Prune,
    /// No longer wanted: removed.
    Remove,
}

impl Difference {
    /// True if the kernel matches the file.
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
            names.line(kind, Some(owned.route.clone()), Side::Kernel, job)
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
            Some(names.line(kind, route, Side::Kernel, *exact.job()))
        });
        Self { lines: wanted.chain(present).collect(), steps: found.steps.len(), refusal: None }
    }

    /// Adds the lines of jobs in programs, which take `changes` changes. Those of the file stand in its order.
    pub(super) fn with_programs(self, all: &[OwnedJob], programs: Vec<Line>, changes: usize) -> Self {
        let (mut cangw, mut programs) = (self.lines.into_iter(), programs.into_iter());
        let next = |owned: &OwnedJob| if owned.is_bpf() { programs.next() } else { cangw.next() };
        let lines: Vec<_> = all.iter().filter_map(next).collect();
        let lines = lines.into_iter().chain(programs).chain(cangw).collect();
        Self { lines, steps: self.steps + changes, ..self }
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

/// Current names of interfaces by index.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<InterfaceIndex, String>);

impl Names {
    pub(super) fn read(client: &mut Client) -> Result<Self, ReconcileError> {
        let links = link::list(client).map_err(InterfaceError::List)?;
        Ok(Self(candor_core::order::map(links.into_iter().map(|link| (link.index, link.name)))))
    }

    /// The name, or the index of an interface that has just disappeared.
    pub(super) fn of(&self, index: InterfaceIndex) -> String {
        self.0.get(&index).cloned().unwrap_or_else(|| format!("interface {index}"))
    }

    /// The present interfaces.
    pub(super) fn all(&self) -> impl Iterator<Item = (InterfaceIndex, &str)> {
        self.0.iter().map(|(index, name)| (*index, name.as_str()))
    }

    /// The name of a present interface.
    pub(super) fn known(&self, index: InterfaceIndex) -> Option<&str> {
        self.0.get(&index).map(String::as_str)
    }

    pub(super) fn line(&self, kind: LineKind, route: Option<String>, side: Side, job: CangwJob) -> Line {
        Line { kind, route, from: self.of(job.source), to: self.of(job.destination), side, job }
    }
}
