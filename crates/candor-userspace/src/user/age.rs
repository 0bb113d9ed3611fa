//! Age of frames, robust against steps of `CLOCK_REALTIME`.
//!
//! The kernel stamps frames with `CLOCK_REALTIME`, which an administrator or a time service may set at any moment;
//! `CLOCK_BOOTTIME` cannot be set. The difference between the two changes only when the clock is set, so it identifies
//! the clock setting under which a timestamp was taken.

use std::io;
use std::time::Duration;

use candor_io::clock::{self, BoottimeNs, RealtimeNs};

/// A smaller change of the difference is due to reading the clocks one after the other, or to slewing.
const STEP_NS: i64 = 1_000_000;
/// Attempts at a reading that is not interrupted by the scheduler, which would look like a step.
const READINGS: usize = 8;
/// For this long after a step, frames may carry timestamps from before it.
const DOUBT_NS: i64 = 2_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ages {
    now: Now,
    /// The difference before the step, and the boot time until which it is considered.
    before: Option<(i64, i64)>,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Now {
    boottime: i64,
    /// `CLOCK_REALTIME` minus `CLOCK_BOOTTIME`.
    difference: i64,
}

impl Ages {
    pub(super) fn new() -> io::Result<Self> {
        let (boottime, realtime) = match read() {
            // The next refresh is more precise.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => (clock::boottime()?.0, clock::realtime()?.0),
            read => read?,
        };
        Ok(Self { now: Now { boottime, difference: realtime - boottime }, before: None })
    }

    /// Reads the clocks. After an error the previous reading stays.
    pub(super) fn refresh(&mut self) {
        // Without a step, one reading of each clock is precise enough.
        if let (Ok(BoottimeNs(boottime)), Ok(RealtimeNs(realtime))) = (clock::boottime(), clock::realtime())
            && (realtime - boottime - self.now.difference).abs() <= STEP_NS
        {
            return self.set(boottime, realtime);
        }
        if let Ok((boottime, realtime)) = read() {
            self.set(boottime, realtime);
        }
    }

    fn set(&mut self, boottime: i64, realtime: i64) {
        let difference = realtime - boottime;
        if (difference - self.now.difference).abs() > STEP_NS {
            self.before = Some((self.now.difference, boottime + DOUBT_NS));
        } else if self.before.is_some_and(|(_, until)| boottime > until) {
            self.before = None;
        }
        self.now = Now { boottime, difference };
    }

    /// The age of a frame with this timestamp at the last [`refresh`](Self::refresh). If it may have been stamped
    /// before a step, the smaller age: a step of the clock must not drop frames.
    pub(super) fn of(&self, stamp: RealtimeNs) -> Duration {
        let age = |difference: i64| self.now.boottime - (stamp.0 - difference);
        let possible = [Some(self.now.difference), self.before.map(|(difference, _)| difference)];
        let ages = possible.into_iter().flatten().map(age).filter(|age| *age >= -STEP_NS);
        Duration::from_nanos(u64::try_from(ages.min().unwrap_or_default()).unwrap_or_default())
    }
}

/// Both clocks, read within less time than the threshold of a step.
fn read() -> io::Result<(i64, i64)> {
    for _ in 0..READINGS {
        let BoottimeNs(before) = clock::boottime()?;
        let RealtimeNs(realtime) = clock::realtime()?;
        let BoottimeNs(after) = clock::boottime()?;
        if after - before < STEP_NS / 2 {
            return Ok((before, realtime));
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn at(boottime: i64, difference: i64) -> Ages {
        Ages { now: Now { boottime, difference }, before: None }
    }

    #[test]
    fn the_age_is_the_time_since_the_stamp() {
        let ages = at(1_000 * MS, 50_000 * MS);
        assert_eq!(ages.of(RealtimeNs(50_980 * MS)), Duration::from_millis(20));
        // Stamped while the clocks were read.
        assert_eq!(ages.of(RealtimeNs(51_000 * MS + 10)), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_set_makes_no_frame_old() {
        for set_by in [-3_600_000 * MS, -5 * MS, 5 * MS, 3_600_000 * MS] {
            let mut ages = at(1_000 * MS, 50_000 * MS);
            // Stamped 3 ms before the clock was set, 2 ms after it, looked at 4 ms after it.
            ages.set(1_004 * MS, 51_004 * MS + set_by);
            let (before, after) = (RealtimeNs(50_997 * MS), RealtimeNs(51_002 * MS + set_by));
            assert!(ages.of(before) <= Duration::from_millis(7), "{set_by}: {:?}", ages.of(before));
            assert!(ages.of(after) <= Duration::from_millis(2), "{set_by}: {:?}", ages.of(after));
            // Some time later there is no doubt any more.
            ages.set(5_000 * MS, 55_000 * MS + set_by);
            assert_eq!(ages.of(RealtimeNs(54_900 * MS + set_by)), Duration::from_millis(100));
        }
    }

    #[test]
    fn slewing_is_no_setting() {
        let mut ages = at(0, 0);
        ages.set(1_000 * MS, 1_000 * MS + MS / 2);
        assert_eq!(ages.before, None);
    }
}
