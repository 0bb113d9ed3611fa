//! [`Policy`] → [`Tree`]: a policy as disciplines, classes and filters, without the known traps on CAN.
//!
//! ```text
//!  limits ──▶ clsact egress (police)              frames from other buses: clsact ingress there (skbedit mark)
//!  bands  ──▶ prio 1: ─┬─ 1:1 pfifo 10:
//!                      ├─ 1:2 sfq 20: + flow       "fair"
//!                      └─ 1:3 tbf 30: ─ 30:1 …     "rate"
//! ```
//!
//! * Bands with shares: `ets` instead of `prio`, with those before them as strict bands.
//! * Every queue has a length of its own; none depends on `txqueuelen`.
//! * Unmatched frames go to the last band, regardless of their priority: `priomap` is set accordingly.
//! * Where lengths count, every frame of any format counts as 256 bytes: so a rate is one of frames, and kernels that raise
//!   the quantum of `sfq` to 256 bytes still give each sender one frame in turn.
//! * No frame is dropped silently unless the policy allows it. `sfq` refuses when a sender has its
//!   own part full; the room of all together is so large that it is never the first to be full.
//! * A shaper is above one queue, or above equal senders, so that the frame that it holds overtakes nothing.
//!   (`tbf` takes the next frame out of `sfq` before it may leave.)
//!
//! # Source
//! Linux 6.1: [`sfq_enqueue()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_sfq.c#L342) (`NET_XMIT_DROP` at the
//! depth of a flow, `NET_XMIT_CN`, which is no error, at the limit of all),
//! [`tbf_dequeue()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_tbf.c#L274),
//! [`__qdisc_calculate_pkt_len()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_api.c#L587).

use std::collections::{BTreeMap, BTreeSet};

use candor_core::job::BusIndex;

use super::action::{Action, Police, PoliceFrames, Verdict};
use super::arbitration::Arbitration;
use super::control_group::{ControlGroup, MOST_GROUPS};
use super::discipline::{ByteRate, Discipline, Ets, Prio, Sfq, SizeTable, Tbf};
use super::filter::{Classifier, ETH_P_ALL, Filter, Flow, FlowKey};
use super::handle::Handle;
use super::policy::{
    Band, Egress, Fair, FrameRate, Full, Limit, MOST_FRAMES_OF_A_SENDER, Policy, Queue, Queueing, Selection,
};
use super::tree::{Qdisc, Tree};

mod expression;
mod index;

/// The trees of these buses, and of the buses whose frames their policies select by origin.
#[must_use]
pub fn trees(egress: &[Egress]) -> BTreeMap<BusIndex, Tree> {
    let mut trees = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for Egress { bus, queueing } in egress {
        let tree = match queueing {
            Queueing::Arbitration { queue, .. } => in_order_of_arbitration(queue),
            Queueing::Tree(tree) => tree.clone(),
            Queueing::Bands(policy) => {
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

/// The handle is fixed: the name has the options.
fn in_order_of_arbitration(arbitration: &Arbitration) -> Tree {
    let discipline = Discipline::Arbitration(arbitration.clone());
    let root = Qdisc { handle: Handle::new(1, 0), parent: Handle::ROOT, stab: None, discipline };
    Tree { qdiscs: vec![root], ..Tree::default() }
}

/// The tree of one bus. Selections by origin also need the marks of the other buses; see [`trees`].
#[must_use]
pub fn tree(policy: &Policy) -> Tree {
    let mut tree = Tree::default();
    let bands = policy.bands();
    let needs_frames = bands.iter().any(needs_frames);
    let stab = needs_frames.then(|| SizeTable::even(0, FRAME_BYTES, 2047, 512));
    if let [band] = bands {
        add_queue(&mut tree, Handle::ROOT, 0x10, band);
    } else {
        let root = Handle::new(1, 0);
        let discipline = scheduler(bands);
        tree.qdiscs.push(Qdisc { handle: root, parent: Handle::ROOT, stab: None, discipline });
        for (number, band) in (1..).zip(bands) {
            let class = Handle::new(root.major(), number);
            filters(&mut tree, root, &band.take, class);
            add_queue(&mut tree, class, number * 0x10, band);
        }
        // Those of each discipline together, and in its order; tables of `u32` first.
        candor_core::order::sort_by_key(&mut tree.filters, |filter| (filter.parent, index::table_of(filter).is_none()));
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

/// One filter for all frames of a limit; `None` if it selects no frame.
fn of_limit(limit: &Limit) -> Option<Classifier> {
    let groups: Vec<_> = limit.take.iter().flat_map(|selection| selection.groups.iter().cloned()).collect();
    if groups.is_empty() {
        return expression::of_any(&limit.take).map(Classifier::Basic);
    }
    Some(Classifier::ControlGroups(groups.into_iter().map(ControlGroup::named).collect()))
}

/// `prio`, or `ets` for shares. Unfiltered frames go to the last band.
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

/// The class of each band in the tree of a policy, or the root discipline if there is a single one.
pub fn band_places(policy: &Policy) -> impl Iterator<Item = (Handle, &str)> {
    let is_alone = policy.bands().len() == 1;
    let place = move |number| if is_alone { Handle::new(0x10, 0) } else { Handle::new(1, number) };
    (1..).zip(policy.bands()).map(move |(number, band)| (place(number), band.name.as_str()))
}

/// Frames above the limit are refused with `ENOBUFS`; the others continue to the next limit.
fn police(limit: &Limit) -> Action {
    let per_second = u64::from(limit.rate.frames_per_second());
    let burst_frames = u64::from(limit.burst_frames.get());
    let frames = Some(PoliceFrames { per_second, burst_frames });
    Action::Police(Police { bytes: None, frames, exceed: Verdict::Drop, conform: Verdict::Continue })
}

/// At least one filter for each selection, so that the kernel counts each separately.
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

/// Adds a filter after the others of its parent.
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
    // Programs that forward frames come after it.
    let (mark, mask) = (Some(source_mark(bus)), Some(SOURCE_MASK));
    let action = Action::Skbedit { priority: None, mark, mask, verdict: Verdict::Continue };
    push(tree, Filter { actions: vec![action], ..filter(Handle::INGRESS, Classifier::Matchall) });
}

#[cfg(test)]
pub(super) mod tests;

/// Hash slots of `sfq` and of its filter.
const FLOWS: u32 = 1024;

pub(super) fn needs_frames(band: &Band) -> bool {
    band.rate.is_some() || band.share.is_some() || band.queue.fair() != Fair::No
}

/// Adds the disciplines of a band, with this number and the next, below a class.
pub(super) fn add_queue(tree: &mut Tree, parent: Handle, number: u16, band: &Band) {
    let outer = Handle::new(number, 0);
    let (parent, handle) = match band.rate {
        Some(rate) => {
            let discipline = Discipline::Tbf(shaper(rate, band.queue));
            tree.qdiscs.push(Qdisc { handle: outer, parent, stab: None, discipline });
            (Handle::new(number, 1), Handle::new(number + 1, 0))
        }
        None => (parent, outer),
    };
    let limit_frames = Some(band.queue.frames());
    let discipline = match (band.queue.fair(), band.queue.full()) {
        (Fair::No, Full::Refuse) => Discipline::Pfifo { limit_frames },
        (Fair::No, Full::DropOldest) => Discipline::PfifoHeadDrop { limit_frames },
        (fair, _) => {
            tree.filters.push(turns(handle, fair));
            Discipline::Sfq(taking_turns(band.queue))
        }
    };
    tree.qdiscs.push(Qdisc { handle, parent, stab: None, discipline });
}

/// Extra burst for late kernel timers: with a bucket of exactly one frame, 1000 frames/s became 999.
const REMEMBERED_US: u64 = 50;

/// A burst of one frame, then the rate. The limit is for the kernel's initial queue, which the band's own replaces.
fn shaper(rate: FrameRate, queue: Queue) -> Tbf {
    let bytes_per_second = u64::from(rate.frames_per_second()) * u64::from(FRAME_BYTES);
    // Never two frames at once.
    let remembered = (bytes_per_second * REMEMBERED_US / 1_000_000).min(u64::from(FRAME_BYTES / 2));
    Tbf {
        rate: ByteRate(bytes_per_second),
        burst_bytes: FRAME_BYTES + u32::try_from(remembered).unwrap_or_default(),
        limit_bytes: queue.frames().saturating_mul(FRAME_BYTES),
        peak: None,
    }
}

fn taking_turns(queue: Queue) -> Sfq {
    Sfq {
        limit_frames: Some(queue.frames() * MOST_FRAMES_OF_A_SENDER),
        quantum_bytes: Some(FRAME_BYTES),
        perturb_s: Some(0),
        divisor: Some(FLOWS),
        flows: Some(MOST_FRAMES_OF_A_SENDER),
        depth_frames: Some(queue.frames()),
        head_drop: queue.full() == Full::DropOldest,
    }
}

/// Classifies frames by sender for `sfq`, which cannot tell CAN senders apart.
fn turns(parent: Handle, fair: Fair) -> Filter {
    let key = match fair {
        Fair::PerMark => FlowKey::Mark,
        Fair::PerUser => FlowKey::SocketUser,
        Fair::No | Fair::PerSocket => FlowKey::Source,
    };
    let flow = Flow { keys: vec![key], hashed: true, base: None, divisor: Some(FLOWS), perturb_s: 0 };
    let classifier = Classifier::Flow(flow);
    Filter { parent, preference: 1, protocol: ETH_P_ALL, handle: 1, classifier, class: None, actions: Vec::new() }
}

/// The accounted length of a frame in a tree with a size table: the least quantum of kernels since 2025.
pub const FRAME_BYTES: u32 = 256;

/// Marks of frames that the kernel forwards from a bus: this, and the number of the bus. Incoming frames have no mark.
const SOURCE_MARK: u32 = 0x0361_0000;
/// Programs that forward frames count in the bits above (`candor_bpf::gateway::guard`).
pub(crate) const SOURCE_MASK: u32 = 0x0FFF_FFFF;

/// The mark of frames that the kernel forwards from a bus.
#[must_use]
pub fn source_mark(bus: BusIndex) -> u32 {
    SOURCE_MARK | (u32::try_from(bus.0).unwrap_or(u32::MAX) & 0xFFFF)
}
