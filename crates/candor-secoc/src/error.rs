//! Why a scheme cannot be compiled.

/// A part of a secured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// What the frame is about.
    Payload,
    /// The sent part of the freshness value.
    Freshness,
    /// The sent part of the MAC.
    Mac,
}

impl core::fmt::Display for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Payload => "payload",
            Self::Freshness => "freshness value",
            Self::Mac => "MAC",
        })
    }
}

/// Why a scheme cannot be compiled: the field, its value, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts name the fields")]
pub enum SchemeError {
    #[error("A secured frame of {len} bytes is not possible: CAN has 1 to 8, 12, 16, 20, 24, 32, 48 or 64 bytes")]
    Len { len: usize },
    #[error("A plain frame of {len} bytes is not possible: CAN has 0 to 8, 12, 16, 20, 24, 32, 48 or 64 bytes")]
    PlainLen { len: usize },
    #[error("The {part} ends in byte {byte}, but the frame has {len} bytes")]
    Outside { part: Part, byte: usize, len: usize },
    #[error("The {first} and the {second} share bits of byte {byte}")]
    Overlap { first: Part, second: Part, byte: usize },
    #[error("The MAC has {bits} bits: 8 to 128 are possible")]
    MacBits { bits: u8 },
    #[error("A Data-ID of {len} bytes is not possible: up to 16")]
    DataId { len: usize },
    #[error("The freshness value has {bits} bits of counters: 1 to 64 are possible")]
    CounterBits { bits: u32 },
    #[error("{sent} bits of the counter are sent, but it has only {bits}")]
    SentBits { sent: u8, bits: u8 },
    #[error("The reset flag has {flag} bits, but the reset counter has only {reset}; at most 8 are possible")]
    FlagBits { flag: u8, reset: u8 },
    #[error("The number of attempts is {attempts}: 1 to 16 are possible")]
    Attempts { attempts: u8 },
    #[error("The first freshness value, {start:#X}, is larger than the largest one, {largest:#X}")]
    Start { start: u64, largest: u64 },
    #[error("The trip and reset counters of the sync frame have {found} bits, but {wanted} are needed")]
    SyncBits { found: u8, wanted: u32 },
    #[error("The freshness value needs the trip and reset counters of a sync frame")]
    NoSync,
    #[error("The scheme does not use a sync frame")]
    UnusedSync,
}

impl SchemeError {
    /// What to do about it.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Len { .. } => "change `len`: the payload, the sent freshness value and the MAC fill it",
            Self::PlainLen { .. } => "change `payload`, or `mac-bits` and `sent-bits`, which follow it",
            Self::Outside { .. } => "make `len` larger, or `payload`, `mac-bits` or `sent-bits` smaller",
            Self::Overlap { .. } => "make `payload`, `mac-bits` or `sent-bits` smaller",
            Self::MacBits { .. } => "change `mac-bits`; AUTOSAR's P01 has 24",
            Self::DataId { .. } => "write a shorter Data-ID",
            Self::CounterBits { .. } => "change `counter-bits`, `trip-bits` or `reset-bits`",
            Self::SentBits { .. } => "make `sent-bits` smaller, or `counter-bits` larger",
            Self::FlagBits { .. } => "make `flag-bits` smaller, or `reset-bits` larger",
            Self::Attempts { .. } => "change `attempts`",
            Self::Start { .. } => "write a smaller `start`",
            Self::SyncBits { .. } => "give both the same `trip-bits` and `reset-bits`",
            Self::NoSync => "name the route that checks the sync frame, such as sync = \"sync\"",
            Self::UnusedSync => "remove `sync`, or write secoc = \"P03\"",
        }
    }
}
