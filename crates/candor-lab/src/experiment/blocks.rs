//! Order of the cells, and their division into boots of guests.
//!
//! State that a cell finds in a guest depends on the cells before it: caches of the kernel's allocator, timers, page tables. So
//! the plan alone decides about a *block*, the cells of one boot: neither the number of machines nor earlier results matter. A
//! plan gives the same instructions however it is divided and interrupted.

use std::collections::BTreeMap;

use crate::experiment::{Cell, Conditions, Plan};
use candor_core::random::SplitMix64;

/// The cells of one boot of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'p> {
    pub conditions: &'p Conditions,
    /// In the order of measurement.
    pub cells: Vec<&'p Cell>,
    /// 16 hexadecimal digits.
    pub name: String,
}

impl Plan {
    /// In the order of measurement: cells with the same conditions are shuffled and divided into blocks of about equal size, which
    /// are shuffled, too.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let mut by_conditions: BTreeMap<&Conditions, Vec<&Cell>> = BTreeMap::new();
        for cell in self.cells() {
            by_conditions.entry(&cell.conditions).or_default().push(cell);
        }
        let mut random = SplitMix64::new(self.seed);
        let mut blocks = Vec::new();
        for (conditions, mut cells) in by_conditions {
            shuffle(&mut random, &mut cells);
            // Without a boot, blocks of one cell cost nothing, and an interruption loses only one.
            let most = if conditions.testbed.is_guest() { self.cells_per_guest.max(1) as usize } else { 1 };
            let count = cells.len().div_ceil(most);
            for number in 0..count {
                let part = cells[number * cells.len() / count..(number + 1) * cells.len() / count].to_vec();
                let name = part.iter().fold(Hash::new(), |hash, cell| hash.part(&cell.name(self))).name();
                blocks.push(Block { conditions, cells: part, name });
            }
        }
        shuffle(&mut random, &mut blocks);
        blocks
    }
}

fn shuffle<T>(random: &mut SplitMix64, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// 64-bit FNV-1a: short, and plans have some thousand cells at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// Adds a part and its end, so that parts do not run into each other.
    pub(super) fn part(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xFF])
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        self
    }

    /// 16 hexadecimal digits.
    pub(super) fn name(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Identifies the content of a file.
pub fn name_of(bytes: &[u8]) -> String {
    Hash::new().bytes(bytes).name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_depends_on_ends_and_order_of_parts() {
        let name = |parts: &[&str]| parts.iter().fold(Hash::new(), |hash, part| hash.part(part)).name();
        assert_eq!(name(&[]), "cbf29ce484222325");
        assert_ne!(name(&["ab", "c"]), name(&["a", "bc"]));
        assert_ne!(name(&["a", "b"]), name(&["b", "a"]));
    }
}
