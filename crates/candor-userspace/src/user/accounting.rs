//! Frame accounting of a bus.
//!
//! The receiving thread counts each frame here, independently of the counters of the routes ([`super::program`]). At
//! the end both must agree; otherwise it is a bug.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use candor_io::can::CanSocket;

use super::count::Count;
use crate::counters::BusCounters;

/// Counters of one bus, which survive reloads.
#[derive(Debug, Default)]
pub(super) struct BusAccounting {
    received: Count,
    /// Received frames that matched no job.
    unwanted: Count,
    /// Number of matches: a frame counts once for each job it matches.
    matches: Count,
    lost_in_socket: AtomicU64,
    lost_in_ring: AtomicU64,
    /// Losses already reported by a notice.
    reported: AtomicU64,
    /// Drop counter of the current socket at the last update.
    of_socket: AtomicU32,
    /// Sums of jobs that a reload has removed.
    earlier: [AtomicU64; 3],
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    received: u64,
    unwanted: u64,
    matches: u64,
}

/// Sums over the jobs of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobSums {
    /// Frames that matched jobs from here.
    pub(super) matches: u64,
    /// Frames of jobs to here that the interface accepted.
    pub(super) sent: u64,
    /// Frames of jobs to here that were not sent.
    pub(super) refused: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) received: u64,
    pub(super) taken: u64,
    pub(super) unwanted: u64,
    pub(super) matches: u64,
    pub(super) lost_in_socket: u64,
    pub(super) lost_in_ring: u64,
}

impl Tally {
    /// Counts a match of the current frame.
    pub(super) const fn take(&mut self) {
        self.matches += 1;
    }

    /// Counts a frame after all jobs have seen it.
    pub(super) const fn count(&mut self, is_taken: bool) {
        self.received += 1;
        if !is_taken {
            self.unwanted += 1;
        }
    }

    /// Some frame matched no job.
    pub(super) const fn is_any_unwanted(&self) -> bool {
        self.unwanted != 0
    }
}

impl BusAccounting {
    /// Only for the receiving thread.
    pub(super) fn add(&self, tally: &Tally) {
        self.received.add(tally.received);
        self.matches.add(tally.matches);
        if tally.is_any_unwanted() {
            self.unwanted.add(tally.unwanted);
        }
    }

    /// Adds losses of a ring.
    pub(super) fn count_ring(&self, frames: u32) {
        if frames != 0 {
            self.lost_in_ring.fetch_add(frames.into(), Ordering::Relaxed);
        }
    }

    /// Reads the drop counter of the socket. Only for the supervisor.
    pub(super) fn count_socket(&self, socket: &CanSocket) {
        // Not available before Linux 4.12.
        let now = socket.dropped().unwrap_or_default();
        let grown = now.wrapping_sub(self.of_socket.swap(now, Ordering::Relaxed));
        self.lost_in_socket.fetch_add(grown.into(), Ordering::Relaxed);
    }

    /// Follows a new socket, which counts from 0.
    pub(super) fn begin_socket(&self) {
        self.of_socket.store(0, Ordering::Relaxed);
    }

    /// Losses since the previous call.
    pub(super) fn take_unreported_losses(&self) -> u64 {
        let all = self.lost_in_socket.load(Ordering::Relaxed) + self.lost_in_ring.load(Ordering::Relaxed);
        all - self.reported.swap(all, Ordering::Relaxed)
    }

    /// Adds the counters of jobs that a reload removes.
    pub(super) fn keep(&self, jobs: JobSums) {
        for (sum, more) in self.earlier.iter().zip([jobs.matches, jobs.sent, jobs.refused]) {
            sum.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Adds the counters of removed jobs.
    pub(super) fn with_earlier(&self, jobs: JobSums) -> JobSums {
        let [matches, sent, refused] = self.earlier.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        JobSums { matches: jobs.matches + matches, sent: jobs.sent + sent, refused: jobs.refused + refused }
    }

    pub(super) fn read(&self) -> Snapshot {
        // `unwanted` first: the receiving thread may be between its two stores.
        let unwanted = self.unwanted.value();
        let received = self.received.value();
        Snapshot {
            received,
            taken: received.saturating_sub(unwanted),
            unwanted,
            matches: self.matches.value(),
            lost_in_socket: self.lost_in_socket.load(Ordering::Relaxed),
            lost_in_ring: self.lost_in_ring.load(Ordering::Relaxed),
        }
    }
}

impl Snapshot {
    /// Completes the counters with those of the jobs.
    pub(super) fn counters(self, bus: String, interface: String, jobs: JobSums) -> BusCounters {
        let Self { received, taken, unwanted, matches, lost_in_socket, lost_in_ring } = self;
        let JobSums { matches: route_matches, sent, refused } = jobs;
        BusCounters {
            bus,
            interface,
            received,
            taken,
            unwanted,
            lost_in_socket,
            lost_in_ring,
            sent,
            refused,
            matches,
            route_matches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_taken_or_unwanted() {
        let accounting = BusAccounting::default();
        let mut tally = Tally::default();
        for matches in [0, 2, 1, 0, 0] {
            (0..matches).for_each(|_| tally.take());
            tally.count(matches > 0);
        }
        accounting.add(&tally);
        accounting.add(&tally);
        let read = accounting.read();
        assert_eq!((read.received, read.taken, read.unwanted, read.matches), (10, 4, 6, 6));
    }

    #[test]
    fn losses_are_told_once() {
        let accounting = BusAccounting::default();
        accounting.count_ring(3);
        assert_eq!((accounting.take_unreported_losses(), accounting.take_unreported_losses()), (3, 0));
        accounting.count_ring(2);
        assert_eq!((accounting.take_unreported_losses(), accounting.read().lost_in_ring), (2, 5));
    }
}
