//! Changes that are computed from a frame, such as those of signals.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use crate::frame::Frame;

/// Computes a change of the payload. It is decided when the rules are compiled; a frame then costs no allocation.
pub trait Compute: Any + Send + Sync {
    /// Changes the payload of a received frame, and nothing beyond its length. Remote frames have none.
    fn change(&self, frame: &mut Frame);

    /// True if the other one changes every frame in the same way.
    fn equals(&self, other: &dyn Any) -> bool;
}

/// A computed change of a job. User space only.
#[derive(Clone)]
pub struct Computed(Arc<dyn Compute>);

impl Computed {
    /// A change that jobs share.
    #[must_use]
    pub fn new(compute: Arc<dyn Compute>) -> Self {
        Self(compute)
    }

    /// Changes the payload of a received frame.
    #[inline]
    pub fn change(&self, frame: &mut Frame) {
        self.0.change(frame);
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl Eq for Computed {}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}
