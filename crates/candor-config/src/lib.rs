//! The gateway file: what a configuration means, and what becomes of it.
//!
//! ```text
//!  text ──config::parse──▶ Spec ──config::check──▶ Plan ──lower──▶ [Job] ──RuleSet::compile──▶ RuleSet
//!  (candor.toml)          (as written, spans)     (proven)        (one can-gw job each)       (what engines run)
//! ```
//!
//! Pure, like [`candor_core`]: no clock, file, environment, socket or process.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod config;
pub mod engine;
pub mod explain;
pub mod import;
mod lower;
pub mod placement;
pub mod plan;
pub mod safety;
pub mod text;
pub mod wire;

pub use lower::lower;
