//! Counts the steps of a search, so tests of its complexity need no clock.

pub(super) trait Meter {
    /// Counts a slot of a hash table, a filter, or a position.
    fn look(&mut self);
}

/// Counts nothing, without cost.
impl Meter for () {
    fn look(&mut self) {}
}

#[cfg(test)]
impl Meter for usize {
    fn look(&mut self) {
        *self += 1;
    }
}
