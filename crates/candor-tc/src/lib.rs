//! Trees of queueing disciplines on interfaces: all of them or none.
//!
//! ```text
//!  wanted Tree ──┐
//!                ├─ candor_core::egress::steps ──▶ requests ──apply──▶ kernel ──observe──▶ is it what is wanted?
//!  found Tree  ──┘                                    └── refused, or something else came out: back to what was found
//! ```
//!
//! [`fn@apply`] is pure but for a [`Kernel`]: that of [`Interface`], or one that a test plays.
//!
//! # Kernel
//! Looking needs no privilege; applying needs CAP_NET_ADMIN over the network namespace.
#![forbid(unsafe_code)]

mod apply;
mod interface;

pub use apply::{Applied, ApplyError, Cause, Restored, Target, apply};
pub use interface::Interface;

use candor_core::egress::steps::Step;
use candor_core::egress::tree::Tree;
use candor_netlink::tc::TcError;

/// One interface, as far as it has to be known here.
pub trait Kernel {
    /// What it has.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
    fn found(&mut self) -> Result<Tree, TcError>;

    /// Makes one change.
    ///
    /// # Errors
    /// Whatever the kernel refuses with; then nothing has changed.
    fn carry_out(&mut self, step: &Step) -> Result<(), TcError>;
}
