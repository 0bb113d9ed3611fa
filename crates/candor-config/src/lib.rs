//! The gateway file: parsing, validation, lowering to can-gw jobs, placement, safety analysis, explanation, import.
//!
//! ```text
//!  text ──config::spec──▶ Spec ──config::check──▶ Plan ──lower──▶ [Job] ──RuleSet::compile──▶ RuleSet
//!  (candor.toml)         (as written, spans)     (validated)     (one can-gw job each)       (run by engines)
//! ```
//!
//! Pure, like [`candor_core`]: no clock, file, environment, socket or process.
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "arbitrary"))]
pub mod arbitrary;
pub mod bounds;
pub mod changes;
pub mod config;
mod crc8;
pub mod engine;
pub mod explain;
pub mod import;
mod lower;
mod mux;
pub mod placement;
pub mod plan;
pub mod safety;
pub mod signature;
#[cfg(test)]
mod testing;
pub mod text;
pub mod wire;

pub use lower::lower;
