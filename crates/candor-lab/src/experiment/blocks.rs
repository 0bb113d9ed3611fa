//! In which order cells are measured, which of them share a boot of a guest, and which a machine has to do.
//!
//! What a cell finds in a guest depends on the cells in front of it: caches of the kernel's allocator, timers, page tables. So
//! a *block*, which is what one boot runs, is decided by the plan alone: neither by the number of machines nor by what has been
//! measured already. Then a plan gives the same instructions however it is spread and however often it is interrupted.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::experiment::hash::Hash;
use crate::experiment::{Cell, Place, Plan};
use candor_core::random::SplitMix64;

/// What one boot of a guest runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'p> {
    /// Where.
    pub place: &'p Place,
    /// The cells, in their order.
    pub cells: Vec<&'p Cell>,
    /// 16 hexadecimal digits that stand for all of it.
    pub name: String,
}

/// A part of a plan: `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    number: NonZeroU32,
    /// Of how many.
    of: NonZeroU32,
}

/// Text that is no shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("A shard is I/N, such as 2/8: the second of eight parts")]
pub struct ShardError;

impl Shard {
    /// All of it.
    pub const WHOLE: Self = Self { number: NonZeroU32::MIN, of: NonZeroU32::MIN };

    /// Whether the block at this position belongs to it.
    #[must_use]
    pub fn has(self, position: usize) -> bool {
        position % self.of.get() as usize == self.number.get() as usize - 1
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (number, of) = text.split_once('/').ok_or(ShardError)?;
        let read = |text: &str| text.trim().parse::<NonZeroU32>().map_err(|_no_number| ShardError);
        let shard = Self { number: read(number)?, of: read(of)? };
        if shard.number <= shard.of { Ok(shard) } else { Err(ShardError) }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Plan {
    /// The blocks, in the order in which they are measured: cells of a place in random order, blocks of equal size as far as
    /// possible, and these in random order once more.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let mut by_place: BTreeMap<&Place, Vec<&Cell>> = BTreeMap::new();
        for cell in self.cells() {
            by_place.entry(&cell.place).or_default().push(cell);
        }
        let mut random = SplitMix64::new(self.seed);
        let mut blocks = Vec::new();
        for (place, mut cells) in by_place {
            shuffle(&mut random, &mut cells);
            // Machines that need no boot lose nothing by blocks of one cell, which is all that an interruption costs then.
            let most = if place.testbed.is_guest() { self.cells_per_guest.max(1) as usize } else { 1 };
            let count = cells.len().div_ceil(most);
            for number in 0..count {
                let part = cells[number * cells.len() / count..(number + 1) * cells.len() / count].to_vec();
                let name = part.iter().fold(Hash::new(), |hash, cell| hash.part(&cell.name(self))).name();
                blocks.push(Block { place, cells: part, name });
            }
        }
        shuffle(&mut random, &mut blocks);
        blocks
    }
}

/// Puts items into random order.
fn shuffle<T>(random: &mut SplitMix64, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}
