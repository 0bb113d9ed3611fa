//! Checks that change no frame, one call for each job.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

use crate::frame::{CAN_MTU, RawId};
use crate::job::{Compute, Computed, Job, RealtimeNs, Seen};
use crate::rule::Verdict;

/// Checks while they are collected.
#[derive(Debug, Default)]
pub(super) struct JudgePool {
    /// The checks of the last job that has some, and one for all of them.
    last: Option<(Vec<Computed>, Computed)>,
}

/// The first checks of a job, up to one that changes frames.
pub(super) fn of(job: &Job) -> &[Computed] {
    let only_judge = job.checks.iter().take_while(|check| check.judges()).count();
    &job.checks[..only_judge]
}

impl JudgePool {
    /// One check for all of a job. The jobs of a route come one after another and share theirs.
    pub(super) fn judge_of(&mut self, job: &Job) -> Option<Computed> {
        let checks = of(job);
        let first = checks.first()?;
        if let Some((last, judge)) = &self.last
            && last.len() == checks.len()
            && last.iter().zip(checks).all(|(known, one)| known.is(one))
        {
            return Some(judge.clone());
        }
        let judge = match checks {
            [_] => first.clone(),
            several => Computed::new(Several(several.into())),
        };
        self.last = Some((checks.to_vec(), judge.clone()));
        Some(judge)
    }
}

/// Judges a frame in the kernel's layout. Not inlined, so jobs that only forward frames need no registers of it.
#[inline(never)]
pub(super) fn verdict<const LEN: usize>(judge: &Computed, at: RealtimeNs, frame: &[u8; LEN]) -> Verdict {
    let Some((head, data)) = frame.split_first_chunk::<8>() else { return Verdict::Delete };
    let [a, b, c, d, len, ..] = *head;
    let Some(payload) = data.get(..usize::from(len)) else { return Verdict::Delete };
    let seen = Seen { id: RawId(u32::from_ne_bytes([a, b, c, d])), at };
    if LEN == CAN_MTU { judge.judge(seen, payload) } else { judge.judge_fd(seen, payload) }
}

/// Checks of a job that has several, until one deletes the frame.
struct Several(Box<[Computed]>);

impl Several {
    #[inline(always)]
    fn all(&self, judge: impl Fn(&Computed) -> Verdict) -> Verdict {
        if self.0.iter().all(|check| judge(check) == Verdict::Send) { Verdict::Send } else { Verdict::Delete }
    }
}

impl Compute for Several {
    fn change(&self, seen: Seen, payload: &mut [u8]) -> Verdict {
        self.judge(seen, payload)
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.all(|check| check.judge(seen, payload))
    }

    fn judge_fd(&self, seen: Seen, payload: &[u8]) -> Verdict {
        self.all(|check| check.judge_fd(seen, payload))
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }
}
