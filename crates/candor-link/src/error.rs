//! Errors in the bytes of a peer.

use candor_core::frame::{CAN_EFF_MASK, CAN_MAX_DLEN, CAN_SFF_MASK, CANFD_MAX_DLEN};

use crate::candor::{MAX_BUSES, MAX_NAME_BYTES, VERSION};
use crate::cannelloni::{GREETING, UDP_OP_DATA, UDP_VERSION};
use crate::socketcand::MAX_MESSAGE_BYTES;

/// Bytes that are not of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {fault}")]
pub struct DecodeError {
    /// Position of the byte in the connection or, for UDP, in the datagram, from 0.
    pub at: u64,
    /// The mistake.
    pub fault: Fault,
}

/// A mistake in the bytes of a peer: the value, and what is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A batch has no frames.
    #[error("a batch of 0 frames; at least 1 is needed")]
    BatchEmpty,
    /// The records of a batch do not fill its body.
    #[error("the frames of a batch need {needs} more bytes, but {left} are left of it")]
    BatchLength {
        /// Least number of bytes of the remaining records.
        needs: usize,
        /// Bytes that remain of the batch.
        left: usize,
    },
    /// The body of a message has a length that its kind does not have.
    #[error("a body of {found} bytes; {least} to {most} are possible")]
    BodyLength {
        /// As sent.
        found: usize,
        /// Least length of this kind.
        least: usize,
        /// Greatest length of this kind.
        most: usize,
    },
    /// A hello without a bus, or with too many.
    #[error("{0} buses; 1 to {MAX_BUSES} are possible")]
    BusCount(u8),
    /// A number of a bus that occurs twice in a hello.
    #[error("bus number {0} twice")]
    BusTwice(u8),
    /// A bus without a name, or with a long one.
    #[error("a bus name of {0} bytes; 1 to {MAX_NAME_BYTES} are possible")]
    BusName(u8),
    /// A character that a text cannot have.
    #[error("{0:#04x} in a text; printable ASCII characters without < and > are possible")]
    Character(u8),
    /// A classic frame with more than 8 bytes.
    #[error("a classic frame with {0} bytes; at most {CAN_MAX_DLEN} are possible")]
    ClassicLength(u8),
    /// A clock that this version does not know.
    #[error("clock {0}; 0 to 3 are known")]
    Clock(u8),
    /// A data byte that is not hexadecimal.
    #[error("a data byte that is not a number of one or two hexadecimal digits")]
    DataByte,
    /// The number of data bytes is not the length.
    #[error("{found} data bytes; the length is {length}")]
    DataCount {
        /// Number of data bytes.
        found: usize,
        /// The length before them.
        length: usize,
    },
    /// A CAN FD frame that is a remote frame or an error message.
    #[error("an FD frame with the flags of {0:#010x}; FD has neither remote frames nor error messages")]
    FdFlags(u32),
    /// An FD frame with more than 64 bytes.
    #[error("an FD frame with {0} bytes; at most {CANFD_MAX_DLEN} are possible")]
    FdLength(u8),
    /// The connection does not start as one of cannelloni does.
    #[error("{0:#04x} in the greeting, which must be {greeting}", greeting = String::from_utf8_lossy(&GREETING))]
    Greeting(u8),
    /// An identifier that is not hexadecimal, or has too many digits.
    #[error("an identifier must have 1 to 3 (11 bits) or 8 (29 bits) hexadecimal digits")]
    IdDigits,
    /// An identifier that does not fit into its bits.
    #[error("identifier {0:X}; at most {CAN_SFF_MASK:X} with 11 bits and {CAN_EFF_MASK:X} with 29 bits are possible")]
    IdRange(u32),
    /// A kind of message that this version does not have.
    #[error("a message of kind {0}; 1 to 4 are known")]
    Kind(u8),
    /// A length that is not a decimal number.
    #[error("a length that is not a decimal number from 0 to {CAN_MAX_DLEN}")]
    Length,
    /// The first bytes of a hello are not those of this protocol.
    #[error("{0:#04x} in the first bytes of a hello, which must be CANDOR")]
    Magic(u8),
    /// A message that does not end.
    #[error("a message of more than {MAX_MESSAGE_BYTES} bytes")]
    MessageLength,
    /// A word that a message needs is missing.
    #[error("{found} words; {needs} are needed")]
    MissingWords {
        /// Number of words after the command.
        found: usize,
        /// Least number of them.
        needs: usize,
    },
    /// Another message before the hello.
    #[error("a message of kind {0} before the hello")]
    NoHello(u8),
    /// An origin of 0.
    #[error("an origin of 0; 1 to 2^64 - 1 are possible")]
    NoOrigin,
    /// An operation other than data.
    #[error("operation {0}; only {UDP_OP_DATA} (data) is known")]
    Operation(u8),
    /// A character between messages.
    #[error("{0:#04x} between messages, which start with <")]
    Outside(u8),
    /// A raw DLC that its frame cannot have.
    #[error("raw DLC {0}; 0, or 9 to 15 in a classic frame of 8 bytes, are possible")]
    RawDlc(u8),
    /// A record has a length that its frame does not have.
    #[error("a frame in {found} bytes; this one needs {needs}")]
    RecordLength {
        /// As sent.
        found: usize,
        /// Length of the frame in this layout.
        needs: usize,
    },
    /// A reserved byte that is not 0.
    #[error("{0:#04x} in a reserved byte, which must be 0")]
    Reserved(u8),
    /// A second hello.
    #[error("a second hello in a connection")]
    SecondHello,
    /// A sequence number that goes back.
    #[error("sequence number {found}; at least {least} must follow")]
    Sequence {
        /// As sent.
        found: u64,
        /// The lowest possible one.
        least: u64,
    },
    /// The sequence numbers of a batch have more than 64 bits.
    #[error("sequence number {0} with more frames than fit below 2^64")]
    SequenceEnd(u64),
    /// A stamp that is not seconds with up to nine decimals.
    #[error("a stamp that is not seconds below 2^34 with up to nine decimals")]
    Stamp,
    /// Too many words.
    #[error("{found} words; at most {most} are possible")]
    TooManyWords {
        /// Number of words after the command.
        found: usize,
        /// Greatest number of them.
        most: usize,
    },
    /// Bytes after the last frame of a datagram or the last field of a message.
    #[error("{0} bytes after the end")]
    Trailing(usize),
    /// A datagram ends in a frame or in its header.
    #[error("the end, but {0} more bytes are needed")]
    Truncated(usize),
    /// Another version of the protocol of candor.
    #[error("version {0} of the protocol; {VERSION} is known")]
    Version(u8),
    /// Another version of cannelloni's protocol.
    #[error("version {0} of the protocol; {UDP_VERSION} is known")]
    VersionUdp(u8),
    /// A CAN XL frame.
    #[error("a CAN XL frame; links carry classic and FD frames")]
    Xl,
}

/// A frame that a protocol cannot carry without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cannot {
    /// Error messages of drivers are never on a bus, so they do not cross a link.
    #[error("error messages do not cross a link")]
    ErrorMessage,
    /// A CAN FD frame.
    #[error("the protocol has no FD frames")]
    Fd,
    /// More data than the format allows, an identifier with bits beyond its format, or an FD remote frame.
    #[error("the frame is malformed")]
    Malformed,
    /// A classic frame with a raw DLC above 8.
    #[error("the protocol has no raw DLC above 8")]
    RawDlc,
    /// A remote frame.
    #[error("the protocol has no remote frames")]
    Remote,
}

impl Cannot {
    /// All reasons, in the order in which [`Counts`](crate::session::Counts) has them.
    pub const ALL: [Self; 5] = [Self::ErrorMessage, Self::Fd, Self::Malformed, Self::RawDlc, Self::Remote];
}
