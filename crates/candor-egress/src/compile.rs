//! [`Policy`] → [`Tree`]: what is wanted, in disciplines, classes and filters that are free of every trap known on CAN.
//!
//! ```text
//!  limits ──▶ clsact egress (police)              frames from other buses: clsact ingress there (skbedit mark)
//!  bands  ──▶ prio 1: ─┬─ 1:1 pfifo 10:
//!                      ├─ 1:2 sfq 20: + flow       "fair"
//!                      └─ 1:3 tbf 30: ─ 30:1 …     "rate"
//! ```
//!
//! * Bands with shares: `ets` instead of `prio`, with those before them as strict bands.
//! * Every queue has a length of its own; none takes that of the interface by accident.
//! * Frames that no filter takes go to the last band, whatever their priority: `priomap` says so.
//! * Where lengths count, every frame of any format counts as 256 bytes: so a rate is one of frames, and kernels that raise
//!   the quantum of `sfq` to 256 bytes still give each sender one frame in turn.
//! * Nothing drops a frame behind the back of its sender unless the policy asks for it. `sfq` refuses when a sender has its
//!   own part full; the room of all together is so large that it is never the first to be full.
//! * A shaper stands above one queue, or above senders that are equal: the frame that it holds in its hand overtakes nothing.
//!   (`tbf` takes the next frame out of `sfq` before it may leave.)
//!
//! # Source
//! `sfq_enqueue()` (`NET_XMIT_DROP` at the depth of a flow, `NET_XMIT_CN`, which is no error, at the limit of all),
//! `tbf_dequeue()`, `__qdisc_calculate_pkt_len()` of Linux 6.1.

mod expression;
mod index;
mod queue;
mod units;

pub use units::{FRAME_BYTES, source_mark};

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Action, Police, PoliceFrames, Verdict};
use super::control_group::{ControlGroup, MOST_GROUPS};
use super::discipline::{Discipline, Ets, Prio, SizeTable};
use super::filter::{Classifier, ETH_P_ALL, Filter};
use super::handle::Handle;
use super::policy::{Band, Limit, Policy, Selection};
use super::tree::{Qdisc, Tree};
use crate::policy::{Egress, Wish};
use candor_core::job::BusIndex;

/// The trees of all buses that these have to do with: their own, and those of the buses whose frames they know by where they
/// came from.
#[must_use]
pub fn trees(egress: &[Egress]) -> BTreeMap<BusIndex, Tree> {
    let mut trees = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for Egress { bus, wish } in egress {
        let tree = match wish {
            Wish::Tree(tree) => tree.clone(),
            Wish::Bands(policy) => {
                let limits = policy.limits().iter().flat_map(|limit| &limit.take);
                let selections = policy.bands().iter().flat_map(|band| &band.take).chain(limits);
                sources.extend(selections.flat_map(|selection| selection.from.iter().copied()));
                tree(policy)
            }
        };
        trees.insert(*bus, tree);
    }
    for source in sources {
        mark_what_comes_in(trees.entry(source).or_default(), source);
    }
    trees
}

/// The tree of one bus; frames that others forward have to be marked by them, see [`trees`].
#[must_use]
pub fn tree(policy: &Policy) -> Tree {
    let mut tree = Tree::default();
    let bands = policy.bands();
    let needs_frames = bands.iter().any(queue::needs_frames);
    let stab = needs_frames.then(|| SizeTable::even(0, FRAME_BYTES, 2047, 512));
    if let [band] = bands {
        queue::add(&mut tree, Handle::ROOT, 0x10, band);
    } else {
        let root = Handle::new(1, 0);
        let discipline = scheduler(bands);
        tree.qdiscs.push(Qdisc { handle: root, parent: Handle::ROOT, stab: None, discipline });
        for (number, band) in (1..).zip(bands) {
            let class = Handle::new(root.major(), number);
            filters(&mut tree, root, &band.take, class);
            queue::add(&mut tree, class, number * 0x10, band);
        }
        // Those of each discipline together, and in its order; tables of `u32` first.
        tree.filters.sort_by_key(|filter| (filter.parent, index::table_of(filter).is_none()));
    }
    if let Some(root) = tree.qdiscs.first_mut() {
        root.stab = stab;
    }
    for limit in policy.limits() {
        clsact(&mut tree);
        if let Some(classifier) = of_limit(limit) {
            push(&mut tree, Filter { actions: vec![police(limit)], ..filter(Handle::EGRESS, classifier) });
        }
    }
    tree
}

/// One filter for all that counts together. `None` if no frame is meant.
fn of_limit(limit: &Limit) -> Option<Classifier> {
    let groups: Vec<_> = limit.take.iter().flat_map(|selection| selection.groups.iter().cloned()).collect();
    if groups.is_empty() {
        return expression::of_any(&limit.take).map(Classifier::Basic);
    }
    Some(Classifier::ControlGroups(groups.into_iter().map(ControlGroup::named).collect()))
}

/// What takes the first band that has a frame, and those that share in turns. All that no filter takes goes to the last one.
fn scheduler(bands: &[Band]) -> Discipline {
    let number = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
    let (all, last) = (number(bands.len()), number(bands.len().saturating_sub(1)));
    let shares = bands.iter().filter_map(|band| band.share);
    let quanta_bytes: Vec<_> = shares.map(|share| u32::from(share.get()) * FRAME_BYTES).collect();
    if quanta_bytes.is_empty() {
        return Discipline::Prio(Prio { bands: all, priomap: [last; 16] });
    }
    let strict = number(bands.len() - quanta_bytes.len());
    Discipline::Ets(Ets { bands: all, strict, quanta_bytes, priomap: vec![last; 16] })
}

/// Where the frames of each band wait in the tree of a policy: its class, or, of a single one, the discipline at the root.
pub fn band_places(policy: &Policy) -> impl Iterator<Item = (Handle, &str)> {
    let is_alone = policy.bands().len() == 1;
    let place = move |number| if is_alone { Handle::new(0x10, 0) } else { Handle::new(1, number) };
    (1..).zip(policy.bands()).map(move |(number, band)| (place(number), band.name.as_str()))
}

/// What is above is refused with `ENOBUFS`; what is not goes on to the next limit, which may be for it, too.
fn police(limit: &Limit) -> Action {
    let per_second = u64::from(limit.rate.frames_per_second());
    let burst_frames = u64::from(limit.burst_frames.get());
    let frames = Some(PoliceFrames { per_second, burst_frames });
    Action::Police(Police { bytes: None, frames, exceed: Verdict::Drop, conform: Verdict::Continue })
}

/// A filter, or more, for each selection: so the kernel counts each by itself.
fn filters(tree: &mut Tree, parent: Handle, take: &[Selection], class: Handle) {
    for selection in take {
        if !selection.groups.is_empty() {
            by_group(tree, parent, selection, class);
            continue;
        }
        match index::split(selection) {
            Some((long, short)) => {
                compared(tree, parent, &short, class);
                let preference = next_preference(tree, parent);
                index::add(tree, parent, preference, Some(class), &long);
            }
            None => compared(tree, parent, selection, class),
        }
    }
}

fn by_group(tree: &mut Tree, parent: Handle, selection: &Selection, class: Handle) {
    for groups in selection.groups.chunks(MOST_GROUPS) {
        let groups = groups.iter().cloned().map(ControlGroup::named).collect();
        push(tree, Filter { class: Some(class), ..filter(parent, Classifier::ControlGroups(groups)) });
    }
}

fn compared(tree: &mut Tree, parent: Handle, selection: &Selection, class: Handle) {
    for expression in expression::of(selection) {
        push(tree, Filter { class: Some(class), ..filter(parent, Classifier::Basic(expression)) });
    }
}

fn filter(parent: Handle, classifier: Classifier) -> Filter {
    Filter { parent, preference: 0, protocol: ETH_P_ALL, handle: 0, classifier, class: None, actions: Vec::new() }
}

/// Behind the filters of its parent that are there.
fn push(tree: &mut Tree, filter: Filter) {
    let preference = next_preference(tree, filter.parent);
    tree.filters.push(Filter { preference, ..filter });
}

fn next_preference(tree: &Tree, parent: Handle) -> u16 {
    let before = tree.filters.iter().filter(|other| other.parent == parent).map(|other| other.preference).max();
    // A policy has far fewer than 65535 of them: 16384 rules and as many selections as stand in a file of 8 MiB.
    before.map_or(1, |before| before.saturating_add(1))
}

fn clsact(tree: &mut Tree) {
    let is_there = tree.qdiscs.iter().any(|qdisc| qdisc.parent == Handle::CLSACT);
    if !is_there {
        let (handle, parent) = (Handle::CLSACT_QDISC, Handle::CLSACT);
        tree.qdiscs.push(Qdisc { handle, parent, stab: None, discipline: Discipline::Clsact });
    }
}

fn mark_what_comes_in(tree: &mut Tree, bus: BusIndex) {
    clsact(tree);
    let action = Action::Skbedit { priority: None, mark: Some(source_mark(bus)), verdict: Verdict::Pipe };
    push(tree, Filter { actions: vec![action], ..filter(Handle::INGRESS, Classifier::Matchall) });
}

#[cfg(test)]
pub(super) mod tests;
