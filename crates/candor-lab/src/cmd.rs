//! One file per command, or for several that share their parts. Each returns an exit status or an error.

pub(crate) mod bare_metal;
pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod bounds;
pub(crate) mod bursts;
pub(crate) mod can_send;
pub(crate) mod cells;
pub(crate) mod compare;
pub(crate) mod conformance;
pub(crate) mod convert;
pub(crate) mod database;
pub(crate) mod demo;
mod device;
pub(crate) mod evidence;
pub(crate) mod evidence_runs;
pub(crate) mod figure;
pub(crate) mod guests;
pub(crate) mod hops;
pub(crate) mod learn;
pub(crate) mod measure;
mod method;
pub(crate) mod papers;
mod patience;
pub(crate) mod precision;
pub(crate) mod preflight;
pub(crate) mod profile;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod roles;
#[cfg(test)]
mod schema;
pub(crate) mod soak;
pub(crate) mod stream;
pub(crate) mod system_calls;
pub(crate) mod tester;
pub(crate) mod timeline;
pub(crate) mod wire;
