//! Filters in can-utils notation: `123:7FF`, `123~7FF`, `123`.

use std::ops::Range;

/// Text that is no filter, with the offending part of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct FilterTextError {
    /// What is wrong.
    pub kind: FilterTextErrorKind,
    /// Which bytes of the text.
    pub range: Range<usize>,
}

/// What can be wrong with a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterTextErrorKind {
    /// Nothing there.
    #[error("The filter is empty")]
    Empty,
}
