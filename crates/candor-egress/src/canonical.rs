//! Compares the wanted tree with that of the kernel.
//!
//! A kernel does not report the values that were set: it fills in defaults, raises low values, stores bursts as times
//! and sorts identifiers. [`differences`] leaves those changes out, so that only real
//! differences remain.
//!
//! Unsupported kinds (`Other`) are compared by kind only: their bytes contain counters and times.

mod same;

use std::fmt;

use super::filter::{Classifier, Filter};
use super::handle::Handle;
use super::tree::{Class, Qdisc, Tree};

/// `TC_U32_NODE`.
const NODE_BITS: u32 = 0xFFF;
/// `TC_U32_HTID`.
const TABLE_BITS: u32 = 0xFFF0_0000;

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
pub enum TreeSlot {
    Qdisc {
        parent: Handle,
    },
    Class {
        handle: Handle,
    },
    Filter {
        parent: Handle,
        preference: u16,
        /// 0 lets the kernel choose.
        handle: u32,
    },
}

impl Difference {
    #[must_use]
    pub const fn slot(&self) -> TreeSlot {
        match self {
            Self::Differs { wanted: part, .. } | Self::Extra(part) | Self::Missing(part) => part.slot(),
        }
    }
}

impl Part {
    #[must_use]
    pub const fn slot(&self) -> TreeSlot {
        match self {
            Self::Class(class) => TreeSlot::Class { handle: class.handle },
            Self::Filter(filter) => {
                TreeSlot::Filter { parent: filter.parent, preference: filter.preference, handle: filter.handle }
            }
            Self::Qdisc(qdisc) => TreeSlot::Qdisc { parent: qdisc.parent },
        }
    }
}

impl fmt::Display for TreeSlot {
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

/// The differences between two trees: disciplines, then classes, then filters, each in the order of `wanted`
/// with extra parts at the end.
///
/// Open values of `wanted` (`None`, handle 0) match anything. Entries of a size table are compared only if `found` has
/// them, since the kernel does not report them.
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

/// Pairs wanted with found parts.
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

/// Pairs filters. A wanted filter without a handle takes the first one found that does the same and
/// is not claimed by handle; those without such a match then take the rest in turn.
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

/// True if the handle identifies the filter. That of a `u32` node does so only with its node bits.
const fn is_numbered(filter: &Filter) -> bool {
    match &filter.classifier {
        Classifier::U32(node) if node.divisor.is_none() => filter.handle & NODE_BITS != 0,
        _ => filter.handle != 0,
    }
}

/// The kernel takes the slot of a node, and the table if its handle has none, from the table of the node.
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
