//! Counters of routes and buses.

use std::ops::AddAssign;

use candor_netlink::cangw::JobCounters;

use crate::latency::Latencies;

/// Counters of a route since the gateway started, or since it adopted the jobs of a dead one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteCounters {
    /// Frames accepted by the transmit queue.
    pub handled: u64,
    /// Frames that could not be sent.
    pub dropped: u64,
    /// Frames of an invalid length or, in the kernel, above the hop limit.
    pub deleted: u64,
    /// Dropped frames by reason; can-gw gives none, and programs of an applied file neither.
    pub drops: Drops,
    /// Frames that passed the rules; user space only.
    pub matched: Option<u64>,
    /// Payload bytes of handled frames; user space only.
    pub handled_bytes: Option<u64>,
    /// Latencies of handled frames, in programs also of dropped ones; not in can-gw, and only if measured.
    pub latencies: Option<Box<Latencies>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The transmit queue was full.
    pub full: u64,
    /// Older than `max-age`.
    pub expired: u64,
    /// The interface was down or gone.
    pub down: u64,
    /// FD frames to a classic interface.
    pub too_large: u64,
    pub other: u64,
}

/// Counters of a composed frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// Frames of its sources.
    pub received: u64,
    /// Accepted by the transmit queue.
    pub sent: u64,
    /// Not sent, by reason.
    pub drops: Drops,
}

/// Frame accounting of a bus in user space; can-gw has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusCounters {
    pub bus: String,
    pub interface: String,
    /// Frames read from the socket or ring.
    pub received: u64,
    /// Received frames that matched a route.
    pub taken: u64,
    /// Received frames that matched no route. Kernel filters reject most of these before.
    pub unwanted: u64,
    /// Lost in the socket buffer because they arrived faster than they were read.
    pub lost_in_socket: u64,
    /// Lost because the ring was full.
    pub lost_in_ring: u64,
    /// Frames of all routes accepted by the interface.
    pub sent: u64,
    /// Frames of all routes that were not sent.
    pub refused: u64,
    /// Matches, counted by the receiver. A frame counts once for each matching route.
    pub matches: u64,
    /// Matches, counted by the routes.
    pub route_matches: u64,
}

impl BusCounters {
    /// Describes inconsistent final counters; `None` if consistent. While frames are in transit, the counters are from
    /// different moments.
    pub fn contradiction(&self) -> Option<String> {
        let Self { bus, received, taken, unwanted, matches, route_matches, .. } = self;
        let is_right = *received == taken + unwanted && matches == route_matches;
        (!is_right).then(|| {
            format!(
                "bus {bus:?} received {received} frames, of which {taken} matched a route and {unwanted} none; the receiver \
                 counted {matches} matches, the routes {route_matches}"
            )
        })
    }
}

impl RouteCounters {
    /// Describes inconsistent final counters; `None` if consistent or not counted.
    pub fn contradiction(&self, route: &str) -> Option<String> {
        let Self { handled, dropped, drops, matched, .. } = self;
        let matched = (*matched)?;
        (matched != handled + dropped || drops.total() > *dropped).then(|| {
            format!(
                "route {route:?} matched {matched} frames, of which {handled} were handled and {dropped} dropped ({} for a \
                 known reason)",
                drops.total()
            )
        })
    }
}

impl Drops {
    /// Each reason with its key in JSON.
    #[must_use]
    pub const fn by_reason(&self) -> [(&'static str, u64); 5] {
        let Self { full, expired, down, too_large, other } = *self;
        [("full", full), ("expired", expired), ("down", down), ("too-large", too_large), ("other", other)]
    }

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

/// `None` means not counted, which is not 0.
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

/// Extends the counters of a job, which wrap at 2³², to 64 bits.
#[derive(Clone, Debug)]
pub struct Followed {
    last: JobCounters,
    total: RouteCounters,
}

impl Followed {
    /// Counts from this reading: zeros for a new job.
    pub fn since(start: JobCounters) -> Self {
        Self { last: start, total: RouteCounters::default() }
    }

    /// Adds the growth since the last reading.
    pub fn follow(&mut self, now: JobCounters) {
        self.total += RouteCounters {
            handled: advance(&mut self.last.handled, now.handled),
            dropped: advance(&mut self.last.dropped, now.dropped),
            deleted: advance(&mut self.last.deleted, now.deleted),
            ..RouteCounters::default()
        };
    }

    /// Continues with a new job that counts from 0.
    pub fn restart(&mut self) {
        self.last = JobCounters::default();
    }

    /// Growth if this reading belonged to the same job; the smallest identifies it among equal jobs.
    pub fn growth(&self, now: JobCounters) -> u64 {
        let pairs =
            [(self.last.handled, now.handled), (self.last.dropped, now.dropped), (self.last.deleted, now.deleted)];
        pairs.map(|(last, now)| if is_step_back(last, now) { 0 } else { now.wrapping_sub(last).into() }).iter().sum()
    }

    pub fn total(&self) -> RouteCounters {
        self.total.clone()
    }
}

/// Returns the growth of a wrapping counter since the last reading, seconds ago.
fn advance(last: &mut u32, now: u32) -> u64 {
    if is_step_back(*last, now) {
        // Wait until the counter has caught up.
        return 0;
    }
    let grown = now.wrapping_sub(*last);
    *last = now;
    // No bus carries 2³¹ frames in that time: an equal job that counts from 0 has replaced this one.
    if grown >= 1 << 31 { now.into() } else { grown.into() }
}

const fn is_step_back(last: u32, now: u32) -> bool {
    matches!(last.wrapping_sub(now), 1..=STEP_BACK)
}

/// The kernel counts without atomics, so a delayed processor writes back a smaller number: by what others counted
/// within a few instructions or, in a virtual machine, within a time slice.
const STEP_BACK: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_nobody_knows_of_is_told() {
        let route = RouteCounters { matched: Some(5), handled: 3, dropped: 2, ..RouteCounters::default() };
        assert_eq!(route.contradiction("r"), None);
        let said = RouteCounters { handled: 2, ..route }.contradiction("r").unwrap();
        assert_eq!(said, "route \"r\" matched 5 frames, of which 2 were handled and 2 dropped (0 for a known reason)");
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
