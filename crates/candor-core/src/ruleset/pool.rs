//! Values that many jobs share, stored once.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

#[derive(Debug)]
pub(super) struct Pool<T> {
    values: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: BTreeMap::new() }
    }
}

impl<T: Clone + Ord> Pool<T> {
    /// The number of a new or existing value.
    pub(super) fn number_of(&mut self, value: T) -> u32 {
        *self.numbers.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            number(self.values.len() - 1)
        })
    }

    pub(super) fn finish(self) -> Box<[T]> {
        self.values.into()
    }
}

/// An index as 32 bits.
///
/// # Panics
/// If the index is 2^32 or more.
pub(super) fn number(position: usize) -> u32 {
    u32::try_from(position).expect("2^32 jobs do not fit into memory")
}
