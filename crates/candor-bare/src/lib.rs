//! A CAN gateway without an operating system: two SJA1000 controllers, the compiled rules of candor, and interrupts.
//!
//! ```text
//!  interrupt ─▶ receive FIFO ─▶ RuleSet::route ─▶ transmit buffer, or a queue in memory while it is locked
//! ```
//!
//! It shows how much of a gateway's latency is Linux. This library is what does not depend on the machine, so it is tested
//! anywhere. The program of the same name adds an x86-64 processor; built for `x86_64-unknown-none`, it boots in an emulator
//! by itself, or on the second processor of a laboratory guest, whose first runs Linux and the tester (`docs/bare-metal.md`).
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod gateway;
mod jobs;
pub mod memory;
mod parameters;
mod report;

pub use gateway::{Counters, Gateway};
pub use jobs::{DecodeError, decode, encode};
pub use parameters::{Card, Parameters};
pub use report::{Own, Report, State};
