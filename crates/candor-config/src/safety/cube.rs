//! Sets of kinds of frames: some bits fixed, the others free.

use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_RTR_FLAG, CAN_SFF_MASK, CANXL_VCID};

/// A CAN FD frame; above the 32 bits of `can_id`.
pub(super) const FD: u64 = 1 << 32;
/// A CAN XL frame; the 32 bits below are then its first word.
pub(super) const XL: u64 = 1 << 33;
/// All bits of a kind.
pub(super) const BITS: u64 = XL | FD | 0xFFFF_FFFF;

pub(super) const EFF: u64 = CAN_EFF_FLAG as u64;
pub(super) const RTR: u64 = CAN_RTR_FLAG as u64;
pub(super) const ERR: u64 = CAN_ERR_FLAG as u64;
pub(super) const IDENTIFIER: u64 = CAN_EFF_MASK as u64;
/// Bits of 29-bit identifiers only.
pub(super) const HIGH: u64 = (CAN_EFF_MASK & !CAN_SFF_MASK) as u64;
/// Bits of the first word of a CAN XL frame that are neither priority nor virtual network.
const HIGH_XL: u64 = (!CANXL_VCID & !CAN_SFF_MASK) as u64;

/// Frames whose bits in `mask` are those of `value`.
///
/// A kind of frame is 34 bits: the `can_id`, and above it whether the frame is CAN FD or CAN XL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cube {
    mask: u64,
    value: u64,
}

impl Cube {
    pub(super) const ALL: Self = Self::new(0, 0);

    pub(super) const fn new(mask: u64, value: u64) -> Self {
        Self { mask, value: value & mask }
    }

    pub(super) const fn one(kind: u64) -> Self {
        Self::new(BITS, kind)
    }

    pub(super) const fn mask(self) -> u64 {
        self.mask
    }

    /// The lowest kind: all free bits are 0.
    pub(super) const fn lowest(self) -> u64 {
        self.value
    }

    /// The number of kinds.
    pub(super) const fn count(self) -> u64 {
        1 << (BITS & !self.mask).count_ones()
    }

    pub(super) const fn intersect(self, other: Self) -> Option<Self> {
        if (self.value ^ other.value) & self.mask & other.mask == 0 {
            Some(Self { mask: self.mask | other.mask, value: self.value | other.value })
        } else {
            None
        }
    }

    pub(super) const fn is_within(self, other: Self) -> bool {
        other.mask & !self.mask == 0 && (self.value ^ other.value) & other.mask == 0
    }

    /// The difference, as disjoint cubes.
    pub(super) fn without(self, other: Self) -> Vec<Self> {
        if self.intersect(other).is_none() {
            return vec![self];
        }
        let mut rest = Vec::new();
        let mut inside = self;
        let mut bits = other.mask & !self.mask;
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            let wanted = other.value & bit;
            rest.push(Self { mask: inside.mask | bit, value: inside.value | (wanted ^ bit) });
            inside = Self { mask: inside.mask | bit, value: inside.value | wanted };
        }
        rest
    }
}

/// Frames that controllers can receive, and error message frames from the driver.
pub(super) const WELL_FORMED: [Cube; 6] = [
    Cube::new(XL | FD | HIGH_XL, XL),
    Cube::new(XL | FD | ERR | EFF | HIGH, 0),
    Cube::new(XL | FD | ERR | EFF, EFF),
    Cube::new(XL | FD | ERR | EFF | RTR | HIGH, FD),
    Cube::new(XL | FD | ERR | EFF | RTR, FD | EFF),
    Cube::new(XL | FD | ERR | EFF | RTR, ERR),
];

#[cfg(test)]
mod tests;
