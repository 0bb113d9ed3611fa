//! The laboratory: guests, topologies, tester, records and reports.
#![forbid(unsafe_code)]

#[macro_use]
mod names;

pub mod arch;
pub mod bare_metal;
pub mod baseline;
pub mod batch;
pub mod board;
pub mod border;
pub mod bursts;
pub mod cache;
pub mod cells;
pub mod channel;
pub mod conformance;
pub mod device;
pub mod evidence;
pub mod experiment;
pub mod export;
pub mod guard;
pub mod guest;
pub mod hops;
pub mod image;
pub mod init;
pub mod job;
pub mod kernel;
pub mod load;
pub mod observer;
pub mod open_loop;
pub mod packages;
pub mod plot;
pub mod precision;
pub mod processes;
pub mod profile;
pub mod qemu;
pub mod record;
pub mod report;
pub mod stats;
pub mod stream;
pub mod supervisor;
pub mod system_calls;
pub mod tap;
pub mod tester;
pub mod throughput;
pub mod tools;
pub mod tracer;
