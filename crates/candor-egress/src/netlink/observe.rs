//! The complete traffic control state of an interface.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::action::Action;
use crate::compile::SOURCE_MASK;
use crate::discipline::Discipline;
use crate::filter::{Classifier, Filter};
use crate::handle::Handle;
use crate::tree::{Class, Qdisc, Tree};
use candor_io::can::InterfaceIndex;

use super::arbitration::Statistics;
use super::list::{self, ListedClass, ListedFilter, ListedQdisc};
use super::message::InterfaceNames;
use super::program;
use super::stats::{ClassStats, FilterStats, QdiscStats};
use candor_netlink::client::{Client, NetlinkError};

/// The counters are in the order of the lists of [`tree`](Self::tree).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    pub tree: Tree,
    pub qdiscs: Vec<QdiscStats>,
    pub classes: Vec<ClassStats>,
    pub filters: Vec<FilterStats>,
    /// The kernel's own defaults, which have no handle.
    pub defaults: Vec<(Qdisc, QdiscStats)>,
    /// Classes that their discipline created, such as the bands of `prio`.
    pub bands: Vec<(Handle, ClassStats)>,
    /// Parents and numbers of further chains, whose filters are not in the tree.
    pub other_chains: Vec<(Handle, u32)>,
    /// Of a queue in the order of arbitration; read by [`arbitration::statistics`](super::arbitration::statistics).
    pub queue: Option<Statistics>,
}

/// Reads the state of an interface. It is not atomic: concurrent changes may be visible in part.
pub fn observe(
    client: &mut Client,
    interface: InterfaceIndex,
    names: &InterfaceNames,
) -> Result<Observed, NetlinkError> {
    let here = list::qdiscs(client)?.into_iter().filter(|listed| listed.interface == interface);
    let (made, defaults) = here.partition::<Vec<_>, _>(|listed| listed.qdisc.handle != Handle::NONE);
    let made = in_order_of_qdiscs(made);
    let (classes, bands) = list::classes(client, interface)?.into_iter().partition::<Vec<_>, _>(ListedClass::is_made);
    let classes = in_order_of_classes(classes, &made);
    let mut observed = Observed {
        defaults: defaults.into_iter().map(|listed| (listed.qdisc, listed.stats)).collect(),
        bands: bands.into_iter().map(|listed| (listed.class.handle, listed.stats)).collect(),
        ..Observed::default()
    };
    let mut has_ours = false;
    for parent in filtering(&made, &classes) {
        let mut listed = list::filters(client, interface, parent, names)?;
        listed.filters.retain(|listed| {
            let is_ours = is_ours(&listed.filter.classifier);
            has_ours |= is_ours;
            !is_ours
        });
        observed.other_chains.extend(listed.other_chains.into_iter().map(|chain| (parent, chain)));
        for ListedFilter { filter, stats } in in_order_of_filters(listed.filters) {
            observed.tree.filters.push(filter);
            observed.filters.push(stats);
        }
    }
    let is_ingress = |handle: Handle| handle.qdisc() == Handle::CLSACT_QDISC;
    let has_others = observed.tree.filters.iter().any(|filter| is_ingress(filter.parent))
        || observed.other_chains.iter().any(|(parent, _)| is_ingress(*parent));
    let is_hidden = |listed: &ListedQdisc| has_ours && !has_others && is_ingress(listed.qdisc.handle);
    // Made for programs, which have perhaps gone before the filters that mark frames.
    let is_made_here = has_ours || observed.tree.filters.iter().any(marks_source);
    let made = made.into_iter().filter(|listed| !is_hidden(listed)).map(|mut listed| {
        // An `ingress` has the same place for filters of received frames.
        if is_made_here && is_ingress(listed.qdisc.handle) {
            listed.qdisc.discipline = Discipline::Clsact;
        }
        listed
    });
    (observed.tree.qdiscs, observed.qdiscs) = made.map(|listed| (listed.qdisc, listed.stats)).unzip();
    (observed.tree.classes, observed.classes) = classes.into_iter().map(|listed| (listed.class, listed.stats)).unzip();
    Ok(observed)
}

/// True for filters that forward frames, which no file describes and no other program should change.
fn is_ours(classifier: &Classifier) -> bool {
    matches!(classifier, Classifier::Other { kind, options } if kind == "bpf" && program::are_ours(options))
}

/// True for filters that mark the frames of a bus.
fn marks_source(filter: &Filter) -> bool {
    matches!(filter.actions.as_slice(), [Action::Skbedit { mask: Some(SOURCE_MASK), .. }])
}

/// Parents that may have filters: disciplines, both hooks of `clsact`, and classes with filters of their own.
fn filtering(qdiscs: &[ListedQdisc], classes: &[ListedClass]) -> Vec<Handle> {
    let of_qdiscs = qdiscs.iter().flat_map(|listed| match &listed.qdisc.discipline {
        Discipline::Clsact => vec![Handle::INGRESS, Handle::EGRESS],
        _ if listed.qdisc.parent == Handle::CLSACT => vec![Handle::INGRESS],
        _ => vec![listed.qdisc.handle],
    });
    let of_classes = classes.iter().filter(|listed| listed.class.share.kind() != "drr");
    of_qdiscs.chain(of_classes.map(|listed| listed.class.handle)).collect()
}

/// A discipline before those below its classes, `clsact` last.
fn in_order_of_qdiscs(mut listed: Vec<ListedQdisc>) -> Vec<ListedQdisc> {
    let rank =
        |qdisc: &Qdisc| (qdisc.parent == Handle::CLSACT, qdisc.parent != Handle::ROOT, qdisc.parent, qdisc.handle);
    candor_core::order::sort_by_key(&mut listed, |listed| rank(&listed.qdisc));
    parents_first(
        listed,
        |listed| listed.qdisc.handle,
        |listed| match listed.qdisc.parent {
            Handle::ROOT | Handle::CLSACT => None,
            parent => Some(parent.qdisc()),
        },
    )
}

/// Those of a discipline after those of the disciplines before it, a class before those below it.
fn in_order_of_classes(mut listed: Vec<ListedClass>, qdiscs: &[ListedQdisc]) -> Vec<ListedClass> {
    let place = |class: &Class| qdiscs.iter().position(|listed| listed.qdisc.handle == class.handle.qdisc());
    listed.sort_by_cached_key(|listed| (place(&listed.class), listed.class.handle));
    parents_first(listed, |listed| listed.class.handle, |listed| Some(listed.class.parent))
}

/// By preference and number, and the tables of `u32` before the nodes that lead to them.
///
/// The kernel creates a root table for every preference of `u32`, which it reports last. It is left out,
/// and a node in it is in no table.
fn in_order_of_filters(mut listed: Vec<ListedFilter>) -> Vec<ListedFilter> {
    let is_table = |listed: &ListedFilter| listed.filter.classifier.is_table();
    let roots: BTreeMap<u16, u32> = candor_core::order::map(
        listed.iter().filter(|listed| is_table(listed)).map(|listed| (listed.filter.preference, listed.filter.handle)),
    );
    listed.retain(|listed| !is_table(listed) || roots.get(&listed.filter.preference) != Some(&listed.filter.handle));
    for ListedFilter { filter, .. } in &mut listed {
        let root = roots.get(&filter.preference);
        if let Classifier::U32(node) = &mut filter.classifier
            && root == Some(&node.table)
        {
            node.table = 0;
        }
    }
    candor_core::order::sort_by_key(&mut listed, |listed| {
        (listed.filter.preference, !is_table(listed), listed.filter.handle)
    });
    listed
}

/// In the given order, but each after its parent.
fn parents_first<T>(items: Vec<T>, name: impl Fn(&T) -> Handle, parent: impl Fn(&T) -> Option<Handle>) -> Vec<T> {
    let names: BTreeSet<Handle> = candor_core::order::set(items.iter().map(&name));
    let mut below: BTreeMap<Handle, Vec<T>> = BTreeMap::new();
    let mut next = VecDeque::new();
    for item in items {
        match parent(&item).filter(|parent| names.contains(parent) && *parent != name(&item)) {
            Some(parent) => below.entry(parent).or_default().push(item),
            None => next.push_back(item),
        }
    }
    let mut ordered = Vec::new();
    while let Some(item) = next.pop_front() {
        next.extend(below.remove(&name(&item)).unwrap_or_default());
        ordered.push(item);
    }
    // What goes round in a circle, which the kernel does not have, is not lost.
    ordered.extend(below.into_values().flatten());
    ordered
}

#[cfg(test)]
mod tests {
    use crate::filter::{ETH_P_ALL, U32};
    use crate::tree::Share;

    use super::*;

    fn qdisc(major: u16, parent: Handle) -> ListedQdisc {
        let qdisc = Qdisc { handle: Handle::new(major, 0), parent, stab: None, discipline: Discipline::Drr };
        ListedQdisc { interface: InterfaceIndex::new(1).unwrap(), qdisc, stats: QdiscStats::default() }
    }

    fn class(major: u16, minor: u16, parent: Handle) -> ListedClass {
        let class = Class { handle: Handle::new(major, minor), parent, share: Share::Drr { quantum_bytes: None } };
        ListedClass { interface: InterfaceIndex::new(1).unwrap(), class, stats: ClassStats::default() }
    }

    fn u32(preference: u16, handle: u32, table: u32, divisor: Option<u32>) -> ListedFilter {
        let classifier = Classifier::U32(U32 { table, divisor, ..U32::default() });
        let (parent, protocol) = (Handle::new(1, 0), ETH_P_ALL);
        let filter = Filter { parent, preference, protocol, handle, classifier, class: None, actions: Vec::new() };
        ListedFilter { filter, stats: FilterStats::default() }
    }

    #[test]
    fn parents_come_before_children() {
        let clsact = |major| qdisc(major, Handle::CLSACT);
        let listed = vec![
            clsact(0xFFFF),
            qdisc(2, Handle::new(9, 1)),
            qdisc(1, Handle::new(2, 1)),
            qdisc(9, Handle::ROOT),
            qdisc(3, Handle::new(7, 1)),
        ];
        let ordered = in_order_of_qdiscs(listed);
        let majors: Vec<_> = ordered.iter().map(|listed| listed.qdisc.handle.major()).collect();
        assert_eq!(majors, [9, 3, 0xFFFF, 2, 1]);
        let below = |major, minor, parent| class(major, minor, Handle::new(major, parent));
        let classes = vec![below(1, 3, 0), below(9, 1, 2), below(9, 2, 0), below(9, 5, 1)];
        let ordered = in_order_of_classes(classes, &ordered);
        let handles: Vec<_> = ordered.iter().map(|listed| listed.class.handle.to_string()).collect();
        assert_eq!(handles, ["9:2", "1:3", "9:1", "9:5"]);
    }

    #[test]
    fn keeps_qdiscs_in_a_loop() {
        let ordered = in_order_of_qdiscs(vec![qdisc(1, Handle::new(2, 1)), qdisc(2, Handle::new(1, 1))]);
        assert_eq!(ordered.len(), 2);
    }

    #[test]
    fn leaves_out_root_tables_of_u32() {
        let listed = vec![
            u32(7, 0x0010_0000, 0, Some(16)),
            u32(7, 0x0010_3800, 0x0010_3000, None),
            u32(7, 0x8000_0000, 0, Some(1)),
            u32(7, 0x8000_0800, 0x8000_0000, None),
            u32(6, 0x8010_0000, 0, Some(1)),
            u32(6, 0x8010_0800, 0x8010_0000, None),
        ];
        let expected = [
            u32(6, 0x8010_0800, 0, None),
            u32(7, 0x0010_0000, 0, Some(16)),
            u32(7, 0x0010_3800, 0x0010_3000, None),
            u32(7, 0x8000_0800, 0, None),
        ];
        assert_eq!(in_order_of_filters(listed), expected);
    }
}
