//! Strategies for property tests of trees: disciplines in their places, classes, filters, actions.

pub mod any;
mod filters;
mod kinds;

pub use filters::filters;
pub use kinds::rate;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Union;

use self::kinds::{in_text, quantity};
use super::discipline::{Discipline, Ets, Peak, Prio, SizeTable, Tbf};
use super::filter::Filter;
use super::handle::Handle;
use super::tree::{Class, HtbClass, Qdisc, Share, Tree};

/// Trees that a `tc` script can express: parents come before their children; filters of one parent are in the order in
/// which they run, after all `u32` tables. A kernel may refuse one for its numbers: missing tables, perturbation of
/// centuries, clocks that `etf` rejects.
pub fn tree() -> impl Strategy<Value = Tree> {
    let clsact = option::weighted(0.3, (filters(Vec::new()), filters(Vec::new())));
    (option::weighted(0.9, subtree().boxed()), clsact, option::weighted(0.3, size_table())).prop_flat_map(
        |(subtree, clsact, stab)| {
            let mut tree = Tree::default();
            if let Some(subtree) = subtree {
                put(&mut tree, Handle::ROOT, subtree);
                // Disciplines are numbered in the order in which they are made.
                tree.classes.sort_by_key(|class| class.handle.major());
                tree.qdiscs[0].stab = stab;
            }
            let asked: Vec<_> = tree.qdiscs.iter().filter_map(|qdisc| asks(qdisc, &tree.classes)).collect();
            let of_qdiscs: Vec<_> = asked
                .into_iter()
                .map(|(parent, classes)| filters(classes).prop_map(move |found| below(parent, found)))
                .collect();
            (Just(tree), Just(clsact), of_qdiscs).prop_map(|(mut tree, clsact, of_qdiscs)| {
                tree.filters.extend(of_qdiscs.into_iter().flatten());
                if let Some((ingress, egress)) = clsact {
                    let (handle, parent) = (Handle::CLSACT_QDISC, Handle::CLSACT);
                    tree.qdiscs.push(Qdisc { handle, parent, stab: None, discipline: Discipline::Clsact });
                    tree.filters.extend(below(Handle::INGRESS, ingress));
                    tree.filters.extend(below(Handle::EGRESS, egress));
                }
                tree
            })
        },
    )
}

fn below(parent: Handle, filters: Vec<Filter>) -> Vec<Filter> {
    filters.into_iter().map(|filter| Filter { parent, ..filter }).collect()
}

/// The handle of a discipline that runs filters, and the classes that they may name.
fn asks(qdisc: &Qdisc, classes: &[Class]) -> Option<(Handle, Vec<Handle>)> {
    let numbered = |count: u8| (1..=u16::from(count)).map(|minor| Handle::new(qdisc.handle.major(), minor)).collect();
    let named = match &qdisc.discipline {
        Discipline::Prio(_) | Discipline::Ets(_) => numbered(qdisc.discipline.bands()),
        Discipline::Sfq(_) | Discipline::FqCodel(_) => numbered(100),
        Discipline::Htb(_) | Discipline::Drr => {
            classes.iter().map(|class| class.handle).filter(|class| class.qdisc() == qdisc.handle).collect()
        }
        _ => return None,
    };
    Some((qdisc.handle, named))
}

#[derive(Clone, Debug)]
enum Subtree {
    Alone(Discipline),
    Below(Discipline, Vec<Option<Self>>),
    Classes(Discipline, Vec<(Share, Option<Self>)>),
}

fn subtree() -> impl Strategy<Value = Subtree> {
    childless().boxed().prop_map(Subtree::Alone).prop_recursive(3, 12, 3, |inner| {
        let children = vec(option::of(inner.clone()), 0..3);
        let bands = prop_oneof![prio().boxed(), ets().boxed()];
        let of_htb = vec((htb_class(), option::of(inner.clone())), 0..4);
        let of_drr = vec((option::of(quantity()), option::of(inner.clone())), 0..3);
        prop_oneof![
            (bands, children).prop_map(|(discipline, children)| Subtree::Below(discipline, children)),
            (prop_oneof![tbf().boxed(), in_text("netem")], option::of(inner))
                .prop_map(|(discipline, child)| Subtree::Below(discipline, vec![child])),
            (in_text("htb"), of_htb).prop_map(|(htb, classes)| {
                let classes = classes.into_iter().map(|(class, child)| (Share::Htb(class), child));
                Subtree::Classes(htb, classes.collect())
            }),
            of_drr.prop_map(|classes| {
                let classes = classes.into_iter().map(|(quantum_bytes, child)| (Share::Drr { quantum_bytes }, child));
                Subtree::Classes(Discipline::Drr, classes.collect())
            }),
        ]
    })
}

fn put(tree: &mut Tree, parent: Handle, subtree: Subtree) {
    let major = u16::try_from(tree.qdiscs.len() + 1).expect("a tree of a test has few disciplines");
    let handle = Handle::new(major, 0);
    let discipline = match &subtree {
        Subtree::Alone(discipline) | Subtree::Below(discipline, _) | Subtree::Classes(discipline, _) => {
            discipline.clone()
        }
    };
    let bands = usize::from(discipline.bands().max(1));
    tree.qdiscs.push(Qdisc { handle, parent, stab: None, discipline });
    match subtree {
        Subtree::Alone(_) => {}
        Subtree::Below(_, children) => {
            for (minor, child) in (1..).zip(children.into_iter().take(bands)) {
                child.into_iter().for_each(|child| put(tree, Handle::new(major, minor), child));
            }
        }
        Subtree::Classes(_, classes) => {
            for (minor, (share, child)) in (1..).zip(classes) {
                let class = Handle::new(major, minor);
                // The second class of htb is below the first one, which can have no discipline then.
                let is_inner = matches!(share, Share::Htb(_)) && minor == 1;
                let is_below = matches!(share, Share::Htb(_)) && minor == 2;
                let parent = if is_below { Handle::new(major, 1) } else { handle };
                tree.classes.push(Class { handle: class, parent, share });
                child.into_iter().filter(|_| !is_inner).for_each(|child| put(tree, class, child));
            }
        }
    }
}

pub fn childless() -> impl Strategy<Value = Discipline> {
    let kinds = ["pfifo", "pfifo_head_drop", "bfifo", "skbprio", "pfifo_fast", "sfq", "fq_codel", "etf"];
    Union::new(kinds.map(in_text))
}

fn prio() -> impl Strategy<Value = Discipline> {
    (2..=16_u8)
        .prop_flat_map(|bands| (Just(bands), proptest::array::uniform16(0..bands)))
        .prop_map(|(bands, priomap)| Discipline::Prio(Prio { bands, priomap }))
}

fn ets() -> impl Strategy<Value = Discipline> {
    (1..=16_u8)
        .prop_flat_map(|bands| (Just(bands), 0..=bands))
        .prop_flat_map(|(bands, strict)| {
            let quanta = vec(quantity(), 0..=usize::from(bands - strict));
            (Just((bands, strict)), quanta, vec(0..bands, 0..=16))
        })
        .prop_map(|((bands, strict), quanta_bytes, priomap)| {
            Discipline::Ets(Ets { bands, strict, quanta_bytes, priomap })
        })
}

fn tbf() -> impl Strategy<Value = Discipline> {
    let peak = option::weighted(0.3, (rate(), quantity()).prop_map(|(rate, burst_bytes)| Peak { rate, burst_bytes }));
    (rate(), quantity(), quantity(), peak).prop_map(|(rate, burst_bytes, limit_bytes, peak)| {
        Discipline::Tbf(Tbf { rate, burst_bytes, limit_bytes, peak })
    })
}

fn htb_class() -> impl Strategy<Value = HtbClass> {
    (rate(), rate(), quantity(), quantity(), option::of(quantity()), 0..=7_u32).prop_map(
        |(rate, ceil, burst_bytes, ceil_burst_bytes, quantum_bytes, prio)| HtbClass {
            rate,
            ceil,
            burst_bytes,
            ceil_burst_bytes,
            quantum_bytes,
            prio,
        },
    )
}

/// Size tables of `tc`: an overhead alone, or an even table.
pub fn size_table() -> impl Strategy<Value = SizeTable> {
    let even = (-300..300_i32, 1..200_u32, 1..5000_u32, 1..600_usize)
        .prop_map(|(overhead, mpu, mtu, slots)| SizeTable::even(overhead, mpu, mtu, slots));
    let overhead = (-300..300_i32).prop_map(|overhead_bytes| SizeTable { overhead_bytes, ..SizeTable::default() });
    prop_oneof![2 => overhead, 1 => even]
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest! {
        #[test]
        fn trees_are_in_creation_order(tree in tree()) {
            let qdisc = |handle: Handle| tree.qdiscs.iter().position(|qdisc| qdisc.handle == handle);
            let class = |handle: Handle| tree.classes.iter().position(|class| class.handle == handle);
            for (at, found) in tree.qdiscs.iter().enumerate() {
                let above = [Handle::ROOT, Handle::CLSACT].contains(&found.parent);
                prop_assert!(above || qdisc(found.parent.qdisc()).is_some_and(|parent| parent < at));
            }
            for (at, found) in tree.classes.iter().enumerate() {
                prop_assert!(qdisc(found.parent).is_some() || class(found.parent).is_some_and(|parent| parent < at));
            }
            for pair in tree.filters.windows(2).filter(|pair| pair[0].parent == pair[1].parent) {
                let [one, other] = [&pair[0], &pair[1]].map(|filter| (!filter.classifier.is_table(), filter.preference));
                prop_assert!(one < other);
            }
        }
    }
}
