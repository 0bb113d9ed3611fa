//! Level of a wire.

use std::ops::{BitAnd, Not};

/// Level of a bit. Dominant sorts first, because it wins arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// 0.
    Dominant,
    /// 1.
    Recessive,
}

impl Level {
    pub fn of(bit: bool) -> Self {
        if bit { Self::Recessive } else { Self::Dominant }
    }

    pub fn bit(self) -> u32 {
        u32::from(self == Self::Recessive)
    }

    /// The lowest `count` bits of `value`, most significant first.
    pub fn of_number(value: u32, count: u32) -> impl Iterator<Item = Self> {
        (0..count).rev().map(move |position| Self::of(value >> position & 1 == 1))
    }
}

impl BitAnd for Level {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.min(other)
    }
}

impl Not for Level {
    type Output = Self;

    fn not(self) -> Self {
        Self::of(self == Self::Dominant)
    }
}
