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

    #[must_use]
    pub fn has_programs(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter.classifier, Classifier::ControlGroups(_)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its name; [`Handle::NONE`] lets the kernel choose.
    pub handle: Handle,
    /// The class below which it hangs, [`Handle::ROOT`] or [`Handle::CLSACT`].
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
        /// Bytes for each round; an MTU. Kernels since 2025 raise those below 256 to 256.
        quantum_bytes: Option<u32>,
    },
    Htb(HtbClass),
    Other {
        kind: String,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    pub rate: ByteRate,
    /// The rate that it may reach with what others leave.
    pub ceil: ByteRate,
    pub burst_bytes: u32,
    pub ceil_burst_bytes: u32,
    /// Bytes for each round with others of its priority. Left to the kernel it is rate / `rate_to_quantum`, but at
    /// least 1000: 62 frames.
    pub quantum_bytes: Option<u32>,
    /// Which class is offered first what is left over; 0 to 7, lower first.
    pub prio: u32,
}
