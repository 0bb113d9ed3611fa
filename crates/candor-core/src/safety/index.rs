//! Finds the cubes that meet a cube without looking at all of them.
//!
//! Cubes with equal masks are kept together, in a table by value: what meets a cube of another mask has the same value
//! in the bits that both fix. Files have few masks (one for exact identifiers of each format, some for ranges), so a
//! look-up costs one probe for each of them. Where there are many, the [`Budget`] ends the search.

use std::collections::HashMap;

use super::cube::Cube;

/// How many steps an analysis may take: no file keeps candor busy, whatever is in it.
#[derive(Debug)]
pub(super) struct Budget(u32);

impl Budget {
    /// Steps take some ten nanoseconds.
    pub(super) const USUAL: u32 = 2_000_000;

    pub(super) const fn new(steps: u32) -> Self {
        Self(steps)
    }

    /// Takes so many steps; `false` when there is none left.
    pub(super) fn steps(&mut self, count: usize) -> bool {
        self.0 = self.0.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        self.0 > 0
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// Cubes, each with a number.
#[derive(Debug, Default)]
pub(super) struct Index {
    groups: Vec<Group>,
    by_mask: HashMap<u64, usize>,
}

/// The cubes of one mask.
#[derive(Debug)]
struct Group {
    mask: u64,
    cubes: Vec<(Cube, usize)>,
    /// For the bits that this mask and another have in common: the positions of the cubes by their value in them.
    views: HashMap<u64, HashMap<u64, Vec<usize>>>,
}

impl Index {
    pub(super) fn insert(&mut self, cube: Cube, number: usize) {
        let mask = cube.mask();
        let group = *self.by_mask.entry(mask).or_insert_with(|| {
            self.groups.push(Group { mask, cubes: Vec::new(), views: HashMap::new() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[group];
        for (common, view) in &mut group.views {
            view.entry(cube.lowest() & common).or_default().push(group.cubes.len());
        }
        group.cubes.push((cube, number));
    }

    /// The first cube that meets this one and is what is looked for, by `wanted(its cube, its number)`.
    ///
    /// "First" is the same for the same insertions. `None` also when the budget is spent.
    pub(super) fn find<T>(
        &mut self,
        cube: Cube,
        budget: &mut Budget,
        mut wanted: impl FnMut(Cube, usize) -> Option<T>,
    ) -> Option<T> {
        for Group { mask, cubes, views } in &mut self.groups {
            let common = *mask & cube.mask();
            let view = views.entry(common).or_insert_with(|| {
                budget.steps(cubes.len());
                view(cubes, common)
            });
            for &position in view.get(&(cube.lowest() & common)).into_iter().flatten() {
                let (other, number) = cubes[position];
                if !budget.steps(1) {
                    return None;
                }
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

fn view(cubes: &[(Cube, usize)], common: u64) -> HashMap<u64, Vec<usize>> {
    let mut view: HashMap<_, Vec<_>> = HashMap::new();
    for (position, (cube, _)) in cubes.iter().enumerate() {
        view.entry(cube.lowest() & common).or_default().push(position);
    }
    view
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
        fn finds_exactly_what_meets(
            cubes in prop::collection::vec(cube(), 0..40),
            queries in prop::collection::vec((0..40_usize, cube()), 1..20),
        ) {
            let (mut index, mut inserted) = (Index::default(), 0);
            for (until, query) in queries {
                // Between the queries cubes are added, so that views have to grow.
                let until = until.min(cubes.len()).max(inserted);
                cubes[inserted..until].iter().zip(inserted..).for_each(|(cube, number)| index.insert(*cube, number));
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
    fn a_spent_budget_ends_the_search() {
        let mut index = Index::default();
        (0..1000).for_each(|number| index.insert(Cube::ALL, number));
        let mut budget = Budget::new(1500);
        let mut seen = 0;
        index.find(Cube::ALL, &mut budget, |_, _| {
            seen += 1;
            None::<()>
        });
        assert!(budget.is_spent() && (400..600).contains(&seen), "{seen}");
    }
}
