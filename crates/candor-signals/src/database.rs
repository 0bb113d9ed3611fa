//! Messages and signals as a database describes them, whatever its file format.

use std::time::Duration;

use crate::id::MessageId;
use crate::oddity::{Effect, Oddity, Refusal};
use crate::ratio::Ratio;

mod find;

pub use find::FindError;
pub(crate) use find::similar;

/// A database of messages, in the order of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Names of the nodes (control units).
    pub nodes: Vec<String>,
    /// The messages.
    pub messages: Vec<Message>,
    /// What is odd in the file, by line.
    pub oddities: Vec<Oddity>,
}

impl Database {
    /// Why nothing of the file can be used, if that is so.
    #[must_use]
    pub fn refusal(&self) -> Option<&Oddity> {
        self.oddities.iter().find(|one| one.effect() == Effect::FileRefused)
    }
}

/// A message: the layout of the frames with one identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Name, unique in most files.
    pub name: String,
    /// Identifier. `None` if the file has one that no frame can have; such a message cannot be used.
    pub id: Option<MessageId>,
    /// Length of the payload in bytes.
    pub len: u16,
    /// Nodes that send it. Empty if the file names none.
    pub senders: Vec<String>,
    /// Signals, in the order of the file.
    pub signals: Vec<Signal>,
    /// When it is sent.
    pub timing: Timing,
    /// `VFrameFormat`, for example `StandardCAN_FD` or `J1939PG`.
    pub format: Option<String>,
    /// Comment.
    pub comment: String,
    /// Line of the file, from 1.
    pub line: u32,
}

/// When a message is sent. Times of 0 in a file are `None`: they mean that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// `GenMsgCycleTime`: period.
    pub cycle: Option<Duration>,
    /// `GenMsgCycleTimeFast`: period while a signal is active.
    pub fast_cycle: Option<Duration>,
    /// `GenMsgDelayTime`: the least time between two frames.
    pub min_delay: Option<Duration>,
    /// `GenMsgStartDelayTime`: time from the start to the first cyclic frame.
    pub start_delay: Option<Duration>,
    /// `GenMsgNrOfRepetition`: how often an event is repeated.
    pub repetitions: Option<u32>,
    /// `GenMsgSendType`, as the file names it.
    pub send_type: Option<String>,
}

/// What causes a frame to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// Events, such as a change of a signal.
    Direct,
    /// Events and time.
    Mixed,
    /// Neither: on request, or not at all.
    None,
    /// Time.
    Periodic,
}

impl Timing {
    /// The meaning of [`send_type`](Self::send_type). `None` if it is missing or unknown.
    ///
    /// The numbers of this enumeration differ between files, so its text counts, in any case and without separators.
    #[must_use]
    pub fn send_mode(&self) -> Option<SendMode> {
        let text: String = self.send_type.as_ref()?.chars().filter(char::is_ascii_alphanumeric).collect();
        match text.to_ascii_lowercase().as_str() {
            "cyclic" | "periodic" | "fixedperiodic" | "enabledperiodic" | "cyclicx" | "ifactive" | "cyclicifactive" => {
                Some(SendMode::Periodic)
            }
            "event"
            | "spontaneous"
            | "spontan"
            | "onchange"
            | "onwrite"
            | "triggered"
            | "onevent"
            | "spontanwithdelay"
            | "spontanwithrepetition"
            | "onchangewithrepetition"
            | "onwritewithrepetition"
            | "eventdriven"
            | "ifactivewithrepetition" => Some(SendMode::Direct),
            "mixed"
            | "eventperiodic"
            | "cyclicandspontan"
            | "cyclicandspontaneous"
            | "cyclicandspontanwithdelay"
            | "cyclicifactiveandspontanwd"
            | "spontanwithcycle"
            | "cyclicandevent"
            | "cyclicandonchange" => Some(SendMode::Mixed),
            "none" | "nomsgsendtype" | "nosendtype" | "onrequest" => Some(SendMode::None),
            _ => None,
        }
    }
}

/// A signal: some bits of a message and their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Name, unique in its message.
    pub name: String,
    /// Position of a bit, counted as DBC does: bit 0 is the least significant one of byte 0, bit 8 that of byte 1. It is the
    /// least significant bit of a little-endian signal, and the most significant one of a big-endian signal.
    pub start: u16,
    /// Number of bits.
    pub bits: u16,
    /// Byte order.
    pub order: ByteOrder,
    /// Type of the raw value.
    pub kind: Kind,
    /// physical = raw × factor + offset.
    pub factor: Ratio,
    /// See [`factor`](Self::factor).
    pub offset: Ratio,
    /// Smallest physical value. `None` if the file gives no range (`[0|0]`), or one beyond any signal.
    pub min: Option<Ratio>,
    /// Largest physical value.
    pub max: Option<Ratio>,
    /// Unit of the physical value, as the file writes it.
    pub unit: String,
    /// Nodes that receive it. Empty if the file names none.
    pub receivers: Vec<String>,
    /// Names of raw values.
    pub values: Vec<NamedValue>,
    /// True if it selects other signals of the message (multiplexer).
    pub is_switch: bool,
    /// When the message has this signal. `None`: always.
    pub present: Option<Presence>,
    /// `GenSigStartValue`: the raw value before the first one is known.
    pub start_value: Option<i128>,
    /// `GenSigInactiveValue`: the raw value that means "not active".
    pub inactive_value: Option<i128>,
    /// `GenSigSendType`, as the file names it.
    pub send_type: Option<String>,
    /// `GenSigTimeoutTime`: the time without a reception after which its value is out of date; the least one of all
    /// receivers.
    pub timeout: Option<Duration>,
    /// Comment.
    pub comment: String,
    /// Line of the file, from 1.
    pub line: u32,
    /// Why it cannot be used.
    pub refusal: Option<Refusal>,
}

/// A raw value and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// Raw value, negative only for signed signals.
    pub raw: i128,
    /// Name.
    pub name: String,
}

/// The condition under which a multiplexed signal is in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Index of the switch in [`Message::signals`]. It may be multiplexed itself; then its own condition counts, too.
    pub switch: usize,
    /// Raw values of the switch, both ends included.
    pub ranges: Vec<(u64, u64)>,
}

/// The order of a signal's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Motorola: the most significant byte first.
    Big,
    /// Intel: the least significant byte first.
    Little,
}

/// The type of raw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// IEEE 754, 32 bits.
    Float32,
    /// IEEE 754, 64 bits.
    Float64,
    /// Two's complement.
    Signed,
    /// Unsigned.
    Unsigned,
}

impl Kind {
    /// True for floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }
}

impl Signal {
    /// The smallest and largest raw value. `None` for floating-point numbers and unusable widths.
    #[must_use]
    pub fn raw_range(&self) -> Option<(i128, i128)> {
        if !(1..=64).contains(&self.bits) {
            return None;
        }
        match self.kind {
            Kind::Float32 | Kind::Float64 => None,
            Kind::Signed => Some((-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)),
            Kind::Unsigned => Some((0, (1 << self.bits) - 1)),
        }
    }

    /// Positions of its bits, the most significant one first, counted as [`start`](Self::start) is.
    pub fn positions(&self) -> impl Iterator<Item = u32> {
        let (start, bits, order) = (u32::from(self.start), u32::from(self.bits), self.order);
        (0..bits).map(move |at| match order {
            ByteOrder::Little => start + bits - 1 - at,
            ByteOrder::Big => mirrored(mirrored(start) + at),
        })
    }
}

/// Changes the position of a bit between the count of DBC, which starts at the least significant bit of each byte, and
/// that of the wire, which starts at the most significant one.
#[must_use]
pub(crate) const fn mirrored(position: u32) -> u32 {
    position ^ 7
}
