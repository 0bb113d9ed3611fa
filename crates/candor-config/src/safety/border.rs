//! What frames from one bus become on the others, over all paths.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Kind;
use super::amplification::AllPaths;
use super::cube::{Cube, EFF, ERR, FD, IDENTIFIER, XL};
use super::edges::Edges;
use super::index::Budget;
use crate::plan::{BusIndex, Plan, RouteIndex};
use candor_core::frame::{CAN_SFF_MASK, RawId};

/// Data and remote frames by identifier and format, of CAN CC, CAN FD and CAN XL. Content is not considered.
#[derive(Clone, Debug, Default)]
pub struct KindSet(Vec<Cube>);

impl KindSet {
    /// True if it has frames with this identifier, of CAN CC or CAN FD.
    pub fn has(&self, id: RawId) -> bool {
        let wanted = Cube::new(XL | EFF | IDENTIFIER, u64::from(id.0));
        self.0.iter().any(|cube| cube.intersect(wanted).is_some())
    }

    /// Frames with a 29-bit identifier whose bits in `mask` are those of `value`; `None` if there is none.
    pub fn extended(&self, mask: u32, value: u32) -> Option<Kind> {
        let wanted = Cube::new(XL | EFF | u64::from(mask), EFF | u64::from(value));
        self.0.iter().find_map(|cube| cube.intersect(wanted)).map(Kind::of)
    }

    /// One kind that both have.
    pub fn common(&self, other: &Self) -> Option<Kind> {
        self.0.iter().find_map(|one| other.0.iter().find_map(|other| one.intersect(*other))).map(Kind::of)
    }

    /// True if some of it has any identifier: no bit of it is fixed.
    pub fn has_any_identifier(&self) -> bool {
        self.0.iter().any(|cube| {
            let bits = if cube.mask() & cube.lowest() & EFF != 0 { IDENTIFIER } else { u64::from(CAN_SFF_MASK) };
            cube.mask() & bits == 0
        })
    }

    /// The identifiers of CAN CC and CAN FD, in ascending order, those with 29 bits last; `None` if they are more than `most`.
    pub fn identifiers(&self, most: usize) -> Option<Vec<RawId>> {
        let mut found = BTreeSet::new();
        for cube in self.of_ids() {
            let free = (EFF | IDENTIFIER) & !cube.mask();
            if free.count_ones() >= usize::BITS - most.leading_zeros() {
                return None;
            }
            let mut bits = 0_u64;
            loop {
                found.insert(Kind::from_bits(cube.lowest() | bits).id.0);
                // The next combination of the free bits.
                bits = bits.wrapping_sub(free) & free;
                if bits == 0 {
                    break;
                }
            }
            if found.len() > most {
                return None;
            }
        }
        Some(found.into_iter().map(RawId).collect())
    }

    /// As [`identifiers`](Self::identifiers), but only their number. Beyond `most` it may count some twice.
    pub fn count(&self, most: usize) -> u64 {
        match self.identifiers(most) {
            Some(list) => list.len() as u64,
            None => {
                let free = |cube: Cube| 1_u64 << (IDENTIFIER & !cube.mask()).count_ones();
                self.of_ids().map(free).fold(0, u64::saturating_add)
            }
        }
    }

    /// True if some of it is CAN FD or CAN XL.
    pub fn has_long_frames(&self) -> bool {
        self.0.iter().any(|cube| cube.lowest() & (FD | XL) != 0)
    }

    /// Identifiers of CAN CC and CAN FD, without the other properties.
    fn of_ids(&self) -> impl Iterator<Item = Cube> {
        let of_ids = |cube: &Cube| Cube::new(cube.mask() & (EFF | IDENTIFIER), cube.lowest());
        let cubes: HashSet<Cube> = self.0.iter().filter(|cube| cube.lowest() & XL == 0).map(of_ids).collect();
        cubes.into_iter()
    }
}

/// Frames that the same routes forward.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// In the order in which they forward a frame: one, unless buses are ends of vxcan pairs or frames have several hops.
    pub routes: Vec<RouteIndex>,
    pub to: BusIndex,
    /// As they are received.
    pub taken: KindSet,
    /// As they are sent.
    pub sent: KindSet,
}

/// What frames from one bus become.
#[derive(Clone, Debug)]
pub struct Crossings {
    pub list: Vec<Crossing>,
    /// False if the analysis was cut short.
    pub is_complete: bool,
}

/// Follows the frames that are received on a bus. Error message frames are left out.
pub fn crossings(plan: &Plan, from: BusIndex) -> Crossings {
    let (edges, mut budget) = (Edges::of(plan), Budget::new(Budget::USUAL));
    let all = AllPaths::of(plan, &edges, &HashSet::new(), &mut budget);
    let mut list: Vec<Crossing> = Vec::new();
    let mut known = HashMap::new();
    let paths = all.by_origin.into_iter().filter(|(bus, _)| *bus == from).flat_map(|(_, paths)| paths);
    for path in paths.filter(|path| path.frames.lowest() & ERR == 0) {
        let at = *known.entry(path.routes.clone()).or_insert_with(|| {
            let (taken, sent) = (KindSet::default(), KindSet::default());
            list.push(Crossing { routes: path.routes, to: path.to, taken, sent });
            list.len() - 1
        });
        list[at].taken.0.push(path.frames);
        // A remote frame may become one that is none.
        list[at].sent.0.push(path.change.image(path.frames));
    }
    list.sort_by(|one, other| one.routes.cmp(&other.routes));
    Crossings { list, is_complete: all.is_complete }
}

#[cfg(test)]
mod tests;
