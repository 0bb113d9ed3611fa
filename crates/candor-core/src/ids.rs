//! Sets of frame identifiers: what filters, ranges and lists of them say together, cut into can-gw filters that no
//! frame matches twice.
//!
//! A set is a binary decision diagram over the bits of `can_id`, from the format (EFF) and the kind (RTR) down to the
//! lowest bit of the identifier. Bits that make no difference are not asked for, and equal parts are there once. So a
//! set has one form only, however it was put together; each way through the diagram is a [`Cube`], that is a filter,
//! and no two of them have a frame in common.
//!
//! Only well-formed frames are meant: no error message frames, and 11-bit frames without bits above `7FF`. The filters
//! made of a set do not look at those bits of 11-bit frames, as the kernel's own filters for one identifier.

mod build;
mod cubes;

pub use cubes::{Cube, Cubes};

pub use crate::filter::IdRange;
use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_MASK, CAN_SFF_MASK, RawId};
use crate::ids::build::{Builder, Operation};

/// Limit of the work for set operations, in visited nodes, so that no input takes forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(u32);

impl Effort {
    /// At most so many steps.
    #[must_use]
    pub const fn new(steps: u32) -> Self {
        Self(steps)
    }

    /// Takes some steps.
    ///
    /// # Errors
    /// [`TooComplex`] if no more so many are left.
    pub const fn steps(&mut self, steps: u32) -> Result<(), TooComplex> {
        match self.0.checked_sub(steps) {
            Some(rest) => {
                self.0 = rest;
                Ok(())
            }
            None => Err(TooComplex),
        }
    }
}

/// A set takes more work than was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The set of identifiers is too complex")]
pub struct TooComplex;

/// A part of a diagram: none or all of the frames, or a node.
type Part = u32;
const NONE: Part = 0;
const ALL: Part = 1;

/// A question: is this bit of `can_id` 0 or 1?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Bit number, 31 to 0.
    bit: u8,
    /// The frames where it is 0.
    zero: Part,
    /// The frames where it is 1.
    one: Part,
}

/// A set of identifiers.
#[derive(Clone, Debug)]
pub struct IdSet {
    /// Every node stands behind those it leads to.
    nodes: Vec<Node>,
    root: Part,
}

impl IdSet {
    /// No frame.
    #[must_use]
    pub const fn none() -> Self {
        Self { nodes: Vec::new(), root: NONE }
    }

    /// Every data and remote frame.
    #[must_use]
    pub const fn all() -> Self {
        Self { nodes: Vec::new(), root: ALL }
    }

    /// The frames that a filter takes, as the kernel understands it; `None` if it is one for error message frames.
    #[must_use]
    pub fn of_filter(filter: Filter) -> Option<Self> {
        let mut builder = Builder::default();
        let root = builder.filter(filter);
        (filter.normalise().list != ReceiveList::Error).then(|| builder.finish(root))
    }

    /// The data frames of ranges, which may overlap.
    ///
    /// # Errors
    /// [`TooComplex`].
    pub fn of_ranges(mut ranges: Vec<IdRange>, effort: &mut Effort) -> Result<Self, TooComplex> {
        ranges.sort_unstable();
        let mut builder = Builder::default();
        let extended_from = ranges.partition_point(|range| !range.is_extended);
        let (standard, extended) = ranges.split_at(extended_from);
        let standard = builder.ranges(standard, 10, effort)?;
        let standard = builder.node(30, standard, NONE);
        let extended = builder.ranges(extended, 28, effort)?;
        let extended = builder.node(30, extended, NONE);
        let root = builder.node(31, standard, extended);
        Ok(builder.finish(root))
    }

    /// The frames of all filters together; those for error message frames add none.
    ///
    /// # Errors
    /// [`TooComplex`].
    pub fn of_filters(mut filters: Vec<Filter>, effort: &mut Effort) -> Result<Self, TooComplex> {
        // Neighbours have the most in common.
        filters.sort_unstable_by_key(|filter| (filter.id & filter.mask, filter.mask));
        let mut builder = Builder::default();
        let root = builder.filters(&filters, effort)?;
        Ok(builder.finish(root))
    }

    /// The frames of either set.
    ///
    /// # Errors
    /// [`TooComplex`].
    pub fn union(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Union, effort)
    }

    /// The frames of both sets.
    ///
    /// # Errors
    /// [`TooComplex`].
    pub fn intersection(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Intersection, effort)
    }

    /// The frames of this set that are not in the other.
    ///
    /// # Errors
    /// [`TooComplex`].
    pub fn difference(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Difference, effort)
    }

    /// All other frames.
    #[must_use]
    pub fn complement(&self) -> Self {
        let other = |part| match part {
            NONE => ALL,
            ALL => NONE,
            node => node,
        };
        let nodes = self.nodes.iter().map(|node| Node { bit: node.bit, zero: other(node.zero), one: other(node.one) });
        Self { nodes: nodes.collect(), root: other(self.root) }
    }

    /// Returns true if no frame is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Returns true if a well-formed frame is in the set.
    #[must_use]
    pub fn contains(&self, id: RawId) -> bool {
        let mut part = self.root;
        while let Some(node) = self.node(part) {
            part = if id.0 >> node.bit & 1 == 0 { node.zero } else { node.one };
        }
        part == ALL && !id.is_err()
    }

    /// Returns true if the set has frames of a format (`is_extended`) and a kind (`is_remote`).
    #[must_use]
    pub fn has_any(&self, is_extended: bool, is_remote: bool) -> bool {
        self.plane(is_extended, is_remote) != NONE
    }

    /// The lowest and the highest identifier of the data frames of one format, without flags.
    #[must_use]
    pub fn bounds(&self, is_extended: bool) -> Option<(u32, u32)> {
        let plane = self.plane(is_extended, false);
        let bits = if is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
        let walk = |prefers_one: bool| {
            let mut id = if prefers_one { bits } else { 0 };
            let mut part = plane;
            while let Some(node) = self.node(part) {
                let (wanted, other) = if prefers_one { (node.one, node.zero) } else { (node.zero, node.one) };
                let is_one = (wanted != NONE) == prefers_one;
                part = if wanted == NONE { other } else { wanted };
                id = if is_one { id | 1 << node.bit } else { id & !(1 << node.bit) };
            }
            id
        };
        (plane != NONE).then(|| (walk(false), walk(true)))
    }

    fn plane(&self, is_extended: bool, is_remote: bool) -> Part {
        let mut part = self.root;
        for (bit, is_one) in [(31, is_extended), (30, is_remote)] {
            if let Some(node) = self.node(part).filter(|node| node.bit == bit) {
                part = if is_one { node.one } else { node.zero };
            }
        }
        part
    }

    fn node(&self, part: Part) -> Option<&Node> {
        self.nodes.get((part as usize).checked_sub(2)?)
    }
}

/// Equal sets have equal diagrams, but perhaps numbered in another order.
impl PartialEq for IdSet {
    fn eq(&self, other: &Self) -> bool {
        let mut unlimited = Effort::new(u32::MAX);
        Builder::combine(self, other, Operation::Difference, &mut unlimited).is_ok_and(|rest| rest.is_empty())
            && Builder::combine(other, self, Operation::Difference, &mut unlimited).is_ok_and(|rest| rest.is_empty())
    }
}

impl Eq for IdSet {}

#[cfg(test)]
mod tests;
