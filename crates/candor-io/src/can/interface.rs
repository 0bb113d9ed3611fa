//! Interface indexes.

use std::fmt;
use std::num::NonZeroU32;

/// Kernel index of a network interface; never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceIndex(NonZeroU32);

impl InterfaceIndex {
    /// `None` for 0, which means "any" or "none" to the kernel.
    #[must_use]
    pub const fn new(index: u32) -> Option<Self> {
        match NonZeroU32::new(index) {
            Some(index) => Some(Self(index)),
            None => None,
        }
    }

    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for InterfaceIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
