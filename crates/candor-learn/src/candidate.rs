//! A scheme that agrees with the sample.

use candor_e2e::{Place, Scheme, Settings};

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

/// What the log cannot decide. The scheme has the simplest choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ambiguity {
    /// These bytes do not vary: the checksum may cover them or not.
    ConstantBytes(Vec<u16>),
    /// The counter was not seen to start again: its largest value is a guess.
    CounterRange,
    /// P01 and P11 in mode both: each high byte of the Data-ID has a low byte that gives the same checksums. The high byte is 0.
    DataIdHighByte,
    /// The Data-ID could also be in another mode, with another value.
    Mode,
    /// The checksum may be at one of these places instead: each of these fields follows from the others.
    Places(Vec<Place>),
    /// One constant: `init`, `xorout` and a constant Data-ID before the payload are the same for payloads of one length.
    StartOrFinalOrDataId,
    /// The start of the XOR or sum may come from bytes before the payload, for example the identifier or the length.
    StartOrIdentifier,
    /// The start may be a part of all entries of the Data-ID list.
    StartOrDataId,
    /// The log has no frames with these counters: their Data-IDs are 0 in the scheme.
    UnseenCounters(Vec<u32>),
}
