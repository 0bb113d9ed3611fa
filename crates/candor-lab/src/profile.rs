//! Which functions the instructions of one frame are spent in, between the two stamps of the tester.
//!
//! ```text
//!  candor-lab cells (guest) ─▶ record: latency of each frame        ─┐
//!                            └▶ addresses of all functions          ─┼─▶ Profile: instructions of one frame by call stack
//!  QEMU, told by a Tracer ─────▶ log: address of each instruction   ─┘
//! ```
//!
//! QEMU executes one instruction at a time while it is traced and writes the address of each. The clock counts
//! instructions, so the reads of the clock that became the two stamps of a frame are as many lines apart in the log as its
//! latency has nanoseconds (`path.rs`).

mod addresses;
mod path;
mod trace;
mod tracer;

pub use addresses::{ADDRESSES, AddressError, Function, Functions, STACK_MIB, of_this_machine};
pub use path::{PathError, Profile, Stack};
pub use trace::{Trace, TraceError};
pub use tracer::{TRACED, Tracer, UNTRACED, wait_for_trace};
