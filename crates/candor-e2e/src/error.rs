//! Why a scheme cannot be compiled.

use crate::names::{IdMode, Profile};

/// A field of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The result of the CRC, XOR or sum.
    Checksum,
    /// The counter.
    Counter,
    /// A constant, for example the Data-ID in the header of P04.
    Constant,
    /// The length of the payload in the header.
    Length,
}

impl core::fmt::Display for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Checksum => "checksum",
            Self::Counter => "counter",
            Self::Constant => "constant",
            Self::Length => "length",
        })
    }
}

/// Why a scheme cannot be compiled: the field, its value, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts name the fields")]
pub enum SchemeError {
    #[error("A CRC of {width} bits is not possible: it has 1 to 64 bits")]
    CrcWidth { width: u8 },
    #[error("The {parameter} of the CRC, {value:#X}, does not fit into its {width} bits")]
    CrcParameter { parameter: &'static str, value: u64, width: u8 },
    #[error("The {part} has {bits} bits from bit {start} on: a field has 1 to 64 bits in at most 8 bytes")]
    Place { part: Part, start: u16, bits: u8 },
    #[error("The {part} ends in byte {byte}, but the shortest payload has {len} bytes")]
    Outside { part: Part, byte: usize, len: usize },
    #[error("The {first} and the {second} share byte {byte}: their bits must differ")]
    Overlap { first: Part, second: Part, byte: usize },
    #[error("The checksum has {bits} bits in the payload, but the CRC has only {width}")]
    WiderThanCrc { bits: u32, width: u8 },
    #[error("The constant {value:#X} does not fit into its field, which holds up to {max:#X}")]
    Constant { value: u64, max: u64 },
    #[error("The payload has {min} to {max} bytes: the first number must not be larger, and not 0")]
    Len { min: usize, max: usize },
    #[error("A payload of {len} bytes is longer than its length field can say, up to {max}")]
    LengthField { len: usize, max: u64 },
    #[error("The checksum covers bytes {first} to {last}: the first must not be larger, and both must be below {len}")]
    Range { first: usize, last: usize, len: usize },
    #[error("The counter has {bits} bits: up to 32 are possible")]
    CounterBits { bits: u8 },
    #[error("The counter has the values {min} to {max}: at least two, and up to {largest} in its field")]
    CounterRange { min: u32, max: u32, largest: u32 },
    #[error("The first counter is {first}: it must be one of {min} to {max}")]
    CounterFirst { first: u32, min: u32, max: u32 },
    #[error("A list of {count} Data-IDs needs a counter, which chooses one")]
    ListWithoutCounter { count: usize },
    #[error("A list of {count} Data-IDs needs a counter of at least {count} and at most 256 values; it has {values}")]
    ListAndCounter { count: usize, values: u64 },
    #[error("The largest step of the counter is {value}: 1 to {largest} are allowed")]
    MaxDelta { value: u32, largest: u64 },
    #[error("{profile} needs {needed} Data-ID(s), not {count}")]
    DataIdCount { profile: Profile, needed: usize, count: usize },
    #[error("The Data-ID {value:#X} is too large: {profile} has up to {largest:#X} here")]
    DataId { profile: Profile, value: u32, largest: u32 },
    #[error("{profile} does not have the Data-ID mode {}: {allowed}", mode.name())]
    Mode { profile: Profile, mode: IdMode, allowed: &'static str },
    #[error("The header of {profile} at byte {offset} ends in byte {byte}, but payloads have up to {max} bytes")]
    Offset { profile: Profile, offset: u16, byte: usize, max: usize },
    #[error("{profile} at byte {offset} needs payloads of {min} to {max} bytes, not {len}")]
    ProfileLen { profile: Profile, offset: u16, min: usize, max: usize, len: usize },
    #[error("{profile} has payloads of one length, not {min} to {max} bytes")]
    VariableLen { profile: Profile, min: usize, max: usize },
}

impl SchemeError {
    /// What to do about it.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::CrcWidth { .. } | Self::CrcParameter { .. } => {
                "the parameters of a CRC are those of its catalogue entry"
            }
            Self::Place { .. } => "a place is a byte, or the first bit and the number of bits",
            Self::Outside { .. } => "move it into the frame, or give the length of the payload with `len`",
            Self::Overlap { .. } => "move one of the two",
            Self::WiderThanCrc { .. } => "give the place as many bits as the CRC has, or choose a wider CRC",
            Self::Constant { .. } => "write a value that fits into its bits",
            Self::Len { .. } | Self::LengthField { .. } => "write the length of the payload in bytes with `len`",
            Self::Range { .. } => "write the first and the last byte with `over`, such as \"0..6\"",
            Self::CounterBits { .. } => "write the bits of the counter alone",
            Self::CounterRange { .. } | Self::CounterFirst { .. } => "change `counter-max`, or the bits of the counter",
            Self::ListWithoutCounter { .. } => "write one value, or add `counter-at`",
            Self::ListAndCounter { .. } => "write one value for each value of the counter, or a single one",
            Self::MaxDelta { .. } => {
                "write a smaller `max-delta`: one that half of the counter's values can tell from a step back"
            }
            Self::DataIdCount { needed: 1, .. } => "write one number, such as data-id = 0x123",
            Self::DataIdCount { .. } => {
                "write one number for each value of the counter, such as data-id = [1, 2, 3, …]"
            }
            Self::DataId { .. } => "write the Data-ID of the sender's configuration",
            Self::Mode { .. } => "remove `mode`, or choose the profile that the sender has",
            Self::Offset { .. } | Self::ProfileLen { .. } => {
                "give the length of the payload with `len`, or change `offset`"
            }
            Self::VariableLen { .. } => "write one length with `len`",
        }
    }
}
