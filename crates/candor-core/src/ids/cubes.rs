//! Sets as disjoint filters.

use crate::filter::{CAN_INV_FILTER, Filter};
use crate::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};
use crate::ids::{ALL, IdSet, NONE, Part};

/// Frames that match one filter with a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cube {
    /// Required value of the bits in `mask`; 0 elsewhere.
    pub id: u32,
    /// Bits that are equal in all identifiers of the cube.
    pub mask: u32,
}

impl Cube {
    /// The filter for these frames.
    #[must_use]
    pub const fn filter(self) -> Filter {
        Filter { id: self.id, mask: self.mask }
    }

    /// Identifier bits that are not compared. Only for cubes that compare the format.
    #[must_use]
    pub const fn free(self) -> u32 {
        let bits = if self.id & CAN_EFF_FLAG == 0 { CAN_SFF_MASK } else { CAN_EFF_MASK };
        bits & !self.mask
    }

    /// Splits the cube at a free bit.
    #[must_use]
    pub const fn halves(self, bit: u32) -> [Self; 2] {
        let mask = self.mask | bit;
        [Self { id: self.id, mask }, Self { id: self.id | bit, mask }]
    }
}

/// The cubes of a set, in ascending order: 11-bit before 29-bit identifiers, data before remote frames.
#[derive(Clone, Debug)]
pub struct Cubes<'s> {
    set: &'s IdSet,
    ends_at: Part,
    ahead: Vec<(Part, Cube)>,
}

impl IdSet {
    /// The cubes of this set.
    #[must_use]
    pub fn cubes(&self) -> Cubes<'_> {
        self.paths_to(ALL)
    }

    /// Returns the number of cubes without creating them.
    #[must_use]
    pub fn cube_count(&self) -> u64 {
        self.count_paths_to(ALL)
    }

    /// The filters for this set: one inverted filter if all other frames are one cube, otherwise one per cube.
    ///
    /// # Errors
    /// The number of filters, if it is more than `most`.
    pub fn filters(&self, most: u64) -> Result<Vec<Filter>, u64> {
        let count = self.cube_count();
        if count > 1 && self.count_paths_to(NONE) == 1 {
            let others = self.paths_to(NONE).map(Cube::filter);
            return Ok(others.map(|filter| Filter { id: filter.id | CAN_INV_FILTER, ..filter }).collect());
        }
        if count > most { Err(count) } else { Ok(self.cubes().map(Cube::filter).collect()) }
    }

    fn paths_to(&self, ends_at: Part) -> Cubes<'_> {
        Cubes { set: self, ends_at, ahead: vec![(self.root, Cube { id: 0, mask: 0 })] }
    }

    fn count_paths_to(&self, end: Part) -> u64 {
        let mut paths: Vec<u64> = vec![u64::from(end == NONE), u64::from(end == ALL)];
        for node in &self.nodes {
            paths.push(paths[node.zero as usize].saturating_add(paths[node.one as usize]));
        }
        paths[self.root as usize]
    }
}

impl Iterator for Cubes<'_> {
    type Item = Cube;

    fn next(&mut self) -> Option<Cube> {
        while let Some((part, cube)) = self.ahead.pop() {
            match self.set.node(part) {
                Some(node) => {
                    let [zero, one] = cube.halves(1 << node.bit);
                    self.ahead.extend([(node.one, one), (node.zero, zero)]);
                }
                None if part == self.ends_at => return Some(cube),
                None => {}
            }
        }
        None
    }
}
