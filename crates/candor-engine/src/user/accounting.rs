//! What has come to a bus and what has gone from it.
//!
//! The receiving thread of a bus counts each frame here, apart from what the routes count of it ([`super::program`]). At the
//! end both have to agree, or candor has lost sight of a frame.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use candor_io::can::CanSocket;

use super::count::Count;
use crate::counters::BusCounters;

/// The numbers of one bus, which go on whatever its routes become.
#[derive(Debug, Default)]
pub(super) struct BusAccounting {
    /// Frames that the receiver gave.
    received: Count,
    /// Those of them that no job took.
    unwanted: Count,
    /// How often jobs took one.
    matches: Count,
    lost_in_socket: AtomicU64,
    lost_in_ring: AtomicU64,
    /// Losses that have been reported.
    reported: AtomicU64,
    /// What the present socket says of its losses, at the last look.
    of_socket: AtomicU32,
    /// What jobs counted that are no more.
    earlier: [AtomicU64; 3],
}

/// What one call of a receiver brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    received: u64,
    unwanted: u64,
    matches: u64,
}

/// What the jobs of a bus have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JobSums {
    /// By those that start here: frames that they took.
    pub(super) matches: u64,
    /// By those that lead here: frames that the interface took.
    pub(super) sent: u64,
    /// By those that lead here: frames that ended in candor or that the interface did not take.
    pub(super) refused: u64,
}

/// The numbers of a bus at one moment.
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
    /// A job has taken the present frame.
    pub(super) const fn take(&mut self) {
        self.matches += 1;
    }

    /// A frame has been offered to all jobs, and some took it or none.
    pub(super) const fn count(&mut self, is_taken: bool) {
        self.received += 1;
        if !is_taken {
            self.unwanted += 1;
        }
    }

    /// Whether no job took one of the frames.
    pub(super) const fn is_any_unwanted(&self) -> bool {
        self.unwanted != 0
    }
}

impl BusAccounting {
    /// Only the thread that receives may call this.
    pub(super) fn add(&self, tally: &Tally) {
        self.received.add(tally.received);
        self.matches.add(tally.matches);
        if tally.is_any_unwanted() {
            self.unwanted.add(tally.unwanted);
        }
    }

    /// Frames that a ring has lost.
    pub(super) fn count_ring(&self, frames: u32) {
        if frames != 0 {
            self.lost_in_ring.fetch_add(frames.into(), Ordering::Relaxed);
        }
    }

    /// Asks the socket what it has lost. Only the supervisor may call this.
    pub(super) fn count_socket(&self, socket: &CanSocket) {
        // Kernels before 4.12 do not count.
        let now = socket.dropped().unwrap_or_default();
        let grown = now.wrapping_sub(self.of_socket.swap(now, Ordering::Relaxed));
        self.lost_in_socket.fetch_add(grown.into(), Ordering::Relaxed);
    }

    /// There is another socket, which counts from 0.
    pub(super) fn begin_socket(&self) {
        self.of_socket.store(0, Ordering::Relaxed);
    }

    /// Frames that were lost since the last call.
    pub(super) fn take_unreported_losses(&self) -> u64 {
        let all = self.lost_in_socket.load(Ordering::Relaxed) + self.lost_in_ring.load(Ordering::Relaxed);
        all - self.reported.swap(all, Ordering::Relaxed)
    }

    /// Keeps what jobs counted that are no more.
    pub(super) fn keep(&self, jobs: JobSums) {
        for (sum, more) in self.earlier.iter().zip([jobs.matches, jobs.sent, jobs.refused]) {
            sum.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// What all jobs have counted, with those that are no more.
    pub(super) fn with_earlier(&self, jobs: JobSums) -> JobSums {
        let [matches, sent, refused] = self.earlier.each_ref().map(|sum| sum.load(Ordering::Relaxed));
        JobSums { matches: jobs.matches + matches, sent: jobs.sent + sent, refused: jobs.refused + refused }
    }

    pub(super) fn read(&self) -> Snapshot {
        // The thread that receives may be between the two: what is unwanted came before.
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
    /// As it is reported, with what jobs have counted.
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
