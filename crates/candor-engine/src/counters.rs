//! What routes count.

use std::ops::AddAssign;

use candor_netlink::cangw::JobCounters;

/// What the jobs of a route have counted since the gateway started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteCounters {
    /// Frames that the outgoing interface's queue accepted.
    pub handled: u64,
    /// Frames that could not be sent.
    pub dropped: u64,
    /// Frames with an impossible length or, in the kernel, too many hops.
    pub deleted: u64,
}

impl AddAssign for RouteCounters {
    fn add_assign(&mut self, other: Self) {
        self.handled += other.handled;
        self.dropped += other.dropped;
        self.deleted += other.deleted;
    }
}

/// A job's counters made as wide as a person expects: the kernel's wrap at 2³².
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    last: JobCounters,
    total: RouteCounters,
}

impl Followed {
    /// Counts from what the kernel shows now.
    pub(crate) fn from_now(now: JobCounters) -> Self {
        Self { last: now, total: RouteCounters::default() }
    }

    /// Takes what the kernel shows now.
    pub(crate) fn follow(&mut self, now: JobCounters) {
        self.total += RouteCounters {
            handled: growth(self.last.handled, now.handled),
            dropped: growth(self.last.dropped, now.dropped),
            deleted: growth(self.last.deleted, now.deleted),
        };
        self.last = now;
    }

    pub(crate) const fn total(&self) -> RouteCounters {
        self.total
    }
}

/// How much a wrapping counter has grown between two looks that are seconds apart.
fn growth(last: u32, now: u32) -> u64 {
    let grown = now.wrapping_sub(last);
    // No bus carries 2³¹ frames in that time: the job was replaced by an equal one that counts from 0.
    if grown > u32::MAX / 2 { now.into() } else { grown.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handled(handled: u32) -> JobCounters {
        JobCounters { handled, ..JobCounters::default() }
    }

    #[test]
    fn totals_go_on_where_the_kernel_wraps() {
        let mut followed = Followed::from_now(handled(u32::MAX - 1));
        followed.follow(handled(3));
        assert_eq!(followed.total().handled, 5);
        followed.follow(handled(1000));
        assert_eq!(followed.total().handled, 1002);
    }

    #[test]
    fn a_job_that_starts_again_adds_what_it_counted() {
        let mut followed = Followed::from_now(handled(5));
        followed.follow(handled(500));
        followed.follow(handled(7));
        assert_eq!(followed.total().handled, 495 + 7);
    }
}
