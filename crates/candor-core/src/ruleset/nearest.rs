//! The next few jobs in the order of delivery, from several sources.

/// Number of jobs sorted at once. Frames that match more jobs with different masks are rare and take several rounds.
const ROOM: usize = 16;
/// Larger than every index of a job.
const NONE: u32 = u32::MAX;

/// The lowest offered numbers, in order.
#[derive(Debug)]
pub(super) struct Nearest {
    jobs: [u32; ROOM],
}

impl Nearest {
    pub(super) const fn new() -> Self {
        Self { jobs: [NONE; ROOM] }
    }

    /// Offers a job. Returns `false` if it does not fit, and so later jobs do not either.
    ///
    /// Not inlined, because the compiler would try to keep all places in registers.
    #[inline(never)]
    pub(super) fn offer(&mut self, job: u32) -> bool {
        let mut carried = job;
        for place in &mut self.jobs {
            if carried < *place {
                core::mem::swap(place, &mut carried);
            }
            if carried == NONE {
                break;
            }
        }
        carried != job
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = u32> {
        self.jobs.into_iter().take_while(|job| *job != NONE)
    }

    /// The last job, if more may follow.
    pub(super) fn last_if_full(&self) -> Option<u32> {
        self.jobs.last().copied().filter(|job| *job != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_jobs_are_kept_in_order() {
        let mut nearest = Nearest::new();
        for job in (0..40).rev().step_by(2) {
            assert!(nearest.offer(job), "{job} is before all others");
        }
        assert!(!nearest.offer(33) && nearest.offer(4));
        assert!(!nearest.offer(32), "sixteen are before it");
        let kept: Vec<_> = nearest.jobs().collect();
        assert_eq!(kept, [1, 3, 4, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29]);
        assert_eq!(nearest.last_if_full(), Some(29));
        let mut few = Nearest::new();
        assert!(few.offer(7) && few.offer(5));
        assert_eq!((few.jobs().collect::<Vec<_>>(), few.last_if_full()), (vec![5, 7], None));
    }
}
