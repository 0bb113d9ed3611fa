//! Violations, counted by the thread that forwards and read by another one.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use candor_core::frame::{CANFD_FDF, CANFD_MAX_DLEN, Frame, FrameFormat, RawId};
use candor_core::job::{RealtimeNs, Seen};
use candor_core::rule::Verdict;

use crate::rule::{OnViolation, Rule};

const WORDS: usize = CANFD_MAX_DLEN / 8;
const FD: u32 = 1 << 8;

/// A frame that violated a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The first rule that it violates.
    pub rule: Rule,
    /// It. Of the flags, only that of CAN FD is kept.
    pub frame: Frame,
    /// Its receive stamp, if there are stamps.
    pub at: RealtimeNs,
}

/// Violations by rule, and the last one.
#[derive(Debug, Default)]
pub struct Tally {
    frames: [AtomicU64; Rule::ALL.len()],
    last: [Slot; Rule::ALL.len()],
}

/// The last violation of a rule.
#[derive(Debug, Default)]
struct Slot {
    /// Odd while it is being written.
    version: AtomicU32,
    id: AtomicU32,
    at: AtomicI64,
    /// Bytes of the payload, and [`FD`] in CAN FD frames.
    len: AtomicU32,
    data: [AtomicU64; WORDS],
}

impl Tally {
    /// Frames that violated this rule first.
    pub fn frames(&self, rule: Rule) -> u64 {
        self.frames[rule as usize].load(Ordering::Relaxed)
    }

    /// All rules with their frames.
    pub fn all(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        Rule::ALL.into_iter().map(|rule| (rule, self.frames(rule)))
    }

    /// Notes a violation, and says what becomes of the frame. One thread does that. The last call of its callers, so that other
    /// frames cost them no registers.
    #[cold]
    #[inline(never)]
    pub(crate) fn violated(
        &self,
        rule: Rule,
        format: FrameFormat,
        seen: Seen,
        payload: &[u8],
        on_violation: OnViolation,
    ) -> Verdict {
        self.note(rule, format, seen, payload);
        if on_violation == OnViolation::Drop { Verdict::Delete } else { Verdict::Send }
    }

    fn note(&self, rule: Rule, format: FrameFormat, seen: Seen, payload: &[u8]) {
        let count = &self.frames[rule as usize];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.last[rule as usize].write(format, seen, payload);
    }

    /// The last violation of a rule. `None` before the first one, or if it is being replaced again and again.
    #[must_use]
    pub fn last(&self, rule: Rule) -> Option<Evidence> {
        (0..8).find_map(|_try| self.last[rule as usize].read(rule))
    }
}

impl Slot {
    fn write(&self, format: FrameFormat, seen: Seen, payload: &[u8]) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.id.store(seen.id.0, Ordering::Relaxed);
        self.at.store(seen.at.0, Ordering::Relaxed);
        let len = u32::try_from(payload.len()).unwrap_or_default();
        self.len.store(if format == FrameFormat::Fd { len | FD } else { len }, Ordering::Relaxed);
        let mut data = [0; CANFD_MAX_DLEN];
        data.iter_mut().zip(payload).for_each(|(to, from)| *to = *from);
        for (to, from) in self.data.iter().zip(data.as_chunks().0) {
            to.store(u64::from_le_bytes(*from), Ordering::Relaxed);
        }
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    fn read(&self, rule: Rule) -> Option<Evidence> {
        let version = self.version.load(Ordering::Acquire);
        if version == 0 || version % 2 == 1 {
            return None;
        }
        let mut data = [0; CANFD_MAX_DLEN];
        for (to, from) in data.as_chunks_mut().0.iter_mut().zip(&self.data) {
            *to = from.load(Ordering::Relaxed).to_le_bytes();
        }
        let len = self.len.load(Ordering::Relaxed);
        let is_fd = len & FD != 0;
        let frame = Frame {
            id: RawId(self.id.load(Ordering::Relaxed)),
            len: u8::try_from(len & !FD).ok()?,
            flags: if is_fd { CANFD_FDF } else { 0 },
            format: if is_fd { FrameFormat::Fd } else { FrameFormat::Classic },
            len8_dlc: 0,
            data,
        };
        let evidence = Evidence { rule, frame, at: RealtimeNs(self.at.load(Ordering::Relaxed)) };
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some(evidence)
    }
}
