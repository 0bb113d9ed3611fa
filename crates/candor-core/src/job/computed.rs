//! Changes that are computed from a frame, such as those of signals, and checks of frames.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use crate::frame::Frame;
use crate::rule::Verdict;

/// Computes a change of the payload, or checks it. It is decided when the rules are compiled; a frame then costs no allocation.
/// One thread uses it at a time, so a state needs no order between its parts.
pub trait Compute: Any + Send + Sync {
    /// Changes the payload of a frame, and nothing beyond its length. Remote frames have none. [`Verdict::Delete`]: the frame
    /// is not sent.
    fn change(&self, frame: &mut Frame) -> Verdict;

    /// True if the other one changes every frame in the same way, from the same state.
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

    /// Changes the payload of a frame, or checks it.
    #[inline]
    pub fn change(&self, frame: &mut Frame) -> Verdict {
        self.0.change(frame)
    }

    /// True for the same one, with its state.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What changes the frames, for its owner.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Compute> {
        &self.0
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
