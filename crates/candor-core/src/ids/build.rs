//! Diagrams are made here: reduced, and every part there once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_RTR_FLAG, CAN_SFF_MASK};
use crate::ids::{ALL, Effort, IdRange, IdSet, NONE, Node, Part, TooComplex};

/// One for each bit, in both formats.
const STEPS_OF_A_FILTER: u32 = 64;

/// Operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Difference,
    Intersection,
    Union,
}

impl Operation {
    /// The answer where no bit has to be asked for any more.
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

    /// The part that asks for a bit; no question where both answers lead to the same.
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

    /// The frames that a filter takes; none if it is for error message frames.
    pub(super) fn filter(&mut self, filter: Filter) -> Part {
        let normal = filter.normalise();
        let (inside, outside) = match normal.list {
            ReceiveList::Error => return NONE,
            ReceiveList::Inverted => (NONE, ALL),
            ReceiveList::All | ReceiveList::Masked | ReceiveList::Exact => (ALL, NONE),
        };
        let says_format = normal.mask & CAN_EFF_FLAG != 0;
        let is_extended = normal.id & CAN_EFF_FLAG != 0;
        // Of the bits above 7FF an 11-bit frame has none set.
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

    /// The frames of all filters together; quickest where they are in order.
    pub(super) fn filters(&mut self, filters: &[Filter], effort: &mut Effort) -> Result<Part, TooComplex> {
        match filters {
            [] => Ok(NONE),
            [filter] => {
                effort.steps(STEPS_OF_A_FILTER)?;
                Ok(self.filter(*filter))
            }
            // In halves, so that no large part is walked through once for each filter.
            many => {
                let (one, other) = many.split_at(many.len() / 2);
                let (one, other) = (self.filters(one, effort)?, self.filters(other, effort)?);
                self.unite(one, other, effort)
            }
        }
    }

    /// `inside` for the frames that have these values (`id`) in these bits (`mask`), not for the format.
    fn chain(&mut self, id: u32, mask: u32, inside: Part, outside: Part) -> Part {
        let mut part = inside;
        for bit in (0..=28).chain([30]).filter(|bit| mask >> bit & 1 == 1) {
            part = if id >> bit & 1 == 1 { self.node(bit, outside, part) } else { self.node(bit, part, outside) };
        }
        part
    }

    /// Identifiers of one format, sorted by their first, up to the bit `top`.
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

    /// The part of sorted, separate ranges that lies in the `1 << bits` identifiers from `base`.
    fn block(&mut self, ranges: &[(u32, u32)], base: u32, bits: u8, effort: &mut Effort) -> Result<Part, TooComplex> {
        let end = base + ((1 << bits) - 1);
        match ranges {
            [] => return Ok(NONE),
            [(first, last), ..] if *first <= base && end <= *last => return Ok(ALL),
            _ => {}
        }
        effort.steps(1)?;
        // One identifier is in a range or not, which has been asked.
        let Some(bit) = bits.checked_sub(1) else { return Ok(NONE) };
        let middle = base + (1 << bit);
        let below = ranges.partition_point(|(first, _)| *first < middle);
        let above = ranges.partition_point(|(_, last)| *last < middle);
        let zero = self.block(&ranges[..below], base, bit, effort)?;
        let one = self.block(&ranges[above..], middle, bit, effort)?;
        Ok(self.node(bit, zero, one))
    }

    /// Two parts of this diagram together.
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
        let Some((bit, answers, others)) = side_by_side((&self.nodes, one), (&self.nodes, other)) else {
            return Ok(NONE);
        };
        let zero = self.unite(answers.0, others.0, effort)?;
        let set = self.unite(answers.1, others.1, effort)?;
        let part = self.node(bit, zero, set);
        self.united.insert((one, other), part);
        Ok(part)
    }

    /// Two diagrams, walked through side by side.
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
    /// No pair of parts is looked at twice.
    done: Map<(Part, Part), Part>,
    builder: Builder,
}

impl Pairs<'_> {
    /// At most 31 deep, one for each bit.
    fn part(&mut self, one: Part, other: Part, effort: &mut Effort) -> Result<Part, TooComplex> {
        if let Some(part) = self.operation.known(one, other) {
            return Ok(part);
        }
        if let Some(&part) = self.done.get(&(one, other)) {
            return Ok(part);
        }
        effort.steps(1)?;
        let Some((bit, answers, others)) = side_by_side((&self.one.nodes, one), (&self.other.nodes, other)) else {
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

/// The first bit that either part asks for, and what each of them says to 0 and to 1; `None` if neither asks.
fn side_by_side(one: (&[Node], Part), other: (&[Node], Part)) -> Option<(u8, Answers, Answers)> {
    let node = |(nodes, part): (&[Node], Part)| nodes.get((part as usize).checked_sub(2)?).copied();
    let (asked, asked_other) = (node(one), node(other));
    let bit = asked.map(|node| node.bit).max(asked_other.map(|node| node.bit))?;
    let follow = |node: Option<Node>, part| match node {
        Some(node) if node.bit == bit => (node.zero, node.one),
        _ => (part, part),
    };
    Some((bit, follow(asked, one.1), follow(asked_other, other.1)))
}

/// Keys are numbers that are given out here in turn, so the hash need not withstand anybody.
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
        // The map takes the low bits, which multiplying mixes least.
        self.0 ^ self.0 >> 32
    }
}

/// As one number and a bit, in place of three.
impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.zero);
        state.write_u32(self.one ^ u32::from(self.bit) << 24);
    }
}
