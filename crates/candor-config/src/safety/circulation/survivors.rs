//! Computes for all frames at once whether any can loop forever.

use std::collections::HashMap;

use super::Move;
use crate::safety::cube::Cube;
use crate::safety::edges::Edges;
use crate::safety::index::Budget;
use crate::safety::ways::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survivors {
    /// Every frame comes to an end.
    None,
    /// Some do not, or it would take too long to know.
    Perhaps,
}

/// Takes away, again and again, what cannot take another step, until nothing is left or nothing changes.
pub(super) fn survivors(edges: &Edges, moves: &[Move], budget: &mut Budget) -> Survivors {
    let mut alive: HashMap<Place, Vec<Cube>> = moves.iter().map(|step| (step.from, vec![Cube::ALL])).collect();
    loop {
        let mut next: HashMap<Place, Vec<Cube>> = HashMap::new();
        for step in moves {
            let edge = &edges.all()[step.edge];
            for goal in alive.get(&step.to).into_iter().flatten() {
                let Some(lead_there) = edge.change.preimage(*goal) else { continue };
                let here = next.entry(step.from).or_default();
                for cube in edge.takes.iter().filter_map(|takes| takes.intersect(lead_there)) {
                    if !budget.steps(1 + here.len()) {
                        return Survivors::Perhaps;
                    }
                    if !here.iter().any(|known| cube.is_within(*known)) {
                        here.push(cube);
                    }
                }
            }
        }
        if next.values().all(Vec::is_empty) {
            return Survivors::None;
        }
        // The sets only shrink, so that nothing changes when all that was alive still is.
        let still = |place: &Place, cube: &Cube| {
            let mut rest = vec![*cube];
            for other in next.get(place).into_iter().flatten() {
                rest = rest.into_iter().flat_map(|left| left.without(*other)).collect();
            }
            rest.is_empty()
        };
        let size: usize = alive.values().chain(next.values()).map(Vec::len).sum();
        if !budget.steps(size * size) || alive.iter().all(|(place, cubes)| cubes.iter().all(|cube| still(place, cube)))
        {
            return Survivors::Perhaps;
        }
        alive = next;
    }
}
