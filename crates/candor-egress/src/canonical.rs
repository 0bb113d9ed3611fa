//! Whether a kernel has what somebody wants.
//!
//! A kernel does not say what it was told: it fills in what was left to it, raises what is too little, keeps bursts as times
//! and sorts identifiers. [`differences`] knows what becomes of each value and leaves that out, so that what is left is
//! what somebody else has done, or has not been done yet.
//!
//! What candor has no word for (`Other`) is compared by its kind only: its bytes have counters and times in them.

mod same;

use std::fmt;

use super::filter::{Classifier, Filter};
use super::handle::Handle;
use super::tree::{Class, Qdisc, Tree};

/// The bits of a number of `u32` that a node has to itself (`TC_U32_NODE`).
const NODE_BITS: u32 = 0xFFF;
/// Those that say in which table it is (`TC_U32_HTID`).
const TABLE_BITS: u32 = 0xFFF0_0000;

/// A discipline, class or filter that is not as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Differs { wanted: Part, found: Part },
    Extra(Part),
    Missing(Part),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Class(Class),
    Filter(Filter),
    Qdisc(Qdisc),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A discipline below this class, root or `clsact`.
    Qdisc {
        parent: Handle,
    },
    Class {
        handle: Handle,
    },
    Filter {
        parent: Handle,
        preference: u16,
        /// Its number; 0 if it is the kernel's to choose.
        handle: u32,
    },
}

impl Difference {
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Differs { wanted: part, .. } | Self::Extra(part) | Self::Missing(part) => part.place(),
        }
    }
}

impl Part {
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Class(class) => Place::Class { handle: class.handle },
            Self::Filter(filter) => {
                Place::Filter { parent: filter.parent, preference: filter.preference, handle: filter.handle }
            }
            Self::Qdisc(qdisc) => Place::Qdisc { parent: qdisc.parent },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Qdisc { parent } => write!(f, "qdisc parent {parent}"),
            Self::Class { handle } => write!(f, "class {handle}"),
            Self::Filter { parent, preference, handle: 0 } => write!(f, "filter parent {parent} pref {preference}"),
            Self::Filter { parent, preference, handle } => {
                write!(f, "filter parent {parent} pref {preference} handle {handle:#x}")
            }
        }
    }
}

/// What is to be done until `found` is `wanted`: disciplines, then classes, then filters, each in the order of `wanted`
/// with what is extra behind it.
///
/// What `wanted` leaves open (`None`, handle 0) may be anything. What stands in a size table is not compared where it is not
/// found, since the kernel does not tell it.
#[must_use]
pub fn differences(wanted: &Tree, found: &Tree) -> Vec<Difference> {
    let qdiscs = paired(
        &wanted.qdiscs,
        &found.qdiscs,
        |wanted, found| wanted.parent == found.parent,
        same_qdisc,
        |qdisc| Part::Qdisc(qdisc.clone()),
    );
    let is_inner = |class: &Class| found.classes.iter().any(|other| other.parent == class.handle);
    let classes = paired(
        &wanted.classes,
        &found.classes,
        |wanted, found| wanted.handle == found.handle,
        |wanted, found| same::same_class(wanted, found, is_inner(found)),
        |class| Part::Class(class.clone()),
    );
    [qdiscs, classes, filters(&wanted.filters, &found.filters)].concat()
}

fn same_qdisc(wanted: &Qdisc, found: &Qdisc) -> bool {
    let same_handle = wanted.handle == Handle::NONE || wanted.handle == found.handle;
    same_handle
        && same::same_table(wanted.stab.as_ref(), found.stab.as_ref())
        && same::same_discipline(&wanted.discipline, &found.discipline)
}

fn same_filter(wanted: &Filter, found: &Filter) -> bool {
    wanted.protocol == found.protocol
        && wanted.class.unwrap_or_default() == found.class.unwrap_or_default()
        && same::same_classifier(wanted, &found.classifier)
        && same::same_actions(&wanted.actions, &found.actions)
}

/// What each of the wanted parts is found as, and what is left.
fn paired<T>(
    wanted: &[T],
    found: &[T],
    is_for: impl Fn(&T, &T) -> bool,
    is_same: impl Fn(&T, &T) -> bool,
    part: impl Fn(&T) -> Part,
) -> Vec<Difference> {
    let mut taken = vec![false; found.len()];
    let mut differences = Vec::new();
    for wanted in wanted {
        let at = found.iter().zip(&taken).position(|(found, taken)| !taken && is_for(wanted, found));
        match at {
            None => differences.push(Difference::Missing(part(wanted))),
            Some(at) => {
                taken[at] = true;
                if !is_same(wanted, &found[at]) {
                    differences.push(Difference::Differs { wanted: part(wanted), found: part(&found[at]) });
                }
            }
        }
    }
    let left = found.iter().zip(&taken).filter(|(_, taken)| !**taken);
    differences.extend(left.map(|(found, _)| Difference::Extra(part(found))));
    differences
}

/// Filters that are wanted without a number are told by what they do: each takes the first one found that does the same and
/// that no other is for, and only those for which there is none take what is left in turn.
fn filters(wanted: &[Filter], found: &[Filter]) -> Vec<Difference> {
    let mut taken = vec![false; found.len()];
    let is_claimed = |found: &Filter| wanted.iter().any(|other| is_numbered(other) && is_for(other, found));
    let mut open = Vec::new();
    for wanted in wanted {
        let fits = |found: &Filter| is_for(wanted, found) && same_filter(wanted, found) && !is_claimed(found);
        let at = found.iter().zip(&taken).position(|(found, taken)| !taken && fits(found));
        match at.filter(|_| !is_numbered(wanted)) {
            Some(at) => taken[at] = true,
            None => open.push(wanted.clone()),
        }
    }
    let left = found.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let left: Vec<_> = left.map(|(found, _)| found.clone()).collect();
    paired(&open, &left, is_for, same_filter, |filter| Part::Filter(filter.clone()))
}

fn is_for(wanted: &Filter, found: &Filter) -> bool {
    let is_beside = (wanted.parent, wanted.preference) == (found.parent, found.preference);
    is_beside && (!is_numbered(wanted) || has_number(wanted, found))
}

/// Whether it says which one it is. Of a node of `u32` the number says so only if the node is in it.
const fn is_numbered(filter: &Filter) -> bool {
    match &filter.classifier {
        Classifier::U32(node) if node.divisor.is_none() => filter.handle & NODE_BITS != 0,
        _ => filter.handle != 0,
    }
}

/// The kernel takes the slot of a node from its table, and the table too where the number has none.
fn has_number(wanted: &Filter, found: &Filter) -> bool {
    match &wanted.classifier {
        Classifier::U32(node) if node.divisor.is_none() => {
            let table = wanted.handle & TABLE_BITS;
            wanted.handle & NODE_BITS == found.handle & NODE_BITS && (table == 0 || table == found.handle & TABLE_BITS)
        }
        _ => wanted.handle == found.handle,
    }
}

#[cfg(test)]
mod tests;
