//! eBPF programs of traffic control: an assembler, the jobs of a CAN gateway compiled to programs, and a queue.
//!
//! ```text
//!  [Job] of a bus ──plan──▶ Tables (identifier ─▶ steps) ──┐
//!                    └─────▶ [Step] (one bus to send to) ──┴─generate─▶ [Filter]: Program, bus, mirror or redirect
//! ```
//!
//! A frame meets the filters of its bus in order. The first one looks the identifier up and notes in the control block of
//! the buffer which steps follow; each filter changes the frame, if its step does, and returns a match, after which the
//! kernel's `mirred` action sends it.
//!
//! The assembler also makes the programs of candor-egress, among them those of a queue in the order of arbitration
//! ([`queue`]).
//!
//! # Kernel
//! Linux 7.0: older kernels put the head room of a CAN buffer in front of a frame that `mirred` redirects.
#![forbid(unsafe_code)]

pub mod assembler;
pub mod btf;
pub mod gateway;
#[cfg(test)]
mod machine;
pub mod queue;
