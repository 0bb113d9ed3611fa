//! Disciplines, classes and filters made by candor's own messages on a real kernel, and read back.

mod made;
mod tool;
mod trees;

use candor_core::egress::action::{Action, Verdict};
use candor_core::egress::canonical::differences;
use candor_core::egress::discipline::{ByteRate, Discipline, Prio};
use candor_core::egress::filter::{Classifier, ETH_P_ALL, Filter};
use candor_core::egress::handle::Handle;
use candor_core::egress::tree::{Class, Qdisc, Tree};
use candor_netlink::client::Client;
use candor_netlink::tc::{self, InterfaceNames, Observed, TcError};

use crate::pair::Pair;
use crate::require::{Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const NEAR: &str = "t-near";
const FAR: &str = "t-far";

/// An interface with a wire behind it, and a connection to the kernel.
struct Place {
    pair: Pair,
    client: Client,
    names: InterfaceNames,
}

impl Place {
    fn new() -> Self {
        let pair = Pair::new([NEAR, FAR]);
        let mut client = Client::open().unwrap();
        let names = InterfaceNames::read(&mut client).unwrap();
        Self { pair, client, names }
    }

    /// Makes all of it, in its order.
    fn make(&mut self, tree: &Tree) -> Result<(), TcError> {
        let near = self.pair.near;
        tree.qdiscs
            .iter()
            .filter(|qdisc| !is_below_a_class(qdisc, tree))
            .try_for_each(|qdisc| self.make_qdisc(qdisc))?;
        for class in &tree.classes {
            tc::make_class(&mut self.client, near, class)?;
            // What hangs below a class is there before classes of its own are.
            let below = tree.qdiscs.iter().filter(|qdisc| qdisc.parent == class.handle);
            below.into_iter().try_for_each(|qdisc| self.with_bands_below(qdisc, tree))?;
        }
        tree.filters.iter().try_for_each(|filter| tc::make_filter(&mut self.client, near, filter, &self.names))
    }

    fn with_bands_below(&mut self, qdisc: &Qdisc, tree: &Tree) -> Result<(), TcError> {
        self.make_qdisc(qdisc)?;
        let of_a_band = |below: &&Qdisc| below.parent.qdisc() == qdisc.handle && !is_made_class(below.parent, tree);
        tree.qdiscs.iter().filter(of_a_band).try_for_each(|below| self.with_bands_below(below, tree))
    }

    fn make_qdisc(&mut self, qdisc: &Qdisc) -> Result<(), TcError> {
        tc::replace_qdisc(&mut self.client, self.pair.near, qdisc)
    }

    fn observe(&mut self) -> Observed {
        tc::observe(&mut self.client, self.pair.near, &self.names).unwrap()
    }

    /// Takes all of it away; nothing is left but the kernel's own.
    fn clear(&mut self) {
        let there = self.observe().tree;
        for parent in [Handle::ROOT, Handle::CLSACT] {
            if there.qdiscs.iter().any(|qdisc| qdisc.parent == parent) {
                tc::delete_qdisc(&mut self.client, self.pair.near, parent, Handle::NONE).unwrap();
            }
        }
        let left = self.observe();
        assert_eq!(left.tree, Tree::default());
        let kinds: Vec<_> = left.defaults.iter().map(|(qdisc, _)| qdisc.discipline.kind()).collect();
        assert_eq!(kinds, ["noqueue"]);
    }

    /// Makes it, reads it back, and takes it away.
    fn round(&mut self, tree: &Tree) {
        self.make(tree).unwrap_or_else(|error| panic!("{error}: {tree:#?}"));
        let found = self.observe();
        assert_eq!(differences(tree, &found.tree), [], "{tree:#?}");
        assert_eq!(found.qdiscs.len(), found.tree.qdiscs.len());
        self.clear();
    }
}

fn is_made_class(handle: Handle, tree: &Tree) -> bool {
    tree.classes.iter().any(|class| class.handle == handle)
}

/// Below a class that is made one by one, or below a discipline that is.
fn is_below_a_class(qdisc: &Qdisc, tree: &Tree) -> bool {
    let mut parent = qdisc.parent;
    for _ in 0..tree.qdiscs.len() {
        if is_made_class(parent, tree) {
            return true;
        }
        match tree.qdiscs.iter().find(|other| other.handle == parent.qdisc() && parent != Handle::ROOT) {
            Some(above) => parent = above.parent,
            None => return false,
        }
    }
    false
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
fn what_the_kernel_refuses_it_explains() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    let below = Qdisc { parent: Handle::new(7, 1), handle: Handle::new(8, 0), ..prio() };
    let error = place.make_qdisc(&below).unwrap_err();
    assert_eq!(error.to_string(), "The kernel refused: no such entry (Failed to find specified qdisc)");
    let rate = ByteRate(0);
    let tbf = candor_core::egress::discipline::Tbf { rate, burst_bytes: 16, limit_bytes: 16, peak: None };
    assert!(matches!(place.make_qdisc(&root(Discipline::Tbf(tbf))), Err(TcError::Encode(_))));
    place.make_qdisc(&prio()).unwrap();
    let lost = doing(Handle::INGRESS, Action::Gact { verdict: Verdict::Drop });
    assert!(tc::make_filter(&mut place.client, place.pair.near, &lost, &place.names).is_err());
    place.clear();
}
