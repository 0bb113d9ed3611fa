//! The pure part of candor that every crate shares: frames, filters, identifiers, units, findings, and the rules that a
//! gateway runs.
//!
//! ```text
//!  [job::Job] ──RuleSet::compile──▶ ruleset::RuleSet     what engines run
//!      └───────────oracle───────────────────────────▶    the slow and obvious gateway that they are compared with
//! ```
//!
//! A [`job::Job`] is the common meaning of both gateways: the kernel backend sends it to can-gw as it stands,
//! and the user-space engines run the [`ruleset::RuleSet`] compiled from the same jobs.
//!
//! Nothing here reads a clock, a file, the environment or a socket, and nothing here is `unsafe`:
//! time and randomness are arguments. CI builds this crate for `wasm32-unknown-unknown` to keep it so.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod bits;
pub mod causes;
pub mod diagnostic;
pub mod document;
pub mod filter;
pub mod frame;
pub mod ids;
pub mod interface_name;
pub mod job;
pub mod oracle;
pub mod payload;
pub mod random;
pub mod realtime;
pub mod rule;
pub mod ruleset;
pub mod shell;
pub mod units;
