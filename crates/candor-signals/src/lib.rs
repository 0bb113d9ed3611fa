//! Signals of CAN frames: databases, and a codec compiled from them.
//!
//! ```text
//!  DBC, KCD ────read─────▶ Database ──Codec::new──▶ Codec ─┬─ get ──▶ bits ──scale──▶ physical value, name
//!                            └─ oddities                   └─ set ◀── bits ◀─encode── physical value
//! ```
//!
//! * A [`Database`] is what the file says. What is odd is an [`Oddity`] with its line; a signal is refused only if it has no
//!   meaning.
//! * A [`Codec`] is one signal as load, shift and mask. Physical values are exact rational numbers ([`Ratio`]); they are
//!   rounded once, to the nearest raw value, halves to the even one, and saturated.
//! * A [`compose::Composer`] puts a frame together from signals of other frames, and says when to send it.
//! * `oracle`, with the feature `testing`, does the same bit by bit.
//!
//! The crate uses no clock, file, environment, socket or `unsafe` code.
//!
//! # Source
//! The meaning of the format is that of the files that exist; the tests compare every signal of two collections with
//! cantools (<https://github.com/cantools/cantools>).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod change;
mod check;
mod codec;
pub mod compose;
mod condition;
mod constant;
mod database;
pub mod dbc;
mod expression;
mod field;
mod id;
mod index;
#[cfg(any(test, feature = "testing"))]
pub mod invariants;
pub mod kcd;
mod number;
mod oddity;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
mod place;
mod ratio;
mod read;
mod scale;
mod text;
mod xml;

pub use change::{Change, Changes};
pub use check::overlap;
pub use codec::{Codec, MessageCodec};
pub use condition::{Condition, MOST_PATTERNS};
pub use constant::{constant_bits, raw_distance, raw_within};
pub use database::{ByteOrder, Database, FindError, Kind, Message, NamedValue, Presence, SendMode, Signal, Timing};
pub use expression::{ExpressionError, constant};
pub use field::Field;
pub use id::MessageId;
pub use oddity::{Effect, Oddity, OddityKind, Refusal};
pub use ratio::{Ratio, RatioError};
pub use read::read;
pub use scale::{EncodeError, Encoded, Fit, Physical, Scale};
