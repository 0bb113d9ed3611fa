//! Changes that are computed from a frame, such as those of signals, and checks of frames.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::sync::atomic::AtomicU32;

use crate::frame::{Frame, FrameFormat, RawId};
use crate::rule::{Checksums, Verdict};

/// Nanoseconds of `CLOCK_REALTIME`, the clock of the kernel's software receive stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealtimeNs(pub i64);

impl RealtimeNs {
    /// Of a frame without a stamp.
    pub const UNKNOWN: Self = Self(0);
}

/// What is known of a frame beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Identifier and flags; those of the sent frame for the last change.
    pub id: RawId,
    /// When the kernel received it, or [`RealtimeNs::UNKNOWN`].
    pub at: RealtimeNs,
}

/// What happens to a frame that a check finds not valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnBad {
    /// It is dropped.
    #[default]
    Drop,
    /// It is forwarded, and counted only.
    Pass,
}

/// A change in few steps, which a program of the kernel can do, too: frames of another length are deleted, then the counter
/// is written, then the checksums. Remote frames and errors of the bus are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Length of the payload in bytes.
    pub len: u8,
    /// Written before the checksums.
    pub counter: Option<CounterInByte>,
    /// Positions are from the start.
    pub checksums: Checksums,
}

/// A counter inside a byte of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInByte {
    /// Of the payload, from 0.
    pub byte: u8,
    /// Its lowest bit in the byte.
    pub shift: u8,
    /// Its bits in the byte.
    pub mask: u8,
    /// The first number, which follows the last one.
    pub min: u8,
    /// The last number.
    pub max: u8,
    /// Each frame gets the next number of [`Compute::next`]. Otherwise it keeps the one that it has, and is deleted if that is
    /// not `min` to `max`.
    pub is_own: bool,
}

/// Computes a change of the payload, or checks it. It is decided when the rules are compiled; a frame then costs no allocation.
/// One thread uses it at a time, so a state needs no order between its parts.
pub trait Compute: Any + Send + Sync {
    /// Changes or checks a payload. [`Verdict::Delete`]: the frame is not sent. Remote frames have a length but no payload, so
    /// implementations leave them alone; errors of the bus likewise.
    fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict;

    /// True if [`judge`](Self::judge) does the same, because no frame is changed. A frame that is only judged is not copied.
    fn judges(&self) -> bool {
        false
    }

    /// Checks a payload, if this [`judges`](Self::judges).
    fn judge(&self, _seen: Seen, _payload: &[u8]) -> Verdict {
        Verdict::Send
    }

    /// The same for a frame of CAN FD, for those that note which frames were not valid.
    fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.judge(seen, payload)
    }

    /// True if the other one changes every frame in the same way, from the same state.
    fn equals(&self, other: &dyn Any) -> bool;

    /// True if it may give a frame another length. Then [`change_frame`](Self::change_frame) is called in place of
    /// [`change`](Self::change), which costs more.
    fn changes_length(&self) -> bool {
        false
    }

    /// Changes or checks a frame, and may give it another length that its format allows.
    fn change_frame(&self, at: RealtimeNs, frame: &mut Frame) -> Verdict {
        let seen = Seen { id: frame.id, at };
        if self.judges() && frame.format == FrameFormat::Fd {
            return self.judge_fd(seen, frame.payload());
        }
        self.change(seen, frame.payload_mut())
    }

    /// True if it needs the time of a frame.
    fn is_timed(&self) -> bool {
        false
    }

    /// The same in few steps; `None` if it is more.
    fn steps(&self) -> Option<Steps> {
        None
    }

    /// The next number of its own counter, for those that count in its place.
    fn next(&self) -> Option<&AtomicU32> {
        None
    }

    /// What a check finds wrong with a frame by itself, in a word, without those before. For explanations.
    fn fault(&self, _id: RawId, _payload: &[u8]) -> Option<&'static str> {
        None
    }
}

/// A computed change of a job, which its copies share. User space only.
///
/// The box costs two loads for each frame. The place of a value inside an `Arc<dyn Compute>` depends on its alignment, and
/// costs five instructions.
#[derive(Clone)]
pub struct Computed(Arc<Box<dyn Compute>>);

impl Computed {
    /// A change with its state.
    #[must_use]
    pub fn new(compute: impl Compute) -> Self {
        Self(Arc::new(Box::new(compute)))
    }

    /// Changes or checks a payload.
    #[inline]
    pub fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict {
        self.0.change(seen, payload)
    }

    /// True if no frame is changed, and [`judge`](Self::judge) does the same.
    #[must_use]
    pub fn judges(&self) -> bool {
        self.0.judges()
    }

    /// Checks a payload, if this [`judges`](Self::judges).
    #[inline]
    pub fn judge(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.0.judge(seen, payload)
    }

    /// The same for a frame of CAN FD.
    #[inline]
    pub fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.0.judge_fd(seen, payload)
    }

    /// Changes or checks a frame.
    pub fn change_frame(&self, at: RealtimeNs, frame: &mut Frame) -> Verdict {
        self.0.change_frame(at, frame)
    }

    /// True if it may give a frame another length.
    #[must_use]
    pub fn changes_length(&self) -> bool {
        self.0.changes_length()
    }

    /// True if it needs the time of a frame.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.0.is_timed()
    }

    /// The same in few steps; `None` if it is more.
    #[must_use]
    pub fn steps(&self) -> Option<Steps> {
        self.0.steps()
    }

    /// The next number of its own counter, for those that count in its place.
    #[must_use]
    pub fn next(&self) -> Option<&AtomicU32> {
        self.0.next()
    }

    /// What a check finds wrong with a frame by itself, in a word, without those before. For explanations.
    #[must_use]
    pub fn fault(&self, frame: &Frame) -> Option<&'static str> {
        self.0.fault(frame.id, frame.payload())
    }

    /// True for the same one, with its state.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What changes the frames, if it is of this type.
    #[must_use]
    pub fn downcast_ref<T: Compute>(&self) -> Option<&T> {
        let compute: &dyn Any = &**self.0;
        compute.downcast_ref()
    }
}

impl PartialEq for Computed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&**other.0)
    }
}

impl Eq for Computed {}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}
