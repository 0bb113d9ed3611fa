//! Applies trees of queueing disciplines to interfaces, all or none.
//!
//! ```text
//!  wanted Tree ──┐
//!                ├─ crate::steps ──▶ requests ──apply──▶ kernel ──observe──▶ compare with wanted
//!  found Tree  ──┘                                    └── refused, or a different result: restore the found tree
//! ```
//!
//! [`fn@apply`] is pure except for its [`Kernel`]: an [`Interface`], or a fake in tests. A [`Keeper`] supervises trees while
//! interfaces come and go, and other programs change them.
//!
//! # Kernel
//! Reading needs no privilege; applying needs CAP_NET_ADMIN over the network namespace, and
//! filters by control group CAP_BPF, too.

mod apply;
mod control_groups;
mod machine;
mod supervise;

pub use apply::{Applied, ApplyError, Cause, Restored, Target, apply};
pub use control_groups::{ControlGroups, FindError};
pub use machine::{Here, Interface, Kernel, LookError, Machine, locate, observe, open};
pub use supervise::{Event, Keeper, Mend, News, StartError};

#[cfg(test)]
mod tests;
