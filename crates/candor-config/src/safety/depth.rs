//! Maximum number of sets that have a frame in common.

use super::cube::{BITS, Cube};
use super::index::Budget;

/// The most cubes that one kind of frame is in, that kind, and whether it is certain that there is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Depth {
    pub(super) count: usize,
    pub(super) kind: u64,
    pub(super) is_exact: bool,
}

/// Divides the cubes by one bit after another; halves with no more cubes than were found already are not looked at.
pub(super) fn depth(cubes: &[Cube], budget: &mut Budget) -> Depth {
    let mut best = Depth { count: 0, kind: 0, is_exact: true };
    let mut parts = vec![(Cube::ALL, cubes.to_vec())];
    while let Some((part, cubes)) = parts.pop() {
        if cubes.len() <= best.count {
            continue;
        }
        // Down to the first kind it goes in any case, at a few steps for each cube: what is there is more than nothing.
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
        // The larger half last, which is the next: it raises the bar. Of equal ones that of the lower kinds.
        let is_sorted = zero.1.len() < one.1.len();
        parts.extend(if is_sorted { [zero, one] } else { [one, zero] });
    }
    best
}

/// An open bit that some cube fixes: the one that most of a few do.
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
        fn depth_is_that_of_the_deepest_kind(cubes in prop::collection::vec((0..64_u64, 0..64_u64), 0..30)) {
            let cubes: Vec<_> = cubes.into_iter().map(|(mask, value)| Cube::new(mask, value)).collect();
            let count = |kind| cubes.iter().filter(|cube| Cube::one(kind).is_within(**cube)).count();
            let depth = depth(&cubes, &mut Budget::new(Budget::USUAL));
            prop_assert_eq!(depth.count, (0..64).map(count).max().unwrap());
            prop_assert_eq!(count(depth.kind), depth.count);
            prop_assert!(depth.is_exact);
        }
    }

    #[test]
    fn without_a_budget_something_is_found() {
        let different = [1, 3, 5, 7, 9].map(|value| Cube::new(15, value));
        let cubes = [&different[..], &[Cube::new(1, 0); 3]].concat();
        let found = depth(&cubes, &mut Budget::new(0));
        assert_eq!((found.count, found.is_exact), (1, false));
        assert_eq!(depth(&[], &mut Budget::new(0)).count, 0);
    }

    #[test]
    fn many_exact_identifiers_are_divided_quickly() {
        let cubes: Vec<_> = (0..100_000_u64).map(|id| Cube::one(id * 5003)).collect();
        let mut budget = Budget::new(4_000_000);
        assert_eq!(depth(&cubes, &mut budget).count, 1);
        assert!(!budget.is_spent());
    }
}
