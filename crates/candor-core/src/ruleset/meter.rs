//! How much work a search was, for tests: no clock is needed to see that a cost does not grow.

/// Told of everything that a search looks at.
pub(super) trait Meter {
    /// One slot of a hash table, one filter, or one position was looked at.
    fn look(&mut self);
}

/// Nobody asks, and nothing is left of it in the program.
impl Meter for () {
    fn look(&mut self) {}
}

#[cfg(test)]
impl Meter for usize {
    fn look(&mut self) {
        *self += 1;
    }
}
