//! Against a kernel that is played, which refuses whichever request it is told to.

use candor_core::egress::handle::Handle;
use candor_core::egress::text;
use candor_netlink::client::{Errno, NetlinkError};
use proptest::prelude::*;

use super::*;

/// Holds a tree and counts requests.
#[derive(Debug, Default)]
struct Played {
    tree: Tree,
    requests: usize,
    /// The request of this number is refused, and so many behind it.
    refuses: Option<(usize, usize)>,
}

impl Kernel for Played {
    fn found(&mut self) -> Result<Tree, TcError> {
        Ok(self.tree.clone())
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), TcError> {
        let number = self.requests;
        self.requests += 1;
        if self.refuses.is_some_and(|(first, count)| (first..first + count).contains(&number)) {
            return Err(NetlinkError::Refused { errno: Errno::EINVAL, text: None }.into());
        }
        let Tree { qdiscs, classes, filters } = &mut self.tree;
        match step {
            Step::ChangeClass(class) => {
                classes.iter_mut().filter(|old| old.handle == class.handle).for_each(|old| *old = class.clone());
            }
            Step::ChangeQdisc(qdisc) => {
                qdiscs.iter_mut().filter(|old| old.parent == qdisc.parent).for_each(|old| *old = qdisc.clone());
            }
            Step::MakeClass(class) => classes.push(class.clone()),
            Step::MakeFilter(filter) => filters.push(filter.clone()),
            Step::MakeQdisc(qdisc) => qdiscs.push(qdisc.clone()),
            Step::RemoveFilters { parent, preference } => {
                filters.retain(|filter| (filter.parent, filter.preference) != (*parent, *preference));
            }
            Step::RemoveSide { parent } => {
                let is_clsact = |handle: Handle| handle.qdisc() == Handle::CLSACT_QDISC;
                let goes = |is_of_clsact: bool| is_of_clsact == (*parent == Handle::CLSACT);
                qdiscs.retain(|qdisc| !goes(qdisc.parent == Handle::CLSACT));
                classes.retain(|_| !goes(false));
                filters.retain(|filter| !goes(is_clsact(filter.parent)));
            }
        }
        Ok(())
    }
}

const TREES: &[&str] = &[
    "",
    "qdisc root handle 1: prio\nfilter parent 1: prio 1 basic match 'canid(sff 0:7f0)' flowid 1:1",
    "qdisc root handle 1: prio bands 4\nqdisc parent 1:3 handle 30: pfifo limit 5\nfilter parent 1: prio 2 matchall flowid 1:1",
    "qdisc root handle 2: htb default 10\nclass parent 2: classid 2:10 htb rate 100frames/s burst 16 cburst 16\n\
     qdisc parent 2:10 handle 20: sfq limit 9\nqdisc clsact\nfilter ingress prio 1 matchall action skbedit mark 5",
    "qdisc clsact\nfilter egress prio 1 matchall action drop",
];

fn tree(number: usize) -> Tree {
    text::parse(TREES[number]).unwrap().tree
}

fn target(name: &str, before: usize, wanted: usize, refuses: Option<(usize, usize)>) -> Target<Played> {
    let kernel = Played { tree: tree(before), refuses, ..Played::default() };
    Target { name: name.to_owned(), kernel, wanted: tree(wanted) }
}

#[test]
fn what_is_there_is_left_alone() {
    for number in 0..TREES.len() {
        let mut targets = [target("can0", number, number, None)];
        assert_eq!(apply(&mut targets).unwrap()[0].steps, Steps::default());
        assert_eq!(targets[0].kernel.requests, 0);
    }
}

#[test]
fn what_cannot_be_brought_back_is_told() {
    let mut targets = [target("can0", 1, 3, Some((2, 50)))];
    let error = apply(&mut targets).unwrap_err();
    assert!(matches!(error.not_restored[..], [(_, Restored::Refused(_))]));
    insta::assert_snapshot!(error, @"The kernel refuses class 2:10 parent 2: on can0; can0 could not be brought back: The kernel refused: the kernel finds a value invalid");
}

proptest! {
    /// From each tree to each other, on two interfaces, with one request or none refused: both are as wanted, or as before.
    #[test]
    fn it_is_all_or_none(
        before in prop::array::uniform2(0..TREES.len()),
        wanted in prop::array::uniform2(0..TREES.len()),
        refused in prop::option::of((0..2_usize, 0..12_usize)),
    ) {
        let refuses = |at| refused.filter(|(on, _)| *on == at).map(|(_, number)| (number, 1));
        let mut targets =
            [0, 1].map(|at| target(["can0", "can1"][at], before[at], wanted[at], refuses(at)));
        let outcome = apply(&mut targets);
        let expected = if outcome.is_ok() { wanted } else { before };
        for (target, expected) in targets.iter().zip(expected) {
            prop_assert_eq!(differences(&tree(expected), &target.kernel.tree), []);
        }
        if let Err(error) = outcome {
            prop_assert!(error.not_restored.is_empty());
        }
    }
}
