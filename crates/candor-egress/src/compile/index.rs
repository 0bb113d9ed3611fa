//! Hash tables of `u32` that look up 29-bit identifiers, rather than comparing them one after another.
//!
//! ```text
//!  node: 29 bits? ──link──▶ table 1: slot by 8 bits of the identifier ─┬─ 00: node, node
//!                                                                      ├─ 01: node ──link──▶ table 2: …
//!                                                                      └─ ff:
//! ```
//!
//! The hash of `u32` is a range of bits of the word. This module chooses the range that leaves the fewest
//! identifiers in a slot. If many still share one, other bits separate them in a table of
//! their own. A masked identifier is in every slot that it may match; if these are too many, it
//! is compared outside of the table.
//!
//! # Source
//! Linux 6.1: [`u32_classify()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L113),
//! [`u32_hash_fold()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/cls_u32.c#L104).

use std::ops::Range;

use super::expression::within;
use crate::filter::{Classifier, ETH_P_ALL, Filter, U32, U32Key, U32Link};
use crate::handle::Handle;
use crate::policy::{FrameKind, Selection};
use crate::tree::Tree;
use candor_core::filter::Filter as IdFilter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG};
use candor_core::ids::Cube;

/// `canid` is cheaper for fewer identifiers (`cargo xtask can-send`, docs/adr/0010).
const FEWEST: usize = 16;
/// With more nodes in a slot, another table is cheaper.
const NODES_OF_A_SLOT: usize = 4;
/// Cost of a table in compared nodes: a link, and its hash.
const NODES_FOR_A_TABLE: usize = 2;
/// Nested tables; the kernel follows 8 (`TC_U32_MAXDEPTH`).
const MOST_LEVELS: usize = 7;
/// A table has at most 256 slots.
const MOST_BITS: u32 = 8;
/// Open bits of a masked identifier in the hash, which is then in 2 to the power of that slots.
const MOST_OPEN_BITS: u32 = 2;
/// Table numbers; the kernel assigns those from 0x800.
const TABLES: Range<u32> = 1..0x800;
/// Positions of table and slot number in a handle.
const TABLE_AT: u32 = 20;
const SLOT_AT: u32 = 12;

/// The 29-bit identifiers to look up, and the rest of the selection. `None` if comparing is cheaper, or the selection has
/// conditions that `u32` cannot express.
pub(super) fn split(selection: &Selection) -> Option<(Vec<Cube>, Selection)> {
    let Selection { ids, kind, length, from, socket_priorities, marks, groups } = selection;
    let sees_more = length.is_some() || !from.is_empty() || !socket_priorities.is_empty() || !marks.is_empty();
    let sees_more = sees_more || !groups.is_empty();
    let ids = ids.as_ref().filter(|_| !sees_more)?;
    let (bits, flag) = match kind {
        None => (0, 0),
        Some(FrameKind::Data) => (CAN_RTR_FLAG, 0),
        Some(FrameKind::Remote) => (CAN_RTR_FLAG, CAN_RTR_FLAG),
    };
    let long = within(ids, IdFilter { id: CAN_EFF_FLAG | flag, mask: CAN_EFF_FLAG | bits });
    if long.cube_count() < FEWEST as u64 {
        return None;
    }
    let short = within(ids, IdFilter { id: 0, mask: CAN_EFF_FLAG });
    Some((long.cubes().collect(), Selection { ids: Some(short), ..selection.clone() }))
}

/// Adds them to the filters of a discipline, under one preference.
pub(super) fn add(tree: &mut Tree, parent: Handle, preference: u16, class: Option<Handle>, cubes: &[Cube]) {
    let words: Vec<_> = cubes.iter().copied().map(Word::of).collect();
    let taken = tree.filters.iter().filter(|filter| filter.parent == parent).filter_map(table_of).max();
    let mut index = Index { nodes: Vec::new(), next: taken.map_or(TABLES.start, |last| last + 1), spare: words.len() };
    index.fill(0, &words, 0);
    tree.filters.extend(index.nodes.into_iter().map(|(handle, node)| {
        // A link only leads on.
        let class = class.filter(|_| node.divisor.is_none() && node.link.is_none());
        let classifier = Classifier::U32(node);
        Filter { parent, preference, protocol: ETH_P_ALL, handle, classifier, class, actions: Vec::new() }
    }));
}

pub(super) fn table_of(filter: &Filter) -> Option<u32> {
    match &filter.classifier {
        Classifier::U32(node) if node.divisor.is_some() => Some(filter.handle >> TABLE_AT),
        _ => None,
    }
}

/// Identifiers of one mask in big-endian, as `u32` compares them.
#[derive(Clone, Copy, Debug)]
struct Word {
    mask: u32,
    value: u32,
}

impl Word {
    fn of(cube: Cube) -> Self {
        let mask = cube.mask & (CAN_EFF_FLAG | CAN_RTR_FLAG | CAN_EFF_MASK);
        let in_order_of_bytes = |word: u32| u32::from_be_bytes(word.to_ne_bytes());
        Self { mask: in_order_of_bytes(mask), value: in_order_of_bytes(cube.id & mask) }
    }

    /// The common bits of all words: the format at least.
    fn common(words: &[Self]) -> Self {
        let both = |one: Self, other: &Self| {
            let mask = one.mask & other.mask & !(one.value ^ other.value);
            Self { mask, value: one.value & mask }
        };
        words.iter().fold(words.first().copied().unwrap_or(Self { mask: 0, value: 0 }), both)
    }

    const fn keys(self) -> [U32Key; 1] {
        [U32Key { mask: self.mask, value: self.value, offset: 0 }]
    }
}

#[derive(Clone, Copy, Debug)]
struct Window {
    lowest: u32,
    bits: u32,
}

impl Window {
    const fn mask(self) -> u32 {
        ((1 << self.bits) - 1) << self.lowest
    }

    /// The slots where a word may be; `None` if they are too many.
    fn slots(self, word: Word) -> Option<impl Iterator<Item = u32>> {
        let fixed = (word.value & self.mask()) >> self.lowest;
        let open = (!word.mask & self.mask()) >> self.lowest;
        // All numbers that have no other bits than these, in descending order.
        let below = move |part: &u32| part.checked_sub(1).map(|part| part & open);
        let parts = std::iter::successors(Some(open), below);
        (open.count_ones() <= MOST_OPEN_BITS).then(|| parts.map(move |part| fixed | part))
    }

    /// Most comparisons for a frame, and the number of nodes for these words.
    fn cost(self, words: &[Word]) -> (usize, usize) {
        let mut slots = vec![0; 1 << self.bits];
        let mut outside = 0;
        for word in words {
            match self.slots(*word) {
                Some(here) => here.for_each(|slot| slots[slot as usize] += 1),
                None => outside += 1,
            }
        }
        let fullest = slots.iter().copied().max().unwrap_or(0);
        (fullest + outside, slots.iter().sum::<usize>() + outside)
    }

    /// The cheapest window for these words, if it is worth a table and does not need too many nodes.
    fn best(words: &[Word], spare: usize) -> Option<(Self, usize)> {
        let bits = words.len().next_power_of_two().trailing_zeros().min(MOST_BITS);
        let windows = (0..=u32::BITS - bits).map(|lowest| Self { lowest, bits });
        let costs = windows.map(|window| (window.cost(words), window));
        let ((compared, nodes), window) = costs
            .filter(|((_, nodes), _)| *nodes <= words.len() + spare)
            .min_by_key(|((compared, nodes), _)| (*compared, *nodes))?;
        (compared + NODES_FOR_A_TABLE < words.len()).then(|| (window, nodes - words.len()))
    }
}

/// Tables and nodes with their handles, each after its table.
struct Index {
    nodes: Vec<(u32, U32)>,
    next: u32,
    /// Maximum number of nodes in excess of words.
    spare: usize,
}

impl Index {
    /// Puts words into a slot; 0 is the root.
    fn fill(&mut self, slot: u32, words: &[Word], level: usize) {
        let may_lead_on = words.len() > NODES_OF_A_SLOT && level < MOST_LEVELS && TABLES.contains(&self.next);
        let Some((window, more)) = may_lead_on.then(|| Window::best(words, self.spare)).flatten() else {
            let node = |word: &Word| (0, U32 { table: slot, keys: word.keys().to_vec(), ..U32::default() });
            return self.nodes.extend(words.iter().map(node));
        };
        self.spare -= more;
        let table = self.next << TABLE_AT;
        self.next += 1;
        self.nodes.push((table, U32 { divisor: Some(1 << window.bits), ..U32::default() }));
        let link = Some(U32Link { table, mask: window.mask(), offset: 0 });
        let keys = Word::common(words).keys().to_vec();
        self.nodes.push((0, U32 { table: slot, keys, link, ..U32::default() }));
        let mut slots = vec![Vec::new(); 1 << window.bits];
        let mut outside = Vec::new();
        for word in words {
            match window.slots(*word) {
                Some(here) => here.for_each(|slot| slots[slot as usize].push(*word)),
                None => outside.push(*word),
            }
        }
        for (number, words) in (0..).zip(slots) {
            self.fill(table | number << SLOT_AT, &words, level + 1);
        }
        self.fill(slot, &outside, level);
    }
}
