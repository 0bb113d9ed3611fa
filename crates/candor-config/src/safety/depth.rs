//! Maximum number of sets that have a frame in common.

use super::cube::{BITS, Cube};
use super::index::Budget;

/// The largest number of cubes that contain one kind of frame, and that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    pub(super) count: usize,
    pub(super) kind: u64,
    pub(super) is_exact: bool,
}

/// Divides the cubes by one bit after another; skips halves with no more cubes than already found.
pub(super) fn depth(cubes: &[Cube], budget: &mut Budget) -> Depth {
    let mut best = Depth { count: 0, kind: 0, is_exact: true };
    let mut parts = vec![(Cube::ALL, cubes.to_vec())];
    while let Some((part, cubes)) = parts.pop() {
        if cubes.len() <= best.count {
            continue;
        }
        // The first kind is always reached, at a few steps per cube, so the result is not 0.
        if !budget.steps(cubes.len()) && best.count > 0 {
            best.is_exact = false;
            break;
        }
        let open = BITS & !part.mask();
        let Some(bit) = dividing_bit(&cubes, open) else {
            best = Depth { count: cubes.len(), kind: part.lowest(), ..best };
            continue;
        };
        let half = |value| {
            let half = Cube::new(bit, value);
            let part = part.intersect(half).unwrap_or(part);
            (part, cubes.iter().copied().filter(|cube| cube.intersect(half).is_some()).collect::<Vec<_>>())
        };
        let (zero, one) = (half(0), half(bit));
        // The larger half is next, because it raises the bound; of equal halves, that of the lower kinds.
        let is_sorted = zero.1.len() < one.1.len();
        parts.extend(if is_sorted { [zero, one] } else { [one, zero] });
    }
    best
}

/// An open bit that most cubes of a sample fix.
fn dividing_bit(cubes: &[Cube], open: u64) -> Option<u64> {
    const FEW: usize = 16;
    let fixed = cubes.iter().fold(0, |bits, cube| bits | cube.mask()) & open;
    let sample = || cubes.iter().step_by(cubes.len().div_ceil(FEW));
    let bits = (0..u64::BITS).map(|bit| 1 << bit).filter(|bit| fixed & bit != 0);
    bits.max_by_key(|bit| sample().filter(|cube| cube.mask() & bit != 0).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn depth_equals_the_deepest_kind(cubes in prop::collection::vec((0..64_u64, 0..64_u64), 0..30)) {
            let cubes: Vec<_> = cubes.into_iter().map(|(mask, value)| Cube::new(mask, value)).collect();
            let count = |kind| cubes.iter().filter(|cube| Cube::one(kind).is_within(**cube)).count();
            let depth = depth(&cubes, &mut Budget::new(Budget::USUAL));
            prop_assert_eq!(depth.count, (0..64).map(count).max().unwrap());
            prop_assert_eq!(count(depth.kind), depth.count);
            prop_assert!(depth.is_exact);
        }
    }

    #[test]
    fn finds_something_without_a_budget() {
        let different = [1, 3, 5, 7, 9].map(|value| Cube::new(15, value));
        let cubes = [&different[..], &[Cube::new(1, 0); 3]].concat();
        let found = depth(&cubes, &mut Budget::new(0));
        assert_eq!((found.count, found.is_exact), (1, false));
        assert_eq!(depth(&[], &mut Budget::new(0)).count, 0);
    }

    #[test]
    fn many_identifiers_need_few_steps() {
        let cubes: Vec<_> = (0..100_000_u64).map(|id| Cube::one(id * 5003)).collect();
        let mut budget = Budget::new(4_000_000);
        assert_eq!(depth(&cubes, &mut budget).count, 1);
        assert!(!budget.is_spent());
    }
}
