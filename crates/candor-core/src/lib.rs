//! Frames, filters, identifiers, units, findings, and rules of a CAN gateway.
//!
//! ```text
//!  [job::Job] ──RuleSet::compile──▶ ruleset::RuleSet     the user-space engines run it
//!      └───────────oracle───────────────────────────▶    a reference implementation for tests
//! ```
//!
//! can-gw and the user-space engines run the same [`job::Job`]s: the kernel engine sends them to can-gw, and the
//! user-space engines run a compiled [`ruleset::RuleSet`].
//!
//! ```
//! use candor_core::{filter::Filter, frame::Frame};
//!
//! let frame: Frame = "123#1122".parse().unwrap();
//! assert!(Filter::parse("123:7FF").unwrap().normalise().matches(frame.id));
//! assert_eq!(frame.data[..frame.len.into()], [0x11, 0x22]);
//! ```
//!
//! The crate uses no clock, file, environment, socket or `unsafe` code; time and randomness are arguments. CI builds it
//! for `wasm32-unknown-unknown`.
//!
//! # Features
//! * `std` (default): without it, there are only [`bits`], [`filter`], [`frame`], [`job`], [`payload`], [`random`], [`rule`],
//!   [`ruleset`] and [`units`], the others without their texts; they need an allocator but no operating system
//! * `testing`: the oracle, a slow model of can-gw to test gateways against
//! * `arbitrary`: the oracle, and strategies of `proptest` for frames, filters and jobs
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod bits;
#[cfg(test)]
mod cases;
#[cfg(feature = "std")]
pub mod causes;
#[cfg(feature = "std")]
pub mod diagnostic;
#[cfg(feature = "std")]
#[expect(missing_docs, reason = "for files of candor")]
pub mod document;
pub mod filter;
pub mod frame;
#[cfg(feature = "std")]
pub mod ids;
#[cfg(feature = "std")]
pub mod interface_name;
pub mod job;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
pub mod order;
pub mod payload;
#[cfg(any(test, feature = "random"))]
pub mod random;
#[cfg(feature = "std")]
pub mod realtime;
pub mod rule;
pub mod ruleset;
#[cfg(feature = "std")]
pub mod shell;
pub mod units;
