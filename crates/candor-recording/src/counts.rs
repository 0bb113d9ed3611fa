//! Numbers of what was left out, by kind.

use std::fmt;

/// How often each kind of loss occurred, in the order of their first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    counts: Vec<(&'static str, u64)>,
}

impl Counts {
    /// Nothing was left out.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: Vec::new() }
    }

    /// Counts one of a kind. `what` is before the number: `error frames left out`.
    pub fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    /// Counts several of a kind.
    pub fn add_many(&mut self, what: &'static str, count: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, counted)) => *counted += count,
            None => self.counts.push((what, count)),
        }
    }

    /// The kinds with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().copied()
    }

    /// Returns true if nothing was counted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(what, count)| self.add_many(what, count));
    }
}

/// A line for each kind.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(what, count)| writeln!(f, "{what}: {count}"))
    }
}
