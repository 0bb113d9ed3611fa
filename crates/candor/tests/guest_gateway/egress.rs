//! Disciplines, classes and filters on a real kernel, created and read with candor's own messages.

mod arbitration;
mod claims;
mod commands;
mod counted;
mod departures;
mod groups;
mod line;
mod lookup;
mod made;
mod ordered;
pub(crate) mod paced;
mod report;

use std::sync::MutexGuard;

use candor_egress::action::{Action, Verdict};
use candor_egress::canonical::differences;
use candor_egress::discipline::{ByteRate, Discipline, Prio, Tbf};
use candor_egress::filter::{Classifier, ETH_P_ALL, Filter};
use candor_egress::handle::Handle;
use candor_egress::kernel::{Interface, Kernel as _};
use candor_egress::netlink::{Observed, TcError};
use candor_egress::steps::{self, Step};
use candor_egress::tree::{Class, Qdisc, Tree};

use crate::prelude::*;

const NEAR: &str = "t-near";
const FAR: &str = "t-far";

/// A vxcan pair, and the queues of its near end.
struct Fixture {
    pair: Pair,
    kernel: Interface,
    _machine: MutexGuard<'static, ()>,
}

impl Fixture {
    fn new(features: &[Feature]) -> Option<Self> {
        let machine = require(features)?;
        let pair = Pair::new([NEAR, FAR]);
        Some(Self { pair, kernel: interface(NEAR), _machine: machine })
    }

    fn sender(&self) -> CanSocket {
        sender_on(self.pair.near)
    }

    fn make(&mut self, tree: &Tree) -> Result<(), TcError> {
        make(&mut self.kernel, tree)
    }

    fn make_qdisc(&mut self, qdisc: &Qdisc) -> Result<(), TcError> {
        self.kernel.carry_out(&Step::MakeQdisc(qdisc.clone()))
    }

    fn observe(&mut self) -> Observed {
        self.kernel.observe().unwrap()
    }

    /// Deletes everything except the default of the kernel.
    fn clear(&mut self) {
        clear(&mut self.kernel);
        let left = self.observe();
        let kinds: Vec<_> = left.defaults.iter().map(|(qdisc, _)| qdisc.discipline.kind()).collect();
        assert_eq!(kinds, ["noqueue"]);
    }

    /// Makes a tree, reads it back, and deletes it.
    fn round(&mut self, tree: &Tree) {
        self.make(tree).unwrap_or_else(|error| panic!("{error}: {tree:#?}"));
        let found = self.observe();
        assert_eq!(differences(tree, &found.tree), [], "{tree:#?}");
        assert_eq!(found.qdiscs.len(), found.tree.qdiscs.len());
        self.clear();
    }
}

pub(crate) fn interface(name: &str) -> Interface {
    Interface::open(name).unwrap().unwrap_or_else(|| panic!("no interface {name}"))
}

/// Makes a tree on an interface without one.
pub(crate) fn make(kernel: &mut Interface, tree: &Tree) -> Result<(), TcError> {
    steps::create(tree).iter().try_for_each(|step| kernel.carry_out(step))
}

fn clear(kernel: &mut Interface) {
    let there = kernel.found().unwrap();
    steps::steps(&Tree::default(), &there).requests.iter().for_each(|step| kernel.carry_out(step).unwrap());
    assert_eq!(kernel.found().unwrap(), Tree::default());
}

fn root(discipline: Discipline) -> Qdisc {
    Qdisc { handle: Handle::new(1, 0), parent: Handle::ROOT, stab: None, discipline }
}

fn prio() -> Qdisc {
    root(Discipline::Prio(Prio { bands: 3, priomap: Prio::PRIOMAP }))
}

fn filter(parent: Handle, classifier: Classifier) -> Filter {
    let class = Some(Handle::new(1, 1));
    Filter { parent, preference: 1, protocol: ETH_P_ALL, handle: 0, classifier, class, actions: Vec::new() }
}

fn doing(parent: Handle, action: Action) -> Filter {
    Filter { class: None, actions: vec![action], ..filter(parent, Classifier::Matchall) }
}

fn of(qdiscs: Vec<Qdisc>, classes: Vec<Class>, filters: Vec<Filter>) -> Tree {
    Tree { qdiscs, classes, filters }
}

#[test]
#[ignore = "runs in a guest"]
fn reports_why_the_kernel_refuses() {
    let Some(mut fixture) = Fixture::new(VCAN) else { return };
    let below = Qdisc { parent: Handle::new(7, 1), handle: Handle::new(8, 0), ..prio() };
    let error = fixture.make_qdisc(&below).unwrap_err();
    assert_eq!(error.to_string(), "the kernel refused: no such entry (Failed to find specified qdisc)");
    let tbf = Tbf { rate: ByteRate(0), burst_bytes: 16, limit_bytes: 16, peak: None };
    assert!(matches!(fixture.make_qdisc(&root(Discipline::Tbf(tbf))), Err(TcError::Encode(_))));
    fixture.make_qdisc(&prio()).unwrap();
    let lost = doing(Handle::INGRESS, Action::Gact { verdict: Verdict::Drop });
    assert!(fixture.kernel.carry_out(&Step::MakeFilter(lost)).is_err());
    fixture.clear();
}
