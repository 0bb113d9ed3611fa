//! Frames, filters, identifiers, units, findings, and the rules of a CAN gateway.
//!
//! ```text
//!  [job::Job] ──RuleSet::compile──▶ ruleset::RuleSet     what the engines run
//!      └───────────oracle───────────────────────────▶    the reference implementation for tests
//! ```
//!
//! A [`job::Job`] is what can-gw and the user-space engines have in common: the kernel backend sends it to can-gw
//! unchanged, and the user-space engines run the [`ruleset::RuleSet`] compiled from the same jobs.
//!
//! ```
//! use candor_core::{filter::Filter, frame::Frame};
//!
//! let frame: Frame = "123#1122".parse().unwrap();
//! assert!(Filter::parse("123:7FF").unwrap().normalise().matches(frame.id));
//! assert_eq!(frame.data[..frame.len.into()], [0x11, 0x22]);
//! ```
//!
//! Nothing here reads a clock, a file, the environment or a socket, and nothing here is `unsafe`:
//! time and randomness are arguments. CI builds this crate for `wasm32-unknown-unknown` to keep it so.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod bits;
pub mod causes;
pub mod diagnostic;
#[expect(missing_docs, reason = "for the files that candor itself reads")]
pub mod document;
pub mod filter;
pub mod frame;
pub mod ids;
pub mod interface_name;
pub mod job;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
pub mod payload;
pub mod random;
pub mod realtime;
pub mod rule;
pub mod ruleset;
pub mod shell;
pub mod units;
