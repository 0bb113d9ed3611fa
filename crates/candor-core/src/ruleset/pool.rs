//! Values that many jobs share, each kept once.

use std::collections::HashMap;
use std::hash::Hash;

/// A pool while it is filled.
#[derive(Debug)]
pub(super) struct Pool<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Pool<T> {
    /// The number of a value, which may have been there before.
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

/// A position as rule sets keep it, in half the space.
///
/// # Panics
/// From 2^32 on.
pub(super) fn number(position: usize) -> u32 {
    u32::try_from(position).expect("2^32 jobs do not fit into memory")
}
