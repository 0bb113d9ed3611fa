//! What routes count.

use std::ops::AddAssign;

use candor_netlink::cangw::JobCounters;

use crate::latency::Latencies;

/// What the jobs of a route have counted since the gateway started, or since it took them over from one that died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteCounters {
    /// Frames that the outgoing interface's queue accepted.
    pub handled: u64,
    /// Frames that could not be sent.
    pub dropped: u64,
    /// Frames with an impossible length or, in the kernel, too many hops.
    pub deleted: u64,
    /// Why frames were dropped, as far as it is known: the kernel does not say why its own gateway drops.
    pub drops: Drops,
    /// Frames that the rules let through, counted before they were sent; in user space only.
    pub matched: Option<u64>,
    /// Payload bytes of handled frames; in user space only.
    pub handled_bytes: Option<u64>,
    /// How long handled frames were under way; in user space only, and only if it is measured.
    pub latencies: Option<Box<Latencies>>,
}

/// Dropped frames by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// There was no room in the queue of the interface.
    pub full: u64,
    /// They were older than `max-age` allows.
    pub expired: u64,
    /// The interface was down or gone.
    pub down: u64,
    /// They were larger than the interface sends: FD frames for a classic bus.
    pub too_large: u64,
    /// The kernel gave another reason.
    pub other: u64,
}

/// What has come to a bus and gone from it in user space; can-gw does not count this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusCounters {
    /// Its name in the file.
    pub bus: String,
    /// Its interface.
    pub interface: String,
    /// Frames that came out of its socket or ring.
    pub received: u64,
    /// Those that at least one route took.
    pub taken: u64,
    /// Those that no route took. The kernel keeps most of what no route wants away from candor.
    pub unwanted: u64,
    /// Frames that the socket had no room for, because they came faster than they were read.
    pub lost_in_socket: u64,
    /// Frames that the ring had no room for.
    pub lost_in_ring: u64,
    /// Frames of all routes that its interface took.
    pub sent: u64,
    /// Frames of all routes to it that ended in candor, or that its interface did not take.
    pub refused: u64,
    /// How often routes took a frame, counted where frames come in …
    pub matches: u64,
    /// … and by the routes themselves.
    pub route_matches: u64,
}

impl BusCounters {
    /// What is wrong if a frame is unaccounted for at the end; `None` if all is well. While frames are under way the numbers
    /// are not of the same moment.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let Self { bus, received, taken, unwanted, matches, route_matches, .. } = self;
        let is_right = *received == taken + unwanted && matches == route_matches;
        (!is_right).then(|| {
            format!(
                "bus {bus:?} received {received} frames, of which routes took {taken} and none took {unwanted}; they were \
                 taken {matches} times, and routes counted {route_matches}"
            )
        })
    }
}

impl RouteCounters {
    /// What is wrong if a frame is unaccounted for at the end; `None` if all is well, or if nobody counted.
    pub(crate) fn contradiction(&self, route: &str) -> Option<String> {
        let Self { handled, dropped, drops, matched, .. } = self;
        let matched = (*matched)?;
        (matched != handled + dropped || drops.total() > *dropped).then(|| {
            format!(
                "route {route:?} took {matched} frames, of which {handled} were handled and {dropped} dropped ({} for a \
                 known reason)",
                drops.total()
            )
        })
    }
}

impl Drops {
    /// Each reason with the key under which it is shown.
    #[must_use]
    pub const fn by_reason(&self) -> [(&'static str, u64); 5] {
        let Self { full, expired, down, too_large, other } = *self;
        [("full", full), ("expired", expired), ("down", down), ("too-large", too_large), ("other", other)]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_reason().iter().map(|(_, frames)| frames).sum()
    }
}

impl AddAssign for RouteCounters {
    fn add_assign(&mut self, other: Self) {
        self.handled += other.handled;
        self.dropped += other.dropped;
        self.deleted += other.deleted;
        self.drops += other.drops;
        add(&mut self.matched, other.matched);
        add(&mut self.handled_bytes, other.handled_bytes);
        match (&mut self.latencies, other.latencies) {
            (_, None) => {}
            (None, more) => self.latencies = more,
            (Some(sum), Some(more)) => **sum += *more,
        }
    }
}

/// What nobody counted is no zero.
fn add<T: AddAssign>(sum: &mut Option<T>, more: Option<T>) {
    match (sum.as_mut(), more) {
        (_, None) => {}
        (None, more) => *sum = more,
        (Some(sum), Some(more)) => *sum += more,
    }
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        self.full += other.full;
        self.expired += other.expired;
        self.down += other.down;
        self.too_large += other.too_large;
        self.other += other.other;
    }
}

/// A job's counters made as wide as a person expects: the kernel's wrap at 2³².
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    last: JobCounters,
    total: RouteCounters,
}

impl Followed {
    /// Counts from what the kernel showed at a start: zeros for a new job.
    pub(crate) fn since(start: JobCounters) -> Self {
        Self { last: start, total: RouteCounters::default() }
    }

    /// Takes what the kernel shows now.
    pub(crate) fn follow(&mut self, now: JobCounters) {
        self.total += RouteCounters {
            handled: advance(&mut self.last.handled, now.handled),
            dropped: advance(&mut self.last.dropped, now.dropped),
            deleted: advance(&mut self.last.deleted, now.deleted),
            ..RouteCounters::default()
        };
    }

    /// Goes on with a new job in the place of one that is gone.
    pub(crate) fn restart(&mut self) {
        self.last = JobCounters::default();
    }

    /// How much more another job shows than this one did, so that of equal jobs the one is found that goes on from there.
    pub(crate) fn growth(&self, now: JobCounters) -> u64 {
        let pairs =
            [(self.last.handled, now.handled), (self.last.dropped, now.dropped), (self.last.deleted, now.deleted)];
        pairs.map(|(last, now)| if is_step_back(last, now) { 0 } else { now.wrapping_sub(last).into() }).iter().sum()
    }

    pub(crate) fn total(&self) -> RouteCounters {
        self.total.clone()
    }
}

/// Moves to what a wrapping counter shows now and says how much it has grown, between two looks that are seconds apart.
fn advance(last: &mut u32, now: u32) -> u64 {
    if is_step_back(*last, now) {
        // Waits until the kernel is there again.
        return 0;
    }
    let grown = now.wrapping_sub(*last);
    *last = now;
    // No bus carries 2³¹ frames in that time: the job was replaced by an equal one that counts from 0.
    if grown >= 1 << 31 { now.into() } else { grown.into() }
}

const fn is_step_back(last: u32, now: u32) -> bool {
    matches!(last.wrapping_sub(now), 1..=STEP_BACK)
}

/// The kernel counts without atomics, so a processor that was late writes back a smaller number: smaller by what others
/// counted within its few instructions, or, in a guest, within the time slice that it waited.
const STEP_BACK: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_nobody_knows_of_is_told() {
        let route = RouteCounters { matched: Some(5), handled: 3, dropped: 2, ..RouteCounters::default() };
        assert_eq!(route.contradiction("r"), None);
        let said = RouteCounters { handled: 2, ..route }.contradiction("r").unwrap();
        assert_eq!(said, "route \"r\" took 5 frames, of which 2 were handled and 2 dropped (0 for a known reason)");
        let bus =
            BusCounters { received: 4, taken: 3, unwanted: 1, matches: 6, route_matches: 6, ..BusCounters::default() };
        assert_eq!(bus.contradiction(), None);
        for wrong in [BusCounters { received: 5, ..bus.clone() }, BusCounters { route_matches: 5, ..bus }] {
            assert!(wrong.contradiction().is_some(), "{wrong:?}");
        }
    }

    fn handled(handled: u32) -> JobCounters {
        JobCounters { handled, ..JobCounters::default() }
    }

    #[test]
    fn totals_go_on_where_the_kernel_wraps() {
        let mut followed = Followed::since(handled(u32::MAX - 1));
        followed.follow(handled(3));
        assert_eq!(followed.total().handled, 5);
        followed.follow(handled(1000));
        assert_eq!(followed.total().handled, 1002);
    }

    #[test]
    fn a_job_that_starts_again_adds_what_it_counted() {
        let mut followed = Followed::since(handled(5));
        followed.follow(handled(500));
        followed.follow(handled(7));
        assert_eq!(followed.total().handled, 495 + 7);
    }

    #[test]
    fn a_job_that_was_put_back_adds_all_that_it_counts() {
        let mut followed = Followed::since(handled(5));
        followed.follow(handled(105));
        followed.restart();
        followed.follow(handled(90));
        assert_eq!(followed.total().handled, 100 + 90);
    }

    #[test]
    fn a_small_step_back_adds_nothing() {
        let mut followed = Followed::since(handled(0));
        for (now, total) in [(1000, 1000), (998, 1000), (999, 1000), (1003, 1003)] {
            followed.follow(handled(now));
            assert_eq!(followed.total().handled, total);
        }
        let mut wrapped = Followed::since(handled(3));
        wrapped.follow(handled(u32::MAX));
        assert_eq!(wrapped.total().handled, 0);
    }
}
