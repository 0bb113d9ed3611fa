use proptest::prelude::*;

use super::*;

/// Cubes of 8 bits, so that every kind can be looked at.
fn small() -> impl Strategy<Value = Cube> {
    (any::<u8>(), any::<u8>()).prop_map(|(mask, value)| Cube::new(u64::from(mask) | BITS & !0xFF, u64::from(value)))
}

fn kinds(cube: Cube) -> Vec<u64> {
    (0..=0xFF).filter(|&kind| Cube::one(kind).is_within(cube)).collect()
}

proptest! {
    #[test]
    fn operations_equal_those_of_sets(one in small(), other in small()) {
        let (ones, others) = (kinds(one), kinds(other));
        let both: Vec<_> = ones.iter().copied().filter(|kind| others.contains(kind)).collect();
        prop_assert_eq!(one.intersect(other).map_or_else(Vec::new, kinds), both);
        prop_assert_eq!(one.is_within(other), ones.iter().all(|kind| others.contains(kind)));
        prop_assert!(ones.contains(&one.lowest()));
        prop_assert_eq!(one.count(), ones.len() as u64);

        let rest = one.without(other);
        let mut only: Vec<_> = rest.iter().flat_map(|cube| kinds(*cube)).collect();
        only.sort_unstable();
        prop_assert_eq!(only, ones.into_iter().filter(|kind| !others.contains(kind)).collect::<Vec<_>>());
    }
}

#[test]
fn well_formed_cubes_are_disjoint() {
    for (at, one) in WELL_FORMED.iter().enumerate() {
        assert!(WELL_FORMED[at + 1..].iter().all(|other| one.intersect(*other).is_none()));
    }
}
