//! The description of a composed frame: plain data.

use std::time::Duration;

use super::convert::Conversion;
use crate::codec::Codec;
use crate::database::SendMode;
use crate::field::Field;

/// A frame that candor composes. [`Composer::new`](super::Composer::new) checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    /// The payload before anything is received: constants, start values, unused bits. Update bits are 0. Its length is that
    /// of the frame, except with [`Value::Payload`].
    pub initial: Box<[u8]>,
    /// What is put into it. Inputs of one group follow each other.
    pub inputs: Box<[Input]>,
    /// When it is sent.
    pub send: SendRule,
}

/// Something that is taken from one source frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Number of the source frame. The caller maps buses and identifiers to it.
    pub source: usize,
    /// What is taken.
    pub value: Value,
    /// Which values are taken.
    pub filter: Filter,
    /// Which of them are events (transfer property).
    pub trigger: Trigger,
    /// True if its events are repeated ([`SendRule::repetitions`]). False is the transfer property "without repetition"; such
    /// an event leaves repetitions of another one as they are.
    pub repeats: bool,
    /// True if nothing is sent before this input has a value, received or substituted.
    pub required: bool,
    /// What happens if it is not received.
    pub timeout: Option<Timeout>,
    /// Inputs with the same number are taken all or none (signal group). They are from one source, without filter. None is
    /// taken if the frame does not bring one of them, or if one is ignored because it is invalid or has no conversion.
    pub group: Option<u16>,
}

/// What an input takes from its source frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One signal.
    Signal(Box<SignalInput>),
    /// The whole payload, and its length: a frame that is sent again as it is, with other timing. Such an input is the only
    /// one.
    Payload {
        /// The largest length in bytes that is taken; longer payloads are ignored.
        max_len: usize,
        /// Bits that count as a change. Bytes after its end count entirely, and so does the length.
        mask: Box<[u8]>,
    },
}

/// A signal that is copied.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalInput {
    /// The signal of the source frame.
    pub from: Codec,
    /// The raw bits that the filter takes for the old value before the first reception; once a frame was sent, also for the
    /// last sent one. `None`: the first value passes [`Filter::MaskedDiffersOld`] and [`Filter::Deadband`].
    pub start: Option<u64>,
    /// The update bit in the source frame, 1 bit. The frame brings the signal only if it is 1.
    pub updated: Option<Codec>,
    /// A value of the source signal that means "invalid".
    pub invalid: Option<Invalid>,
    /// From bits of the source signal to those of the target.
    pub conversion: Conversion,
    /// Where it is in the composed frame. A multiplexed place is written whatever the switch is.
    pub to: Field,
    /// The update bit in the composed frame, 1 bit: 1 if a value, received or substituted, was written since the last send.
    pub update: Option<Field>,
}

/// A value that means "invalid", and what happens when it is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Raw bits of the source signal.
    pub bits: u64,
    /// What happens.
    pub action: InvalidAction,
}

/// What happens with an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidAction {
    /// It is ignored.
    Ignore,
    /// These raw bits are written into the composed frame instead.
    Substitute(u64),
}

/// Which values are taken: filters of OSEK COM, which AUTOSAR uses, and a deadband. Masks, values and limits are raw ones of
/// the source signal; limits are signed if it is. A filter sees valid values only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// All.
    Always,
    /// None.
    Never,
    /// `new & mask == value`.
    MaskedEquals {
        /// Bits that are compared.
        mask: u64,
        /// What they are compared with.
        value: u64,
    },
    /// `new & mask != value`.
    MaskedDiffers {
        /// Bits that are compared.
        mask: u64,
        /// What they are compared with.
        value: u64,
    },
    /// `new & mask != old & mask`. The old value is the last one that was taken, or [`SignalInput::start`].
    MaskedDiffersOld {
        /// Bits that are compared.
        mask: u64,
    },
    /// `min <= new <= max`. Not for floating-point signals.
    Within {
        /// Smallest raw value.
        min: i128,
        /// Largest raw value.
        max: i128,
    },
    /// `new < min` or `max < new`. Not for floating-point signals.
    Outside {
        /// Smallest raw value.
        min: i128,
        /// Largest raw value.
        max: i128,
    },
    /// The new raw value differs from the last sent one by more than this. Passes if neither a value of the source nor
    /// [`SignalInput::start`] was sent, or if a substitute replaced it. Not for floating-point signals.
    Deadband(u64),
    /// One of `period` values: the first one is number 0.
    OneEvery {
        /// At least 1.
        period: u32,
        /// Number of the first one that is taken, below `period`.
        offset: u32,
    },
}

/// Which values of an input are events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// None (AUTOSAR: pending).
    Never,
    /// Those that change the composed frame (triggered on change). With [`Value::Payload`], only under its mask.
    OnChange,
    /// All (triggered).
    Always,
}

/// What happens if an input is not received (deadline monitoring).
#[derive(Clone, Debug, PartialEq)]
pub struct Timeout {
    /// Time from the start to the first reception. `None`: without limit.
    pub first: Option<Duration>,
    /// Time between two receptions.
    pub later: Duration,
    /// What happens when it is over: once, until the next reception.
    pub action: TimeoutAction,
}

/// What happens at a timeout.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeoutAction {
    /// The last value stays. No event.
    Keep,
    /// Nothing is sent until the next reception.
    Stop,
    /// These raw bits are written into the composed frame. An event, as a received value is one.
    Substitute(u64),
    /// This payload is written. An event. Only for [`Value::Payload`].
    SubstitutePayload(Box<[u8]>),
}

/// When a composed frame is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SendRule {
    /// What causes it to be sent: events (direct), time (periodic), both (mixed) or nothing (none).
    pub mode: SendMode,
    /// Time between two cyclic frames, above 0. `None`: cyclic frames only while [`fast`](Self::fast) is active. Ignored in
    /// the modes direct and none.
    pub cycle: Option<Duration>,
    /// Another cycle while a signal of the composed frame is active.
    pub fast: Option<FastCycle>,
    /// Time from the start to the first cyclic frame.
    pub offset: Duration,
    /// The least time between two frames; 0 for none.
    pub min_delay: Duration,
    /// True if the minimum delay is kept between any two frames. False if only between those of events. It is AUTOSAR's
    /// `ComEnableMDTForCyclicTransmission`.
    pub delays_all: bool,
    /// How often the frame of an event is sent again, in the modes direct and mixed.
    pub repetitions: u32,
    /// Time from a frame to its repetition, above 0 if there are repetitions.
    pub repetition_period: Duration,
}

/// A cycle while a signal is active.
#[derive(Clone, Debug, PartialEq)]
pub struct FastCycle {
    /// Time between two cyclic frames, above 0.
    pub cycle: Duration,
    /// Where the signal is in the composed frame.
    pub field: Field,
    /// When it is active.
    pub active: Activity,
}

/// When a signal is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Its raw bits are these.
    Equals(u64),
    /// Its raw bits are others, for example than `GenSigInactiveValue`.
    Differs(u64),
}

impl Input {
    /// The signal, if it takes one.
    #[must_use]
    pub fn signal(&self) -> Option<&SignalInput> {
        match &self.value {
            Value::Signal(signal) => Some(signal),
            Value::Payload { .. } => None,
        }
    }
}

impl SendRule {
    /// Nothing is sent.
    pub const NEVER: Self = Self {
        mode: SendMode::None,
        cycle: None,
        fast: None,
        offset: Duration::ZERO,
        min_delay: Duration::ZERO,
        delays_all: false,
        repetitions: 0,
        repetition_period: Duration::ZERO,
    };

    /// True if events are sent.
    #[must_use]
    pub const fn sends_events(&self) -> bool {
        matches!(self.mode, SendMode::Direct | SendMode::Mixed)
    }

    /// True if the frame is sent cyclically.
    #[must_use]
    pub const fn sends_cyclically(&self) -> bool {
        matches!(self.mode, SendMode::Periodic | SendMode::Mixed)
    }
}
