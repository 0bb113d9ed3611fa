//! The pure part of candor: what a frame is, how long it lasts, what a configuration means.
//!
//! ```text
//!  text ──config::parse──▶ Spec ──config::check──▶ Plan ──job::lower──▶ [Job] ──RuleSet::compile──▶ RuleSet
//!  (candor.toml)          (as written, spans)     (proven)             (one can-gw job each)       (what engines run)
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
pub mod config;
pub mod egress;
pub mod engine;
pub mod experiment;
pub mod explain;
pub mod filter;
pub mod frame;
pub mod ids;
pub mod import;
pub mod interface_name;
pub mod job;
pub mod oracle;
pub mod payload;
pub mod placement;
pub mod plan;
pub mod random;
pub mod realtime;
pub mod rule;
pub mod ruleset;
pub mod safety;
pub mod stats;
pub mod text;
pub mod units;
pub mod wire;
