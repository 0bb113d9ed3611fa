//! A kernel that is played, which refuses whichever request it is told to.

use crate::handle::Handle;
use crate::netlink::TcError;
use crate::steps::Step;
use crate::text;
use crate::tree::Tree;
use candor_netlink::client::{Errno, NetlinkError};

use super::machine::Kernel;

/// Holds a tree and counts requests.
#[derive(Debug, Default)]
pub(crate) struct FakeKernel {
    pub(crate) tree: Tree,
    pub(crate) requests: usize,
    /// The request of this number is refused, and so many behind it.
    pub(crate) refuses: Option<(usize, usize)>,
}

impl Kernel for FakeKernel {
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

/// Trees of every kind of change between them.
pub(crate) const TREES: &[&str] = &[
    "",
    "qdisc root handle 1: prio\nfilter parent 1: prio 1 basic match 'canid(sff 0:7f0)' flowid 1:1",
    "qdisc root handle 1: prio bands 4\nqdisc parent 1:3 handle 30: pfifo limit 5\nfilter parent 1: prio 2 matchall flowid 1:1",
    "qdisc root handle 2: htb default 10\nclass parent 2: classid 2:10 htb rate 100frames/s burst 16 cburst 16\n\
     qdisc parent 2:10 handle 20: sfq limit 9\nqdisc clsact\nfilter ingress prio 1 matchall action skbedit mark 5",
    "qdisc clsact\nfilter egress prio 1 matchall action drop",
];

pub(crate) fn tree(number: usize) -> Tree {
    text::parse(TREES[number]).unwrap().tree
}
