//! What can be violated.

/// A rule of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A source address of J1939 that a node of the other bus has, or a frame about addresses.
    J1939,
    /// The payload has another length.
    Length,
    /// Bits that never change have changed.
    Constant,
    /// The value of a signal is outside of its range.
    Values,
    /// More frames in a second.
    Rate,
    /// More bits in a second.
    BitRate,
    /// Too soon after the frame before.
    Gap,
}

impl Rule {
    /// All of them, in the order of their declaration, which is that of the checks.
    pub const ALL: [Self; 7] =
        [Self::J1939, Self::Length, Self::Constant, Self::Values, Self::Rate, Self::BitRate, Self::Gap];

    /// One word, as in metrics and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::J1939 => "j1939",
            Self::Length => "len",
            Self::Constant => "constant",
            Self::Values => "values",
            Self::Rate => "rate",
            Self::BitRate => "bit-rate",
            Self::Gap => "min-gap",
        }
    }
}

/// What happens to a frame that violates a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnViolation {
    /// It is forwarded, and counted.
    #[default]
    Count,
    /// It is dropped.
    Drop,
}
