//! Finds the cubes that intersect a cube without visiting all of them.
//!
//! Cubes with equal masks are in one table, by value: a cube of another mask intersects those with the same value in the
//! bits that both fix. Files have few masks (one for exact identifiers of each format, some for ranges), so a search costs
//! one look-up for each. If there are many, the [`Budget`] ends the search.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::cube::Cube;

/// Steps left for one analysis.
#[derive(Debug)]
pub(super) struct Budget(u32);

impl Budget {
    /// A step takes about ten nanoseconds.
    pub(super) const USUAL: u32 = 2_000_000;

    pub(super) const fn new(steps: u32) -> Self {
        Self(steps)
    }

    /// Takes steps; `false` when none is left.
    pub(super) fn steps(&mut self, count: usize) -> bool {
        self.0 = self.0.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        self.0 > 0
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;
pub(super) type Values = HashSet<u64, BuildHasherDefault<Mixer>>;

/// Cubes with their numbers, for lookups by identifier.
#[derive(Debug, Default)]
pub(super) struct Index {
    groups: Vec<Group>,
    by_mask: Table<u64, usize>,
}

/// The cubes of one mask.
#[derive(Debug, Default)]
struct Group {
    mask: u64,
    cubes: Vec<(Cube, usize)>,
    /// By the common bits of this mask and another; empty while there are few cubes.
    views: Table<u64, View>,
}

/// Up to this many cubes are visited one by one.
const FEW: usize = 8;

/// Position of a cube in its group. 32 bits, because a large file has many.
type Position = u32;

/// Cubes by their value in some bits.
#[derive(Debug, Default)]
struct View {
    /// The first and the last position of each value.
    ends: Table<u64, (Position, Position)>,
    /// The next position with the same value, or the position itself.
    next: Vec<Position>,
}

impl Index {
    pub(super) fn insert(&mut self, cube: Cube, number: usize, budget: &mut Budget) {
        let mask = cube.mask();
        let group = *self.by_mask.entry(mask).or_insert_with(|| {
            self.groups.push(Group { mask, ..Group::default() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[group];
        budget.steps(1 + group.views.len());
        // No budget suffices for more.
        let Ok(position) = Position::try_from(group.cubes.len()) else { return };
        group.views.iter_mut().for_each(|(common, view)| view.push(cube.lowest() & common, position));
        group.cubes.push((cube, number));
    }

    /// The first cube that intersects this one and for which `wanted(cube, number)` returns a result.
    ///
    /// The order depends only on the insertions, and is that of the insertions for one mask. `None` also if the budget is
    /// spent.
    pub(super) fn find<T>(
        &mut self,
        cube: Cube,
        budget: &mut Budget,
        mut wanted: impl FnMut(Cube, usize) -> Option<T>,
    ) -> Option<T> {
        for Group { mask, cubes, views } in &mut self.groups {
            if cubes.len() <= FEW {
                let mut met = cubes.iter().filter(|(other, _)| other.intersect(cube).is_some());
                if !budget.steps(1) {
                    return None;
                }
                if let Some(found) = met.find_map(|&(other, number)| wanted(other, number)) {
                    return Some(found);
                }
                continue;
            }
            let common = *mask & cube.mask();
            let view = views.entry(common).or_insert_with(|| {
                budget.steps(cubes.len());
                View::of(cubes, common)
            });
            for position in view.positions(cube.lowest() & common) {
                if !budget.steps(1) {
                    return None;
                }
                let (other, number) = cubes[position as usize];
                if let Some(found) = wanted(other, number) {
                    return Some(found);
                }
            }
            if !budget.steps(1) {
                return None;
            }
        }
        None
    }
}

impl View {
    fn of(cubes: &[(Cube, usize)], common: u64) -> Self {
        let mut view = Self::default();
        cubes.iter().zip(0..).for_each(|((cube, _), position)| view.push(cube.lowest() & common, position));
        view
    }

    fn push(&mut self, value: u64, position: Position) {
        self.next.push(position);
        let (_, last) = self.ends.entry(value).or_insert((position, position));
        self.next[*last as usize] = position;
        *last = position;
    }

    fn positions(&self, value: u64) -> impl Iterator<Item = Position> + '_ {
        let first = self.ends.get(&value).map(|&(first, _)| first);
        std::iter::successors(first, |&position| Some(self.next[position as usize]).filter(|&next| next != position))
    }
}

/// Hashes masks, values and indices of buses. Collisions only cost time, and steps are limited.
#[derive(Debug, Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // Tables use the bits at both ends, so both depend on the whole number.
        let product = u128::from(self.0 ^ number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93_u128;
        let [low, high] = [product, product >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0));
        self.0 = low ^ high;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cube() -> impl Strategy<Value = Cube> {
        (0..8_u64, 0..8_u64).prop_map(|(mask, value)| Cube::new(mask, value))
    }

    proptest! {
        #[test]
        fn finds_exactly_the_intersecting_cubes(
            cubes in prop::collection::vec(cube(), 0..40),
            queries in prop::collection::vec((0..40_usize, cube()), 1..20),
        ) {
            let (mut index, mut inserted) = (Index::default(), 0);
            for (until, query) in queries {
                // Between the queries cubes are added, so that views have to grow.
                let until = until.min(cubes.len()).max(inserted);
                let new = cubes[inserted..until].iter().zip(inserted..);
                new.for_each(|(cube, number)| index.insert(*cube, number, &mut Budget::new(Budget::USUAL)));
                inserted = until;
                let mut met = Vec::new();
                let found: Option<()> = index.find(query, &mut Budget::new(Budget::USUAL), |cube, number| {
                    assert_eq!(cube, cubes[number]);
                    met.push(number);
                    None
                });
                prop_assert_eq!(found, None);
                met.sort_unstable();
                let expected = (0..inserted).filter(|&number| cubes[number].intersect(query).is_some());
                prop_assert_eq!(met, expected.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn spent_budget_ends_the_search() {
        let mut index = Index::default();
        (0..1000).for_each(|number| index.insert(Cube::ALL, number, &mut Budget::new(Budget::USUAL)));
        let mut budget = Budget::new(1500);
        let mut seen = 0;
        index.find(Cube::ALL, &mut budget, |_, _| {
            seen += 1;
            None::<()>
        });
        assert!(budget.is_spent() && (400..600).contains(&seen), "{seen}");
    }
}
