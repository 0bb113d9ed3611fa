//! Diagrams are made here: reduced, and every part there once.

use std::collections::HashMap;

use crate::ids::{ALL, Effort, IdRange, IdSet, NONE, Node, Part, TooComplex};

/// What two sets make together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Difference,
    Intersection,
    Union,
}

/// A diagram under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nodes: Vec<Node>,
    known: HashMap<Node, Part>,
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

    /// The frames that have these values (`id`) in these bits (`mask`); not for the format.
    pub(super) fn chain(&mut self, id: u32, mask: u32) -> Part {
        let mut part = ALL;
        for bit in (0..=28).chain([30]).filter(|bit| mask >> bit & 1 == 1) {
            part = if id >> bit & 1 == 1 { self.node(bit, NONE, part) } else { self.node(bit, part, NONE) };
        }
        part
    }

    /// Identifiers of one format, sorted by their first, below the bit after `top`.
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
        effort.step()?;
        let end = base + ((1 << bits) - 1);
        match ranges {
            [] => return Ok(NONE),
            [(first, last), ..] if *first <= base && end <= *last => return Ok(ALL),
            _ => {}
        }
        let Some(bit) = bits.checked_sub(1) else { return Ok(NONE) };
        let middle = base + (1 << bit);
        let below = ranges.partition_point(|(first, _)| *first < middle);
        let above = ranges.partition_point(|(_, last)| *last < middle);
        let zero = self.block(&ranges[..below], base, bit, effort)?;
        let one = self.block(&ranges[above..], middle, bit, effort)?;
        Ok(self.node(bit, zero, one))
    }

    pub(super) fn combine(
        one: &IdSet,
        other: &IdSet,
        operation: Operation,
        effort: &mut Effort,
    ) -> Result<IdSet, TooComplex> {
        let mut pairs = Pairs { one, other, operation, done: HashMap::new(), builder: Self::default() };
        let root = pairs.part(one.root, other.root, effort)?;
        Ok(pairs.builder.finish(root))
    }
}

/// Two diagrams that are walked through side by side.
struct Pairs<'s> {
    one: &'s IdSet,
    other: &'s IdSet,
    operation: Operation,
    /// No pair of parts is looked at twice.
    done: HashMap<(Part, Part), Part>,
    builder: Builder,
}

impl Pairs<'_> {
    /// At most 31 deep, one for each bit.
    fn part(&mut self, one: Part, other: Part, effort: &mut Effort) -> Result<Part, TooComplex> {
        match (self.operation, one, other) {
            (Operation::Difference, _, ALL) | (Operation::Difference | Operation::Intersection, NONE, _) => {
                return Ok(NONE);
            }
            (Operation::Intersection, _, NONE) | (Operation::Union, NONE, NONE) => return Ok(NONE),
            (Operation::Union, ALL, _) | (Operation::Union, _, ALL) => return Ok(ALL),
            (Operation::Intersection, ALL, ALL) | (Operation::Difference, ALL, NONE) => return Ok(ALL),
            _ => {}
        }
        if let Some(&part) = self.done.get(&(one, other)) {
            return Ok(part);
        }
        effort.step()?;
        let (asked, asked_other) = (self.one.node(one).copied(), self.other.node(other).copied());
        let bit = asked.map(|node| node.bit).max(asked_other.map(|node| node.bit));
        // Two parts without questions have been answered above.
        let Some(bit) = bit else { return Ok(NONE) };
        let follow = |node: Option<Node>, part| match node {
            Some(node) if node.bit == bit => (node.zero, node.one),
            _ => (part, part),
        };
        let (answers, others) = (follow(asked, one), follow(asked_other, other));
        let zero = self.part(answers.0, others.0, effort)?;
        let set = self.part(answers.1, others.1, effort)?;
        let part = self.builder.node(bit, zero, set);
        self.done.insert((one, other), part);
        Ok(part)
    }
}
