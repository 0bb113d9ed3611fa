//! Limits on what crosses a border between CAN networks.
//!
//! ```text
//!  frame ─▶ Claimed ─▶ Form ── lengths, constant bits, ranges of signals ──▶ (checksum) ─▶ Pace ── rate, gap ──▶
//!             └──────────┴────── Tally: violations of each rule, and the last frame ─────────┘
//! ```
//!
//! [`Claimed`] looks at the source address of J1939, [`Form`] at one frame alone, [`Pace`] at its distance from those before. A
//! frame that is refused never counts for the frames after it, so a flood of bad frames does not use up what good ones may have.
//!
//! ```
//! use candor_core::job::{Compute, RealtimeNs, Seen};
//! use candor_core::frame::RawId;
//! use candor_core::rule::Verdict;
//! use candor_guard::{Limits, OnViolation, Pace, Rate, Rule, States};
//!
//! let limits = Limits { rate: Some(Rate::frames(100, 2).unwrap()), ..Limits::default() };
//! let pace = Pace::new(limits, States::One, OnViolation::Drop);
//! let at = |ms: i64| Seen { id: RawId(0x123), at: RealtimeNs(1_000_000_000 + ms * 1_000_000) };
//! let verdicts = [0, 1, 2, 12].map(|ms| pace.change(at(ms), &mut [0; 8]));
//! assert_eq!(verdicts, [Verdict::Send, Verdict::Send, Verdict::Delete, Verdict::Send]);
//! assert_eq!(pace.tally().frames(Rule::Rate), 1);
//! ```
//!
//! The crate uses no clock, file or environment, and no `unsafe` code. The time is the receive stamp of a frame. It needs an
//! allocator, and only when limits are compiled.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod claimed;
mod form;
mod pace;
mod rule;
mod states;
mod tally;

pub use claimed::{Addresses, Claimed, Claims};
pub use form::{Form, Need, Shape};
pub use pace::{Limits, Pace, Rate, RateError};
pub use rule::{OnViolation, Rule};
pub use states::States;
pub use tally::{Evidence, Tally};
