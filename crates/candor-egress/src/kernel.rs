//! Trees of queueing disciplines on interfaces: all of them or none.
//!
//! ```text
//!  wanted Tree ──┐
//!                ├─ crate::steps ──▶ requests ──apply──▶ kernel ──observe──▶ is it what is wanted?
//!  found Tree  ──┘                                    └── refused, or something else came out: back to what was found
//! ```
//!
//! [`fn@apply`] is pure but for a [`Kernel`]: that of [`Interface`], or one that a test plays. A [`Keeper`] does it for as long as
//! a process runs: interfaces come and go, and others change what is there.
//!
//! # Kernel
//! Looking needs no privilege; applying needs CAP_NET_ADMIN over the network namespace, and
//! filters by control group CAP_BPF, too.

mod apply;
mod control_groups;
mod machine;
mod supervise;

pub use apply::{Applied, ApplyError, Cause, Restored, Target, apply};
pub use control_groups::{ControlGroups, locate};
pub use machine::{FindError, Here, Interface, Kernel, LookError, Machine, observe, open};
pub use supervise::{Event, Keeper, Mend, News, StartError};

#[cfg(test)]
mod tests;
