//! Both gateways on a real kernel: bytes, order, counters, what is left behind, and what is said when something is
//! missing.
//!
//! Tests T1 to T3. They run as root in a guest:
//! `candor lab run --program cangw --copy TEST -- ./TEST --test-threads=1`. Where there is no CAN they print `SKIP` and
//! the reason; with `CANDOR_REQUIRE=vcan,cangw,modules,root,user-namespaces,can-utils,vhci` a skip is a failure.
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
