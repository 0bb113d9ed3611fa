//! Verdicts on frames.

/// What a receiver says of a frame. The checksum is right in all but the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Right, and the next counter.
    Ok,
    /// Right, and up to the largest step of the counter.
    OkSomeLost,
    /// Right, and the first one, or the first after a resynchronisation: nothing to compare the counter with.
    Initial,
    /// Right, and the scheme has no counter.
    NoCounter,
    /// The counter is that of the last accepted frame.
    Repeated,
    /// The step of the counter is too large.
    WrongSequence,
    /// The checksum is right, but the length in the header, the Data-ID or the counter is not one of this sender.
    WrongHeader,
    /// The checksum is wrong.
    WrongChecksum,
    /// The length of the payload is not one of the scheme.
    WrongLength,
}

impl Verdict {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::OkSomeLost,
        Self::Initial,
        Self::NoCounter,
        Self::Repeated,
        Self::WrongSequence,
        Self::WrongHeader,
        Self::WrongChecksum,
        Self::WrongLength,
    ];

    /// True if the frame can be used: the first four.
    #[inline]
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Ok | Self::OkSomeLost | Self::Initial | Self::NoCounter)
    }

    /// One word, for example `ok-some-lost`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::OkSomeLost => "ok-some-lost",
            Self::Initial => "initial",
            Self::NoCounter => "no-counter",
            Self::Repeated => "repeated",
            Self::WrongSequence => "wrong-sequence",
            Self::WrongHeader => "wrong-header",
            Self::WrongChecksum => "wrong-checksum",
            Self::WrongLength => "wrong-length",
        }
    }
}
