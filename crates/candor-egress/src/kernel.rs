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
mod interface;
mod keep;
mod look;
#[cfg(test)]
mod played;

pub use apply::{Applied, ApplyError, Cause, Restored, Target, apply};
pub use control_groups::{ControlGroups, FindError, locate};
pub use interface::{Here, Interface};
pub use keep::{Keeper, Mend, News, StartError};
pub use look::{LookError, observe, open};

use crate::control_group::{GroupName, Place};
use crate::netlink::TcError;
use crate::steps::Step;
use crate::tree::Tree;

/// A machine with interfaces that come and go.
pub trait Machine {
    /// What an interface is worked on with.
    type Kernel: Kernel;

    /// The interface of this name and its number, by which one can see that it is another one than before.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
    fn open(&mut self, name: &str) -> Result<Option<(u32, Self::Kernel)>, TcError>;

    /// Which control group this is; `None` if there is none now.
    ///
    /// # Errors
    /// [`FindError`].
    fn place(&mut self, name: &GroupName) -> Result<Option<Place>, FindError>;
}

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
