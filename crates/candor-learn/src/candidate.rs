//! A scheme that agrees with the sample.

use candor_e2e::{Place, Scheme, Settings};

use crate::hypothesis::Ambiguity;

/// A scheme that agrees with the sample, and what it cost to find it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) scheme: Scheme,
    pub(crate) settings: Option<Settings>,
    /// Bits that the search chose freely: each is one bit less of evidence.
    pub(crate) fitted: f64,
    /// Frames that only fixed a constant: one, or one for each value of the counter.
    pub(crate) constants: usize,
    /// How unusual it is. Orders equal evidence.
    pub(crate) penalty: f64,
    pub(crate) ambiguities: Vec<Ambiguity>,
    /// The counter chooses a constant.
    pub(crate) by: Option<Place>,
}
