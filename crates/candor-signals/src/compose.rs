//! Frames that candor composes from signals of other frames, as AUTOSAR COM does.
//!
//! ```text
//!  received(now, source, payload) ──▶ Composer ──▶ Outgoing (at most one frame per call)
//!  advance(now) ────────────────────▶    │
//!                                        └─ due() ──▶ when to call advance next
//! ```
//!
//! A [`Composition`] describes the frame; a [`Composer`] is its state. It uses no clock: the caller says what time it is.
//! After it is made, it does not allocate.
//!
//! # Rules
//! * **Start.** A value is always there: before the first reception it is that of [`Composition::initial`]. A frame is sent
//!   with start values, unless an input is [required](Input::required).
//! * **Taking a value.** A frame brings a signal if its switches select it and its update bit, if any, is 1. Then the
//!   time of its timeout starts again, whatever happens to the value. An invalid value is ignored or replaced; a valid one
//!   passes the [`Filter`] or is ignored; then it is [converted](Conversion) and written. A substitute is not filtered.
//!   After a substitute, the filter has no old value, so that the next value passes.
//! * **Events.** A written value is an event as its [`Trigger`] says. A change is one of the bits in the composed frame.
//!   In the modes direct and mixed, an event is sent at once, or when the minimum delay ends: once, with the newest values.
//! * **Repetitions** follow the frame of the event. A new event cancels those that are left, even if it is held back.
//! * **Cycle.** Cyclic frames are due at start + offset + k × cycle. A late call sends one frame and continues with the next
//!   of these times. Events do not move them. The fast cycle has the same origin; when it begins or ends, the next
//!   frame is due at the next time of the other cycle, after a time that has come already.
//! * **Minimum delay.** Without [`SendRule::delays_all`], it is between two frames of events; frames of the cycle and
//!   repetitions neither wait nor count. With it, it is between any two frames.
//! * **Several reasons** that are due in one call are one frame.
//! * **Timeout.** When it is over, the action is done once. The next frame that brings the signal ends it. A timeout that is
//!   due when a frame arrives comes first. A late call does the actions as calls at their times would have done them.
//! * **Silence.** While a required input has no value, or one with [`TimeoutAction::Stop`] is late, nothing is sent. Events,
//!   repetitions and cyclic times in that time are lost, and so are those that wait when it begins. The value that ends it
//!   counts as a change; an ignored one does not.
//!
//! # Source
//! AUTOSAR, Specification of Communication, document 015, release R20-11
//! (<https://www.autosar.org/fileadmin/standards/R20-11/CP/AUTOSAR_SWS_COM.pdf>): transmission modes, transfer properties,
//! filters, deadline monitoring, update bits, signal gateway. Different here:
//! * No time base, so that an event has no delay of up to one period.
//! * The fast cycle in place of two transmission modes. When it begins or ends, cyclic times stay multiples of the cycle
//!   after start + offset. AUTOSAR restarts the timer of the cycle when the transmission mode changes.
//! * Substitutes are values of the composed frame.

mod check;
mod composer;
mod composition;
mod convert;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
mod schedule;

pub use check::CompositionError;
pub use composer::{Composer, Origin, Outgoing, Status};
pub use composition::{
    Activity, Composition, FastCycle, Filter, Input, Invalid, InvalidAction, SendRule, SignalInput, Timeout,
    TimeoutAction, Trigger, Value,
};
pub use convert::{Conversion, Other, Rescale};

/// A point in time: nanoseconds since any fixed moment, 0 to 2^64 − 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// Later than every time.
const NEVER: u64 = u64::MAX;

impl Time {
    /// A number of nanoseconds. 2^64 − 1 becomes 2^64 − 2.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(if nanos == NEVER { NEVER - 1 } else { nanos })
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    fn known(nanos: u64) -> Option<Self> {
        (nanos != NEVER).then_some(Self(nanos))
    }
}

/// Nanoseconds; too many are [`NEVER`].
fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}
