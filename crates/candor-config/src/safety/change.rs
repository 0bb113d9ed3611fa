//! Modifications of a route, for one kind of frame or a set of kinds.

use super::cube::{BITS, Cube, FD, XL};
use crate::plan::{IdChange, Route, Selection, SendAs};
use candor_core::frame::FrameFormat;
use candor_core::rule::Operation;

/// Any sequence of AND, OR, XOR and SET: every bit is kept, flipped, or constant. So images and preimages of a [`Cube`] are
/// cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Change {
    keep: u64,
    flip: u64,
}

impl Change {
    pub(super) const NONE: Self = Self { keep: BITS, flip: 0 };

    pub(super) fn of(route: &Route, selection: &Selection) -> Self {
        let converted = match route.send_as.map(SendAs::format) {
            Some(FrameFormat::Classic) => Self { keep: BITS & !FD, flip: 0 },
            Some(FrameFormat::Fd) => Self { keep: BITS & !FD, flip: FD },
            None => Self::NONE,
        };
        route.modifications.operands().into_iter().fold(converted, |change, (operation, operand)| {
            // `to-id` replaces the operand of the route, as in `lower`.
            let id = match (operation, selection.id) {
                (Operation::Set, Some(IdChange::Set(id))) => Some(id),
                (Operation::And, Some(IdChange::Move { and, .. })) => Some(and),
                (Operation::Or, Some(IdChange::Move { or, .. })) => Some(or),
                _ => operand.id,
            };
            id.map_or(change, |id| change.then(Self::one(operation, u64::from(id))))
        })
    }

    const fn one(operation: Operation, operand: u64) -> Self {
        match operation {
            Operation::And => Self { keep: operand | XL | FD, flip: 0 },
            Operation::Or => Self { keep: BITS & !operand, flip: operand },
            Operation::Xor => Self { keep: BITS, flip: operand },
            Operation::Set => Self { keep: XL | FD, flip: operand },
        }
    }

    pub(super) const fn then(self, next: Self) -> Self {
        Self { keep: self.keep & next.keep, flip: self.flip & next.keep ^ next.flip }
    }

    pub(super) const fn on(self, kind: u64) -> u64 {
        kind & self.keep ^ self.flip
    }

    pub(super) const fn image(self, cube: Cube) -> Cube {
        Cube::new(cube.mask() | BITS & !self.keep, self.on(cube.lowest()))
    }

    pub(super) const fn preimage(self, cube: Cube) -> Option<Cube> {
        let differs = (cube.lowest() ^ self.flip) & cube.mask();
        if differs & !self.keep == 0 { Some(Cube::new(cube.mask() & self.keep, differs)) } else { None }
    }

    /// Returns true if all these kinds keep their identifier and flags.
    pub(super) fn keeps_identifiers(self, cube: Cube) -> bool {
        let of_identifiers = Self { keep: self.keep | FD, flip: self.flip & !FD };
        of_identifiers.agrees(Self::NONE).is_some_and(|kept| cube.is_within(kept))
    }

    /// The kinds of frames that both change identically.
    pub(super) const fn agrees(self, other: Self) -> Option<Cube> {
        let (mask, value) = (self.keep ^ other.keep, self.flip ^ other.flip);
        if value & !mask == 0 { Some(Cube::new(mask, value)) } else { None }
    }
}

#[cfg(test)]
mod tests;
