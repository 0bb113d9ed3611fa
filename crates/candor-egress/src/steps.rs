//! The requests that turn the tree of an interface into the wanted one, in order.
//!
//! An interface has two independent sides: everything below the root, and `clsact`. A side on
//! which only values differ is changed in place, without loss; filters are replaced parent by parent.
//! A side whose shape differs is deleted and rebuilt, because the kernel cannot hold two trees: queued frames
//! are lost, and [`Steps::loses_frames`] is set.

use super::canonical::{Difference, Part, differences};
use super::discipline::Discipline;
use super::filter::Filter;
use super::handle::Handle;
use super::tree::{Class, Qdisc, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    ChangeClass(Class),
    /// Keeps queued frames and everything below it.
    ChangeQdisc(Qdisc),
    MakeClass(Class),
    /// Added after the filters of its preference.
    MakeFilter(Filter),
    MakeQdisc(Qdisc),
    RemoveFilters {
        parent: Handle,
        preference: u16,
    },
    /// Deletes everything below [`Handle::ROOT`] or [`Handle::CLSACT`].
    RemoveSide {
        parent: Handle,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// In order; empty if nothing differs.
    pub requests: Vec<Step>,
    /// Queued frames are lost.
    pub loses_frames: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Root,
    Clsact,
}

impl Side {
    const fn parent(self) -> Handle {
        match self {
            Self::Root => Handle::ROOT,
            Self::Clsact => Handle::CLSACT,
        }
    }

    fn of_qdisc(qdisc: &Qdisc) -> Self {
        if qdisc.parent == Handle::CLSACT { Self::Clsact } else { Self::Root }
    }

    fn of_filter(parent: Handle) -> Self {
        if parent.qdisc() == Handle::CLSACT_QDISC { Self::Clsact } else { Self::Root }
    }

    fn of(part: &Part) -> Self {
        match part {
            Part::Class(_) => Self::Root,
            Part::Filter(filter) => Self::of_filter(filter.parent),
            Part::Qdisc(qdisc) => Self::of_qdisc(qdisc),
        }
    }

    fn is_in(self, tree: &Tree) -> bool {
        tree.qdiscs.iter().any(|qdisc| qdisc.parent == self.parent())
    }
}

/// The requests that turn `found` into `wanted`.
#[must_use]
pub fn steps(wanted: &Tree, found: &Tree) -> Steps {
    let differences = differences(wanted, found);
    let mut steps = Steps::default();
    for side in [Side::Root, Side::Clsact] {
        let here: Vec<_> = differences.iter().filter(|difference| Side::of(part(difference)) == side).collect();
        if here.iter().all(|difference| can_stay(difference)) {
            change(&here, wanted, found, &mut steps.requests);
        } else {
            if side.is_in(found) {
                steps.requests.push(Step::RemoveSide { parent: side.parent() });
                steps.loses_frames |= side == Side::Root;
            }
            make(wanted, side, &mut steps.requests);
        }
    }
    steps
}

/// The requests that build a tree from nothing.
#[must_use]
pub fn create(wanted: &Tree) -> Vec<Step> {
    let mut requests = Vec::new();
    make(wanted, Side::Root, &mut requests);
    make(wanted, Side::Clsact, &mut requests);
    requests
}

const fn part(difference: &Difference) -> &Part {
    match difference {
        Difference::Differs { wanted: part, .. } | Difference::Extra(part) | Difference::Missing(part) => part,
    }
}

/// True if a difference can be resolved in place.
fn can_stay(difference: &Difference) -> bool {
    match difference {
        Difference::Extra(Part::Filter(_)) | Difference::Missing(Part::Filter(_)) => true,
        Difference::Extra(_) | Difference::Missing(_) => false,
        Difference::Differs { wanted: Part::Qdisc(wanted), found: Part::Qdisc(found) } => {
            let same_name = wanted.handle == Handle::NONE || wanted.handle == found.handle;
            same_name && wanted.stab == found.stab && can_change(&wanted.discipline, &found.discipline)
        }
        Difference::Differs { wanted: Part::Class(wanted), found: Part::Class(found) } => {
            wanted.parent == found.parent && wanted.share.kind() == found.share.kind()
        }
        Difference::Differs { .. } => true,
    }
}

/// True if the kernel changes a discipline in place. `htb` refuses, `drr` and `clsact` have no values, those of the order of
/// arbitration are in its programs, and unsupported kinds may not.
fn can_change(wanted: &Discipline, found: &Discipline) -> bool {
    let is_fixed = matches!(
        wanted,
        Discipline::Arbitration(_)
            | Discipline::Clsact
            | Discipline::Drr
            | Discipline::Etf(_)
            | Discipline::Htb(_)
            | Discipline::Other { .. }
    );
    wanted.kind() == found.kind() && !is_fixed
}

/// Changes values, and replaces the filters of each parent with differences.
fn change(here: &[&Difference], wanted: &Tree, found: &Tree, requests: &mut Vec<Step>) {
    let mut parents = Vec::new();
    for difference in here {
        match part(difference) {
            Part::Class(class) => requests.push(Step::ChangeClass(class.clone())),
            Part::Qdisc(qdisc) => requests.push(Step::ChangeQdisc(qdisc.clone())),
            Part::Filter(filter) if !parents.contains(&filter.parent) => parents.push(filter.parent),
            Part::Filter(_) => {}
        }
    }
    for parent in parents {
        let mut preferences: Vec<_> =
            found.filters.iter().filter(|filter| filter.parent == parent).map(|filter| filter.preference).collect();
        candor_core::order::sort(&mut preferences);
        preferences.dedup();
        // The last first: tables of `u32` go after what leads to them.
        requests.extend(preferences.into_iter().rev().map(|preference| Step::RemoveFilters { parent, preference }));
        let wanted = wanted.filters.iter().filter(|filter| filter.parent == parent);
        requests.extend(wanted.cloned().map(Step::MakeFilter));
    }
}

/// Builds a side: a class after its discipline and parent class, a discipline after its parent class, and
/// classes first, because an inner class cannot hold a discipline. Filters come last.
fn make(wanted: &Tree, side: Side, requests: &mut Vec<Step>) {
    let mut qdiscs: Vec<&Qdisc> = wanted.qdiscs.iter().filter(|qdisc| Side::of_qdisc(qdisc) == side).collect();
    let mut classes: Vec<&Class> = if side == Side::Root { wanted.classes.iter().collect() } else { Vec::new() };
    let mut made: Vec<Handle> = vec![side.parent()];
    let is_made_one_by_one = |handle: Handle| wanted.classes.iter().any(|class| class.handle == handle);
    while !qdiscs.is_empty() || !classes.is_empty() {
        if let Some(at) = classes.iter().position(|class| made.contains(&class.parent)) {
            let class = classes.remove(at);
            made.push(class.handle);
            requests.push(Step::MakeClass(class.clone()));
            continue;
        }
        let has_place = |qdisc: &&Qdisc| {
            let is_band = !is_made_one_by_one(qdisc.parent) && made.contains(&qdisc.parent.qdisc());
            made.contains(&qdisc.parent) || is_band
        };
        // What has no place is asked for all the same: the kernel says why it cannot be.
        let Some(at) = qdiscs.iter().position(has_place).or_else(|| (!qdiscs.is_empty()).then_some(0)) else { break };
        let qdisc = qdiscs.remove(at);
        made.push(qdisc.handle);
        requests.push(Step::MakeQdisc(qdisc.clone()));
    }
    requests.extend(classes.into_iter().cloned().map(Step::MakeClass));
    let filters = wanted.filters.iter().filter(|filter| Side::of_filter(filter.parent) == side);
    requests.extend(filters.cloned().map(Step::MakeFilter));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary;
    use crate::text;

    fn tree(text: &str) -> Tree {
        text::parse(text).unwrap().tree
    }

    fn words(wanted: &str, found: &str) -> Vec<String> {
        let word = |step: Step| match step {
            Step::ChangeClass(class) => format!("change class {}", class.handle),
            Step::ChangeQdisc(qdisc) => format!("change {} {}", qdisc.discipline.kind(), qdisc.handle),
            Step::MakeClass(class) => format!("class {}", class.handle),
            Step::MakeFilter(filter) => format!("filter {} {}", filter.parent, filter.preference),
            Step::MakeQdisc(qdisc) => format!("{} {}", qdisc.discipline.kind(), qdisc.handle),
            Step::RemoveFilters { parent, preference } => format!("no filters {parent} {preference}"),
            Step::RemoveSide { parent } => format!("nothing below {parent}"),
        };
        steps(&tree(wanted), &tree(found)).requests.into_iter().map(word).collect()
    }

    const HTB: &str = "qdisc root handle 1: htb default 12
        class parent 1: classid 1:1 htb rate 1000frames/s burst 16 cburst 16
        class parent 1:1 classid 1:10 htb rate 300frames/s burst 16 cburst 16
        class parent 1:1 classid 1:12 htb rate 600frames/s burst 16 cburst 16
        qdisc parent 1:12 handle 40: sfq limit 50
        filter parent 1: prio 1 basic match 'canid(sff 0:7f0)' flowid 1:10";

    #[test]
    fn builds_parents_first() {
        assert_eq!(words(HTB, ""), ["htb 1:", "class 1:1", "class 1:10", "class 1:12", "sfq 40:", "filter 1: 1"]);
        assert_eq!(words("", HTB), ["nothing below root"]);
        assert_eq!(words(HTB, HTB), [""; 0]);
    }

    #[test]
    fn changes_values_in_place() {
        let other = HTB.replace("limit 50", "limit 60").replace("300frames", "200frames");
        assert_eq!(words(&other, HTB), ["change sfq 40:", "change class 1:10"]);
        let other = HTB.replace("0:7f0", "0:7f8");
        assert_eq!(words(&other, HTB), ["no filters 1: 1", "filter 1: 1"]);
        assert!(!steps(&tree(&other), &tree(HTB)).loses_frames);
    }

    #[test]
    fn rebuilds_another_shape() {
        let other = "qdisc root handle 1: prio\nqdisc parent 1:1 handle 10: pfifo limit 5";
        assert_eq!(words(other, HTB), ["nothing below root", "prio 1:", "pfifo 10:"]);
        assert!(steps(&tree(other), &tree(HTB)).loses_frames);
        assert_eq!(
            words(&HTB.replace("default 12", "default 10"), HTB)[0],
            "nothing below root",
            "htb cannot be changed"
        );
    }

    #[test]
    fn keeps_the_other_side() {
        let both = format!("{HTB}\nqdisc clsact\nfilter ingress prio 1 matchall action skbedit mark 5");
        assert_eq!(words(&both, HTB), ["clsact ffff:", "filter ingress 1"]);
        assert_eq!(words(HTB, &both), ["nothing below clsact"]);
        assert!(!steps(&tree(HTB), &tree(&both)).loses_frames);
    }

    proptest! {
        #[test]
        fn builds_each_part_once(tree in arbitrary::tree()) {
            let requests = create(&tree);
            prop_assert_eq!(requests.len(), tree.qdiscs.len() + tree.classes.len() + tree.filters.len());
            prop_assert_eq!(steps(&tree, &Tree::default()).requests, requests);
        }

        #[test]
        fn equal_trees_need_no_steps(wanted in arbitrary::tree(), found in arbitrary::tree()) {
            for found in [&wanted, &found] {
                let is_as_wanted = differences(&wanted, found).is_empty();
                prop_assert_eq!(steps(&wanted, found).requests.is_empty(), is_as_wanted);
            }
        }
    }
}
