//! Changes that are computed from a frame, such as those of signals.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use crate::frame::Frame;

/// Computes a change of the payload. It is decided when the rules are compiled; a frame then costs no allocation.
pub trait Compute: fmt::Debug + Send + Sync {
    /// Changes the payload of a received frame, and nothing beyond its length. Remote frames have none.
    fn change(&self, frame: &mut Frame);
}

/// A computed change of a job. User space only; equal if their descriptions are.
#[derive(Clone)]
pub struct Computed {
    description: Box<str>,
    compute: Arc<dyn Compute>,
}

impl Computed {
    /// The description says all that the change depends on.
    #[must_use]
    pub fn new(description: Box<str>, compute: Arc<dyn Compute>) -> Self {
        Self { description, compute }
    }

    /// What the change depends on.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Changes the payload of a received frame.
    #[inline]
    pub fn change(&self, frame: &mut Frame) {
        self.compute.change(frame);
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        self.description == other.description
    }
}

impl Eq for Computed {}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Computed").field(&self.description).finish()
    }
}
