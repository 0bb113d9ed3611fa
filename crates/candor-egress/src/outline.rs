//! The hierarchy of a [`Tree`], for drawing.

use std::collections::BTreeSet;

use super::discipline::Discipline;
use super::filter::Filter;
use super::handle::Handle;
use super::tree::{Qdisc, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub item: Item,
    /// Filters in the order in which they run, then classes.
    pub below: Vec<Self>,
}

/// Numbers are positions in the lists of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A class that its discipline creates, such as a band of `prio`.
    Band(Handle),
    Class(usize),
    Filter(usize),
    Qdisc(usize),
}

/// Each part of a tree once: the root, then `clsact`, then parts without a parent, which no kernel has.
#[must_use]
pub fn outline(tree: &Tree) -> Vec<Node> {
    let mut walk = Walk { tree, seen: BTreeSet::new() };
    let mut nodes = walk.below(Handle::ROOT);
    nodes.extend(walk.below(Handle::CLSACT));
    for at in 0..tree.qdiscs.len() {
        nodes.extend(walk.qdisc(at));
    }
    for at in 0..tree.classes.len() {
        nodes.extend(walk.class(at));
    }
    for at in 0..tree.filters.len() {
        nodes.extend(walk.filter(at));
    }
    nodes
}

struct Walk<'a> {
    tree: &'a Tree,
    /// Visited parts: a class may be below itself.
    seen: BTreeSet<(u8, usize)>,
}

impl Walk<'_> {
    fn below(&mut self, parent: Handle) -> Vec<Node> {
        let here = positions(&self.tree.qdiscs, |qdisc| qdisc.parent == parent);
        here.into_iter().filter_map(|at| self.qdisc(at)).collect()
    }

    fn qdisc(&mut self, at: usize) -> Option<Node> {
        let tree = self.tree;
        let Qdisc { handle, parent, discipline, .. } = &tree.qdiscs[at];
        self.seen.insert((0, at)).then_some(())?;
        if *parent == Handle::CLSACT {
            let below = [self.filters(Handle::INGRESS), self.filters(Handle::EGRESS)].concat();
            return Some(Node { item: Item::Qdisc(at), below });
        }
        let mut below = self.filters(*handle);
        if *handle != Handle::NONE {
            below.extend(self.classes(*handle));
            for band in bands(tree, *handle, discipline) {
                let inner = self.below(band);
                below.push(Node { item: Item::Band(band), below: inner });
            }
        }
        Some(Node { item: Item::Qdisc(at), below })
    }

    /// The classes directly below a discipline or a class.
    fn classes(&mut self, parent: Handle) -> Vec<Node> {
        let here = positions(&self.tree.classes, |class| class.parent == parent);
        here.into_iter().filter_map(|at| self.class(at)).collect()
    }

    fn class(&mut self, at: usize) -> Option<Node> {
        let handle = self.tree.classes[at].handle;
        self.seen.insert((1, at)).then_some(())?;
        let below = [self.filters(handle), self.classes(handle), self.below(handle)].concat();
        Some(Node { item: Item::Class(at), below })
    }

    fn filters(&mut self, parent: Handle) -> Vec<Node> {
        let here = positions(&self.tree.filters, |filter: &Filter| filter.parent == parent);
        here.into_iter().filter_map(|at| self.filter(at)).collect()
    }

    fn filter(&mut self, at: usize) -> Option<Node> {
        self.seen.insert((2, at)).then(|| Node { item: Item::Filter(at), below: Vec::new() })
    }
}

fn positions<T>(items: &[T], is_here: impl Fn(&T) -> bool) -> Vec<usize> {
    items.iter().enumerate().filter(|(_, item)| is_here(item)).map(|(at, _)| at).collect()
}

/// The classes that a discipline creates: those that it always has, and those that are parents.
fn bands(tree: &Tree, handle: Handle, discipline: &Discipline) -> BTreeSet<Handle> {
    let is_made = |parent: Handle| tree.classes.iter().any(|class| class.handle == parent);
    let taken = tree.qdiscs.iter().map(|qdisc| qdisc.parent);
    let taken = taken.filter(|parent| parent.minor() != 0 && parent.qdisc() == handle && !is_made(*parent));
    let own = (1..=discipline.bands()).map(|band| Handle::new(handle.major(), u16::from(band)));
    candor_core::order::set(own.chain(taken))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{arbitrary, text};

    fn drawn(nodes: &[Node], depth: usize) -> String {
        let line = |node: &Node| format!("{}{:?}\n{}", "  ".repeat(depth), node.item, drawn(&node.below, depth + 1));
        nodes.iter().map(line).collect()
    }

    #[test]
    fn outlines_the_hierarchy() {
        let tree = text::parse(
            "qdisc root handle 1: prio bands 3\n\
             qdisc parent 1:2 handle 20: tbf rate 100frames/s burst 16 limit 1600\n\
             qdisc parent 20:1 handle 21: htb default 10\n\
             class parent 21: classid 21:1 htb rate 1mbit\n\
             class parent 21:1 classid 21:10 htb rate 1mbit\n\
             filter parent 1: prio 1 matchall flowid 1:2\n\
             filter parent 21: prio 1 matchall flowid 21:10\n\
             qdisc clsact\n\
             filter ingress prio 1 matchall action skbedit mark 5",
        );
        insta::assert_snapshot!(drawn(&outline(&tree.unwrap().tree), 0), @r"
        Qdisc(0)
          Filter(0)
          Band(Handle(65537))
          Band(Handle(65538))
            Qdisc(1)
              Band(Handle(2097153))
                Qdisc(2)
                  Filter(1)
                  Class(0)
                    Class(1)
          Band(Handle(65539))
        Qdisc(3)
          Filter(2)
        ");
    }

    fn count(nodes: &[Node]) -> usize {
        nodes.iter().map(|node| usize::from(!matches!(node.item, Item::Band(_))) + count(&node.below)).sum()
    }

    proptest! {
        #[test]
        fn outline_has_each_part_once(tree in arbitrary::tree()) {
            let all = tree.qdiscs.len() + tree.classes.len() + tree.filters.len();
            prop_assert_eq!(count(&outline(&tree)), all);
        }
    }
}
