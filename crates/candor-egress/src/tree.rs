//! All disciplines, classes and filters of one interface.

use super::control_group::{GroupName, Place};
use super::discipline::{ByteRate, Discipline, SizeTable};
use super::filter::{Classifier, Filter};
use super::handle::Handle;

/// The disciplines, classes and filters of an interface, each list in the order in which they are made: a parent before
/// what hangs below it, filters of one parent in the order in which they are asked, but the tables of `u32` before all of
/// them, because others refer to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The disciplines; empty is the kernel's default.
    pub qdiscs: Vec<Qdisc>,
    /// Classes of those disciplines whose classes are made one by one (`htb`, `drr`), in the order of these.
    pub classes: Vec<Class>,
    /// What sorts frames into classes, and what is done with them on the way.
    pub filters: Vec<Filter>,
}

impl Tree {
    /// Looks up every control group that a filter names, and returns the names of those that do not exist, each once. The
    /// result of an earlier lookup is forgotten.
    pub fn locate(&mut self, mut find: impl FnMut(&GroupName) -> Option<Place>) -> Vec<GroupName> {
        let mut missing = Vec::new();
        for filter in &mut self.filters {
            let Classifier::ControlGroups(groups) = &mut filter.classifier else { continue };
            for group in groups {
                let Some(name) = &group.name else { continue };
                group.place = find(name);
                if group.place.is_none() && !missing.contains(name) {
                    missing.push(name.clone());
                }
            }
        }
        missing
    }

    /// True if a filter is a BPF program.
    #[must_use]
    pub fn has_programs(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter.classifier, Classifier::ControlGroups(_)))
    }
}

/// A queueing discipline in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its name; [`Handle::NONE`] lets the kernel choose.
    pub handle: Handle,
    /// The class below which it hangs, [`Handle::ROOT`] or [`Handle::CLSACT`].
    pub parent: Handle,
    /// What lengths count in it and below it.
    pub stab: Option<SizeTable>,
    /// What it is.
    pub discipline: Discipline,
}

/// A class that somebody made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub handle: Handle,
    /// The discipline, or the class, below which it is.
    pub parent: Handle,
    /// What it may send.
    pub share: Share,
}

/// What a class may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// Class of `drr`.
    Drr {
        /// Bytes for each round; an MTU. Kernels since 2025 raise those below 256 to 256.
        quantum_bytes: Option<u32>,
    },
    /// Class of `htb`.
    Htb(HtbClass),
    /// Of a discipline whose classes candor does not know.
    Other {
        /// The kernel's name of the discipline.
        kind: String,
        /// What stood in `TCA_OPTIONS`.
        options: Vec<u8>,
    },
}

impl Share {
    /// The kernel's name of the discipline whose class it is (`TCA_KIND`).
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Drr { .. } => "drr",
            Self::Htb(_) => "htb",
            Self::Other { kind, .. } => kind,
        }
    }
}

/// Parameters of a class of `htb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// The rate that it always has.
    pub rate: ByteRate,
    /// The rate that it may reach with what others leave.
    pub ceil: ByteRate,
    /// What may leave at once at `rate`.
    pub burst_bytes: u32,
    /// What may leave at once at `ceil`.
    pub ceil_burst_bytes: u32,
    /// Bytes for each round with others of its priority. Left to the kernel it is rate / `rate_to_quantum`, but at
    /// least 1000: 62 frames.
    pub quantum_bytes: Option<u32>,
    /// Which class is offered first what is left over; 0 to 7, lower first.
    pub prio: u32,
}
