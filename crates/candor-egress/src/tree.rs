//! All disciplines, classes and filters of one interface.

use super::control_group::{GroupId, GroupName};
use super::discipline::{ByteRate, Discipline, SizeTable};
use super::filter::{Classifier, Filter};
use super::handle::Handle;

/// The disciplines, classes and filters of an interface, each list in the order in which they are created: a parent before
/// its children, and the filters of one parent in the order in which they run, but after all `u32` tables,
/// to which they refer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Empty is the kernel's default.
    pub qdiscs: Vec<Qdisc>,
    /// Classes that are created one by one (`htb`, `drr`), in the order of their disciplines.
    pub classes: Vec<Class>,
    pub filters: Vec<Filter>,
}

impl Tree {
    /// Looks up every control group that a filter names, and returns the names of those that do not exist, each once. The
    /// result of an earlier lookup is discarded.
    pub fn locate(&mut self, mut find: impl FnMut(&GroupName) -> Option<GroupId>) -> Vec<GroupName> {
        let mut missing = Vec::new();
        for filter in &mut self.filters {
            let Classifier::ControlGroups(groups) = &mut filter.classifier else { continue };
            for group in groups {
                let Some(name) = &group.name else { continue };
                group.id = find(name);
                if group.id.is_none() && !missing.contains(name) {
                    missing.push(name.clone());
                }
            }
        }
        missing
    }

    /// True if a queue consists of programs.
    #[must_use]
    pub fn is_in_order_of_arbitration(&self) -> bool {
        self.qdiscs.iter().any(|qdisc| matches!(qdisc.discipline, Discipline::Arbitration(_)))
    }

    /// True if a filter is a program.
    #[must_use]
    pub fn has_programs(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter.classifier, Classifier::ControlGroups(_)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// [`Handle::NONE`] lets the kernel choose.
    pub handle: Handle,
    /// A class, [`Handle::ROOT`] or [`Handle::CLSACT`].
    pub parent: Handle,
    pub stab: Option<SizeTable>,
    pub discipline: Discipline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    pub handle: Handle,
    pub parent: Handle,
    pub share: Share,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    Drr {
        /// Default: the MTU. Kernels since 2025 raise those below 256 to 256.
        quantum_bytes: Option<u32>,
    },
    Htb(HtbClass),
    Other {
        kind: String,
        options: Vec<u8>,
    },
}

impl Share {
    /// `TCA_KIND`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Drr { .. } => "drr",
            Self::Htb(_) => "htb",
            Self::Other { kind, .. } => kind,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    pub rate: ByteRate,
    /// The rate that it may reach by borrowing.
    pub ceil: ByteRate,
    pub burst_bytes: u32,
    pub ceil_burst_bytes: u32,
    /// Bytes per round among classes of the same priority. Default: rate / `rate_to_quantum`, but at
    /// least 1000: 62 frames.
    pub quantum_bytes: Option<u32>,
    /// Order of borrowing; 0 to 7, lower first.
    pub prio: u32,
}
