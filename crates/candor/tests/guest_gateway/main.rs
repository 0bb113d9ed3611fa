//! Both gateways on a real kernel: bytes, order, counters, what remains afterwards, and errors when something is missing.
//!
//! These tests change the interfaces and modules of the machine, so they run as root in a guest:
//! `cargo xtask guest NAME`. Elsewhere they are ignored. A test that misses a [`require::Feature`] prints `SKIP` and the
//! reason; if `CANDOR_REQUIRE` lists the feature, it fails instead.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "what fails in a test is to be seen in the test")]

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

mod baselines;
mod boards;
mod bus_off;
mod candor;
mod cangw_tool;
mod conformant;
mod control_group;
mod differential;
mod doctor;
mod egress;
mod engines;
mod errors;
mod explained;
mod faults;
mod forwarding;
mod frames;
mod hazards;
mod kernel;
mod lateness;
mod ledger;
mod leftovers;
mod many_buses;
mod measured;
mod methods;
mod metrics;
mod moments;
mod pair;
mod privileges;
mod probe;
mod queues;
mod realtime;
mod reconciled;
mod reloaded;
mod replug;
mod require;
mod rings;
mod send_stamps;
mod service;
mod split;
mod top;
mod traffic;
mod verified;
mod wire;

/// Counts, for the test that what runs allocates nothing.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
