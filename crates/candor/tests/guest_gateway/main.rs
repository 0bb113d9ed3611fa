//! The engines on a real kernel: bytes, order, counters, what remains afterwards, and errors.
//!
//! These tests change the interfaces and modules of the machine, so they run as root in a guest:
//! `cargo xtask guest NAME`. Elsewhere they are ignored. A test that misses a [`require::Feature`] prints `SKIP` and the
//! reason; if `CANDOR_REQUIRE` lists the feature, it fails instead.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test prints the reason")]
#![expect(clippy::unwrap_used, reason = "a failure is shown by its test")]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

mod accounting;
mod baselines;
mod boards;
mod bus_off;
mod candor;
mod cangw_tool;
mod composed;
mod conformant;
mod control_group;
mod differential;
mod doctor;
mod dump;
mod egress;
mod errors;
mod explained;
mod faults;
mod forwarding;
mod frames;
mod guard;
mod hazards;
mod integrity;
mod kernel;
mod lateness;
mod leftovers;
mod links;
mod long_run;
mod many_buses;
mod measured;
mod methods;
mod metrics;
mod modes;
mod prelude;
mod privileges;
mod programs;
mod queues;
mod realtime;
mod reconciled;
mod recorded;
mod reloaded;
mod replug;
mod require;
mod scenario;
mod serial;
mod service;
mod signed;
mod sockets;
mod split;
mod top;
mod traffic;
mod verified;
mod watch;
mod wire;

/// Counts allocations, for the test that forwarding makes none.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
