//! What is odd in a database, and what it prevents.

use crate::id::MessageId;
use crate::ratio::RatioError;

/// Something odd in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Line of the file, from 1.
    pub line: u32,
    /// The message or signal (`Message.Signal`), if it concerns one.
    pub subject: Option<String>,
    /// What it is.
    pub kind: OddityKind,
}

impl Oddity {
    /// What the reader does about it.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        match &self.kind {
            OddityKind::Syntax { .. }
            | OddityKind::NotANumber(_)
            | OddityKind::UnknownMessage { .. }
            | OddityKind::UnknownSignal { .. }
            | OddityKind::UnknownChoice { .. }
            | OddityKind::UnknownNode(_)
            | OddityKind::Attribute { .. } => Effect::Ignored,
            OddityKind::Refused(_) => Effect::SignalRefused,
            OddityKind::IdTooWide(_) | OddityKind::NoId(_) => Effect::MessageRefused,
            OddityKind::NotWellFormed { .. } | OddityKind::OtherFormat { .. } => Effect::FileRefused,
            _ => Effect::Noted,
        }
    }
}

/// The consequence of an [`Oddity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing of the file can be used.
    FileRefused,
    /// The statement has no effect.
    Ignored,
    /// The message cannot be used.
    MessageRefused,
    /// None.
    Noted,
    /// The signal cannot be used.
    SignalRefused,
}

/// What can be odd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OddityKind {
    /// A statement that cannot be read.
    #[error("expected {expected}, found `{found}`; the statement is ignored")]
    Syntax {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The semicolon at the end of a statement.
    #[error("a semicolon is missing at the end of the statement")]
    NoSemicolon,
    /// A value of an attribute or table that is no whole number.
    #[error("{0} is not a whole number; the value is ignored")]
    NotANumber(String),
    /// A name that C and the format do not allow.
    #[error("the name starts with a digit, which the format does not allow")]
    DigitFirst,
    /// 29 bits without the bit that says so.
    #[error("the identifier is wider than 11 bits, but bit 31 is not set: it is read as {0}, with 29 bits")]
    NoExtendedBit(MessageId),
    /// More than 29 bits.
    #[error("the identifier 0x{0:X} has more than 29 bits; the message cannot be used")]
    IdTooWide(u32),
    /// Two messages with one name.
    #[error("a message with this name is already in line {0}")]
    SameMessageName(u32),
    /// Two messages with one identifier.
    #[error("message {0} has the same identifier")]
    SameId(String),
    /// A payload that no frame holds.
    #[error("the length of {0} bytes is not one of a CAN or CAN FD frame")]
    Length(u16),
    /// Bits of two signals.
    #[error("the signal overlaps with {0}: both can be read, but not both written")]
    Overlap(String),
    /// A range that the raw values do not reach.
    #[error("the range is wider than what {0} bits hold")]
    RangeTooWide(u16),
    /// A minimum above the maximum.
    #[error("the minimum is above the maximum; the range is ignored")]
    RangeReversed,
    /// A factor of 0.
    #[error("the factor is 0: physical values cannot be written")]
    FactorZero,
    /// A named value that the signal cannot have.
    #[error("the named value {0} does not fit into the signal")]
    ValueOutside(i128),
    /// A start value that the signal cannot have.
    #[error("the start value {0} does not fit into the signal")]
    StartOutside(i128),
    /// A statement about a message that is not in the file.
    #[error("{statement} of message {id}, which the file does not have, is ignored")]
    UnknownMessage {
        /// Keyword.
        statement: &'static str,
        /// As written.
        id: u32,
    },
    /// A statement about a signal that is not in the message.
    #[error("{statement} of signal {name}, which the message does not have, is ignored")]
    UnknownSignal {
        /// Keyword.
        statement: &'static str,
        /// As written.
        name: String,
    },
    /// An enumeration without this index.
    #[error("attribute {attribute} has no value number {index}; it is ignored")]
    UnknownChoice {
        /// Name of the attribute.
        attribute: String,
        /// As written.
        index: String,
    },
    /// A file of another format.
    #[error("this is {what}; candor reads DBC and KCD files{help}")]
    OtherFormat {
        /// What it is.
        what: &'static str,
        /// What to do, after a colon; or nothing.
        help: &'static str,
    },
    /// An XML file that no program reads.
    #[error("the XML is not well-formed: expected {expected}, found `{found}`; nothing of the file is used")]
    NotWellFormed {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Another version of KCD, or none.
    #[error("the namespace is `{0}`, not that of KCD 1.0")]
    Namespace(String),
    /// An attribute of KCD with a value that it cannot have.
    #[error("expected {expected}, found `{found}`; it is ignored")]
    Attribute {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A message of KCD without an identifier.
    #[error("expected an identifier such as 0x123, found `{0}`; the message cannot be used")]
    NoId(String),
    /// 29 bits in the standard format of KCD.
    #[error("the identifier is wider than 11 bits, but the format is not extended: it is read as {0}, with 29 bits")]
    NotExtended(MessageId),
    /// A reference to a node that is not in the file.
    #[error("node {0}, which the file does not have, is ignored")]
    UnknownNode(String),
    /// The signal cannot be used.
    #[error("{0}; the signal cannot be used")]
    Refused(Refusal),
}

impl OddityKind {
    /// A format that a program converts, by the name of its command.
    pub(crate) const CANTOOLS: &'static str = ": convert it with `cantools convert FILE OUT.dbc`";
    pub(crate) const CANMATRIX: &'static str = ": convert it with `canconvert FILE OUT.dbc` of canmatrix";

    /// A short name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "syntax",
            Self::NoSemicolon => "no-semicolon",
            Self::NotANumber(_) => "not-a-number",
            Self::DigitFirst => "digit-first",
            Self::NoExtendedBit(_) => "no-extended-bit",
            Self::IdTooWide(_) => "id-too-wide",
            Self::SameMessageName(_) => "same-message-name",
            Self::SameId(_) => "same-id",
            Self::Length(_) => "length",
            Self::Overlap(_) => "overlap",
            Self::RangeTooWide(_) => "range-too-wide",
            Self::RangeReversed => "range-reversed",
            Self::FactorZero => "factor-zero",
            Self::ValueOutside(_) => "value-outside",
            Self::StartOutside(_) => "start-outside",
            Self::UnknownMessage { .. } => "unknown-message",
            Self::UnknownSignal { .. } => "unknown-signal",
            Self::UnknownChoice { .. } => "unknown-choice",
            Self::OtherFormat { .. } => "other-format",
            Self::NotWellFormed { .. } => "not-well-formed",
            Self::Namespace(_) => "namespace",
            Self::Attribute { .. } => "attribute",
            Self::NoId(_) => "no-id",
            Self::NotExtended(_) => "not-extended",
            Self::UnknownNode(_) => "unknown-node",
            Self::Refused(reason) => reason.code(),
        }
    }
}

/// Why a signal cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An attribute of KCD that is missing, or has a value without a meaning.
    #[error("expected {expected}, found `{found}`")]
    Attribute {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// 0 or more than 64 bits.
    #[error("{0} bits are not 1 to 64")]
    Width(u16),
    /// A floating-point number of another width.
    #[error("a floating-point number has 32 or 64 bits, not {0}")]
    FloatWidth(u16),
    /// Bits outside the payload.
    #[error("the signal ends in byte {needs}, but the message has {len}")]
    OutsideFrame {
        /// Number of bytes up to its end.
        needs: u32,
        /// Length of the message in bytes.
        len: u16,
    },
    /// Two signals with one name in one message.
    #[error("the message already has a signal with this name in line {0}")]
    SameName(u32),
    /// A multiplexed signal without a switch.
    #[error("the message has no signal that selects it (multiplexer)")]
    NoSwitch,
    /// A multiplexed signal without the value that selects it.
    #[error("its mark m (multiplexed) has no number")]
    NoSwitchValue,
    /// A multiplexed signal with more than one possible switch.
    #[error("the message has several multiplexers, and the file does not say which selects it (SG_MUL_VAL_)")]
    SeveralSwitches,
    /// A switch that depends on itself.
    #[error("its multiplexers select each other in a circle")]
    SwitchCircle,
    /// A switch that cannot be used.
    #[error("the multiplexer that selects it cannot be used")]
    SwitchRefused,
    /// A factor or offset that does not fit.
    #[error("factor or offset: {0}")]
    Number(#[from] RatioError),
    /// Products that do not fit.
    #[error("factor and offset have too many digits for {0} bits")]
    TooPrecise(u16),
    /// Its message cannot be used.
    #[error("its message has no identifier that a frame can have")]
    Message,
}

impl Refusal {
    /// A short name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Attribute { .. } => "attribute",
            Self::Width(_) => "width",
            Self::FloatWidth(_) => "float-width",
            Self::OutsideFrame { .. } => "outside-frame",
            Self::SameName(_) => "same-signal-name",
            Self::NoSwitch => "no-switch",
            Self::NoSwitchValue => "no-switch-value",
            Self::SeveralSwitches => "several-switches",
            Self::SwitchCircle => "switch-circle",
            Self::SwitchRefused => "switch-refused",
            Self::Number(_) => "number",
            Self::TooPrecise(_) => "too-precise",
            Self::Message => "message",
        }
    }
}
