//! Verdicts on frames.

/// What a check says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The MAC is right, and the freshness value is newer than all accepted ones.
    Ok,
    /// The MAC is right, and the scheme has no freshness value: an old frame is not recognised.
    NoFreshness,
    /// The MAC is right, and the freshness value is that of the last accepted frame: the frame has been sent again.
    Repeated,
    /// The MAC is right for an older freshness value: the frame has been recorded and sent again.
    Replayed,
    /// The MAC is wrong for every freshness value that is tried: another key, a changed frame, or a frame that is too old or
    /// too new.
    WrongMac,
    /// There was no sync frame, so the freshness value is unknown.
    NoSync,
    /// The length of the frame is not that of the scheme.
    WrongLength,
}

impl Verdict {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 7] =
        [Self::Ok, Self::NoFreshness, Self::Repeated, Self::Replayed, Self::WrongMac, Self::NoSync, Self::WrongLength];

    /// True if the frame can be used: the first two.
    #[inline]
    #[must_use]
    pub const fn is_valid(self) -> bool {
        matches!(self, Self::Ok | Self::NoFreshness)
    }

    /// One word, for example `wrong-mac`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoFreshness => "no-freshness",
            Self::Repeated => "repeated",
            Self::Replayed => "replayed",
            Self::WrongMac => "wrong-mac",
            Self::NoSync => "no-sync",
            Self::WrongLength => "wrong-length",
        }
    }
}
