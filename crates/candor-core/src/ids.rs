//! Sets of frame identifiers, from filters and ranges, and their conversion into disjoint can-gw filters.
//!
//! A set is a reduced ordered binary decision diagram over the bits of `can_id`, from the format (EFF) and the kind
//! (RTR) down to the lowest bit of the identifier. Equal sets have equal diagrams. Each path through the diagram is a
//! [`Cube`], which is a filter, and no frame is in two cubes.
//!
//! Sets contain well-formed frames only: no error message frames, and no 11-bit frames with bits above `7FF`. The
//! resulting filters ignore these bits of 11-bit frames, as the kernel's filters for one identifier do.
//!
//! ```
//! use candor_core::ids::{Effort, IdRange, IdSet};
//!
//! let effort = &mut Effort::new(1_000);
//! let set = IdSet::of_ranges(vec![IdRange::parse("7E0..7E9").unwrap()], effort).unwrap();
//! let filters: Vec<String> = set.cubes().map(|cube| cube.filter().to_string()).collect();
//! assert_eq!(filters, ["7E0:C00007F8", "7E8:C00007FE"]);
//! ```
//!
//! # Source
//! R. E. Bryant, Graph-Based Algorithms for Boolean Function Manipulation, IEEE Transactions on Computers C-35(8), 1986,
//! <https://doi.org/10.1109/TC.1986.1676819>.

mod build;
mod cubes;

pub use cubes::{Cube, Cubes};

pub use crate::filter::IdRange;
use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_MASK, CAN_SFF_MASK, RawId};
use crate::ids::build::{Builder, Operation};

/// Remaining work for set operations, in visited nodes, so no input takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort(u32);

impl Effort {
    /// A limit of this many steps.
    #[must_use]
    pub const fn new(steps: u32) -> Self {
        Self(steps)
    }

    /// Uses some steps.
    ///
    /// # Errors
    /// [`TooComplex`] if fewer steps are left.
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

/// A set operation exceeds its [`Effort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The set of identifiers is too complex")]
pub struct TooComplex;

/// A part of a diagram: no frame, all frames, or a node.
type Part = u32;
const NONE: Part = 0;
const ALL: Part = 1;

/// A decision on a bit of `can_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Bit number, 31 to 0.
    bit: u8,
    /// Frames with this bit 0.
    zero: Part,
    /// Frames with this bit 1.
    one: Part,
}

/// A set of identifiers.
#[derive(Clone, Debug)]
pub struct IdSet {
    /// Each node comes after its successors.
    nodes: Vec<Node>,
    root: Part,
}

impl IdSet {
    /// Returns the set without identifiers.
    #[must_use]
    pub const fn none() -> Self {
        Self { nodes: Vec::new(), root: NONE }
    }

    /// The frames that match a filter in the kernel. `None` for a filter for error message frames.
    #[must_use]
    pub fn of_filter(filter: Filter) -> Option<Self> {
        let mut builder = Builder::default();
        let root = builder.filter(filter);
        (filter.normalise().list != ReceiveList::Error).then(|| builder.finish(root))
    }

    /// The data frames of ranges, which may overlap.
    pub fn of_ranges(mut ranges: Vec<IdRange>, effort: &mut Effort) -> Result<Self, TooComplex> {
        crate::order::sort(&mut ranges);
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

    /// The union of filters. Filters for error message frames add nothing.
    pub fn of_filters(mut filters: Vec<Filter>, effort: &mut Effort) -> Result<Self, TooComplex> {
        // Neighbours have the most in common.
        crate::order::sort_by_key(&mut filters, |filter| (filter.id & filter.mask, filter.mask));
        let mut builder = Builder::default();
        let root = builder.filters(&filters, effort)?;
        Ok(builder.finish(root))
    }

    /// The union of both sets.
    pub fn union(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Union, effort)
    }

    /// The intersection of both sets.
    pub fn intersection(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Intersection, effort)
    }

    /// The frames of this set that are not in the other.
    pub fn difference(&self, other: &Self, effort: &mut Effort) -> Result<Self, TooComplex> {
        Builder::combine(self, other, Operation::Difference, effort)
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Returns true if the set contains a well-formed frame.
    #[must_use]
    pub fn contains(&self, id: RawId) -> bool {
        let mut part = self.root;
        while let Some(node) = self.node(part) {
            part = if id.0 >> node.bit & 1 == 0 { node.zero } else { node.one };
        }
        part == ALL && !id.is_err()
    }

    /// Returns true if the set contains frames of this format and kind.
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

/// Equal sets have equal diagrams, but their nodes may be numbered differently.
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
