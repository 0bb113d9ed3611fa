//! Construction of reduced diagrams.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK};
use crate::ids::{ALL, Effort, IdRange, IdSet, NONE, Node, Part, TooComplex};

/// One step per bit, in both formats.
const STEPS_OF_A_FILTER: u32 = 64;

/// Operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Difference,
    Intersection,
    Union,
}

impl Operation {
    /// The result, if it does not depend on further bits.
    const fn known(self, one: Part, other: Part) -> Option<Part> {
        match (self, one, other) {
            (Self::Difference | Self::Intersection, NONE, _)
            | (Self::Difference, _, ALL)
            | (Self::Intersection, _, NONE)
            | (Self::Union, NONE, NONE) => Some(NONE),
            (Self::Union, ALL, _)
            | (Self::Union, _, ALL)
            | (Self::Intersection, ALL, ALL)
            | (Self::Difference, ALL, NONE) => Some(ALL),
            _ => None,
        }
    }
}

/// A diagram under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nodes: Vec<Node>,
    known: Map<Node, Part>,
    united: Map<(Part, Part), Part>,
}

impl Builder {
    pub(super) fn finish(self, root: Part) -> IdSet {
        IdSet { nodes: self.nodes, root }
    }

    /// The part that decides on a bit, or the successor if both are equal.
    pub(super) fn node(&mut self, bit: u8, zero: Part, one: Part) -> Part {
        if zero == one {
            return zero;
        }
        let node = Node { bit, zero, one };
        let nodes = &mut self.nodes;
        *self.known.entry(node).or_insert_with(|| {
            nodes.push(node);
            Part::try_from(nodes.len() + 1).expect("the effort is bounded by 32 bits")
        })
    }

    /// The frames that match a filter; none for a filter for error message frames.
    pub(super) fn filter(&mut self, filter: Filter) -> Part {
        let normal = filter.normalise();
        let (inside, outside) = match normal.list {
            ReceiveList::Error => return NONE,
            ReceiveList::Inverted => (NONE, ALL),
            ReceiveList::All | ReceiveList::Masked | ReceiveList::Exact => (ALL, NONE),
        };
        let says_format = normal.mask & CAN_EFF_FLAG != 0;
        let is_extended = normal.id & CAN_EFF_FLAG != 0;
        // An 11-bit frame has no bits above 7FF.
        let has_high_bits = normal.id & normal.mask & CAN_EFF_MASK & !CAN_SFF_MASK != 0;
        let mut frames = |bits, are_meant| {
            if are_meant {
                self.chain(normal.id, normal.mask & (bits | CAN_RTR_FLAG), inside, outside)
            } else {
                outside
            }
        };
        let standard = frames(CAN_SFF_MASK, !(says_format && is_extended || has_high_bits));
        let extended = frames(CAN_EFF_MASK, !says_format || is_extended);
        self.node(31, standard, extended)
    }

    /// The union of filters. Fastest if they are sorted.
    pub(super) fn filters(&mut self, filters: &[Filter], effort: &mut Effort) -> Result<Part, TooComplex> {
        match filters {
            [] => Ok(NONE),
            [filter] => {
                effort.steps(STEPS_OF_A_FILTER)?;
                Ok(self.filter(*filter))
            }
            // In halves, so no large part is walked once per filter.
            many => {
                let (one, other) = many.split_at(many.len() / 2);
                let (one, other) = (self.filters(one, effort)?, self.filters(other, effort)?);
                self.unite(one, other, effort)
            }
        }
    }

    /// `inside` for frames with `frame & mask == id`, not including the format.
    fn chain(&mut self, id: u32, mask: u32, inside: Part, outside: Part) -> Part {
        let mut part = inside;
        for bit in (0..=28).chain([30]).filter(|bit| mask >> bit & 1 == 1) {
            part = if id >> bit & 1 == 1 { self.node(bit, outside, part) } else { self.node(bit, part, outside) };
        }
        part
    }

    /// Ranges of one format, sorted by their first identifier, whose highest bit is `top`.
    pub(super) fn ranges(&mut self, sorted: &[IdRange], top: u8, effort: &mut Effort) -> Result<Part, TooComplex> {
        let mut apart: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match apart.last_mut() {
                Some((_, last)) if range.first <= last.saturating_add(1) => *last = range.last.max(*last),
                _ => apart.push((range.first, range.last)),
            }
        }
        self.block(&apart, 0, top + 1, effort)
    }

    /// The part of sorted, disjoint ranges within the `1 << bits` identifiers from `base`.
    fn block(&mut self, ranges: &[(u32, u32)], base: u32, bits: u8, effort: &mut Effort) -> Result<Part, TooComplex> {
        let end = base + ((1 << bits) - 1);
        match ranges {
            [] => return Ok(NONE),
            [(first, last), ..] if *first <= base && end <= *last => return Ok(ALL),
            _ => {}
        }
        effort.steps(1)?;
        // A single identifier is not partly in a range.
        let Some(bit) = bits.checked_sub(1) else { return Ok(NONE) };
        let middle = base + (1 << bit);
        let below = ranges.partition_point(|(first, _)| *first < middle);
        let above = ranges.partition_point(|(_, last)| *last < middle);
        let zero = self.block(&ranges[..below], base, bit, effort)?;
        let one = self.block(&ranges[above..], middle, bit, effort)?;
        Ok(self.node(bit, zero, one))
    }

    /// The union of two parts of this diagram.
    pub(super) fn unite(&mut self, one: Part, other: Part, effort: &mut Effort) -> Result<Part, TooComplex> {
        match (one, other) {
            (ALL, _) | (_, ALL) => return Ok(ALL),
            (NONE, part) | (part, NONE) => return Ok(part),
            _ if one == other => return Ok(one),
            _ => {}
        }
        if let Some(&part) = self.united.get(&(one, other)) {
            return Ok(part);
        }
        effort.steps(1)?;
        let Some((bit, answers, others)) = split((&self.nodes, one), (&self.nodes, other)) else {
            return Ok(NONE);
        };
        let zero = self.unite(answers.0, others.0, effort)?;
        let set = self.unite(answers.1, others.1, effort)?;
        let part = self.node(bit, zero, set);
        self.united.insert((one, other), part);
        Ok(part)
    }

    /// Applies an operation to two diagrams.
    pub(super) fn combine(
        one: &IdSet,
        other: &IdSet,
        operation: Operation,
        effort: &mut Effort,
    ) -> Result<IdSet, TooComplex> {
        let mut pairs = Pairs { one, other, operation, done: Map::default(), builder: Self::default() };
        let root = pairs.part(one.root, other.root, effort)?;
        Ok(pairs.builder.finish(root))
    }
}

struct Pairs<'s> {
    one: &'s IdSet,
    other: &'s IdSet,
    operation: Operation,
    /// Results for pairs of parts.
    done: Map<(Part, Part), Part>,
    builder: Builder,
}

impl Pairs<'_> {
    /// At most 31 deep, once per bit.
    fn part(&mut self, one: Part, other: Part, effort: &mut Effort) -> Result<Part, TooComplex> {
        if let Some(part) = self.operation.known(one, other) {
            return Ok(part);
        }
        if let Some(&part) = self.done.get(&(one, other)) {
            return Ok(part);
        }
        effort.steps(1)?;
        let Some((bit, answers, others)) = split((&self.one.nodes, one), (&self.other.nodes, other)) else {
            return Ok(NONE);
        };
        let zero = self.part(answers.0, others.0, effort)?;
        let set = self.part(answers.1, others.1, effort)?;
        let part = self.builder.node(bit, zero, set);
        self.done.insert((one, other), part);
        Ok(part)
    }
}

type Answers = (Part, Part);

/// The highest bit that either part decides on, and the successors of both parts. `None` if neither is a node.
fn split(one: (&[Node], Part), other: (&[Node], Part)) -> Option<(u8, Answers, Answers)> {
    let node = |(nodes, part): (&[Node], Part)| nodes.get((part as usize).checked_sub(2)?).copied();
    let (asked, asked_other) = (node(one), node(other));
    let bit = asked.map(|node| node.bit).max(asked_other.map(|node| node.bit))?;
    let follow = |node: Option<Node>, part| match node {
        Some(node) if node.bit == bit => (node.zero, node.one),
        _ => (part, part),
    };
    Some((bit, follow(asked, one.1), follow(asked_other, other.1)))
}

/// Keys are consecutive numbers, so the hash need not resist attacks.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u8(byte));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u32(u32::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        // Fibonacci hashing: the golden ratio as a fraction of 2^64.
        self.0 = (self.0.rotate_left(26) ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        // The map uses the low bits, which multiplication mixes least.
        self.0 ^ self.0 >> 32
    }
}

/// Hashes two numbers instead of three.
impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.zero);
        state.write_u32(self.one ^ u32::from(self.bit) << 24);
    }
}
