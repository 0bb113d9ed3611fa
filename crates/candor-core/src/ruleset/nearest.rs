//! The next few jobs in the order of delivery, picked from several sources.

/// Number of jobs sorted at once. Frames that match more jobs with different masks are rare; they take as many
/// rounds as are needed.
const ROOM: usize = 16;
/// No job: there are never as many.
const NONE: u32 = u32::MAX;

/// The lowest numbers of those that were offered, in order.
#[derive(Debug)]
pub(super) struct Nearest {
    jobs: [u32; ROOM],
}

impl Nearest {
    pub(super) const fn new() -> Self {
        Self { jobs: [NONE; ROOM] }
    }

    /// Takes a job in. `false` if there are enough before it, and so before all that follow it.
    ///
    /// Not inlined: the compiler would keep all places in registers that there are not.
    #[inline(never)]
    pub(super) fn offer(&mut self, job: u32) -> bool {
        let mut carried = job;
        for place in &mut self.jobs {
            if carried < *place {
                std::mem::swap(place, &mut carried);
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

    /// The last one, if there may be more than fitted.
    pub(super) fn last_if_full(&self) -> Option<u32> {
        self.jobs.last().copied().filter(|job| *job != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_are_kept_in_order() {
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
