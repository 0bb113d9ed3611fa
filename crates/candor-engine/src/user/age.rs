//! How old frames are, although the clock of their stamps may be set.
//!
//! The kernel stamps frames by `CLOCK_REALTIME`, which a person or a time service may set at any moment. What nobody sets is
//! the time since the machine was booted. The difference of the two changes only when the clock is set, so it tells on
//! which of two clocks a stamp was made.

use std::io;
use std::time::Duration;

use candor_io::clock::{self, BoottimeNs, RealtimeNs};

/// The clocks are read one after the other, and slewing moves one of them: less than this is no setting of a clock.
const STEP_NS: i64 = 1_000_000;
/// So often they are read again if the thread was kept from its processor in between, which would look like a setting.
const READINGS: usize = 8;
/// So long after a setting there may still be frames that were stamped before it.
const DOUBT_NS: i64 = 2_000_000_000;

/// Tells the age of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ages {
    now: Now,
    /// The difference before the clock was set, and until when it is to be thought of.
    before: Option<(i64, i64)>,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Now {
    boottime: i64,
    /// What is to be added to the time since boot to get the clock's.
    difference: i64,
}

impl Ages {
    pub(super) fn new() -> io::Result<Self> {
        let (boottime, realtime) = match read() {
            // The next look is better.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => (clock::boottime()?.0, clock::realtime()?.0),
            read => read?,
        };
        Ok(Self { now: Now { boottime, difference: realtime - boottime }, before: None })
    }

    /// Reads the clocks. Where that fails the last reading stays.
    pub(super) fn refresh(&mut self) {
        // As long as nobody has set the clock, nothing is gained by a closer look.
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

    /// The age of a frame with this stamp at the last [`refresh`](Self::refresh). If it may have been stamped before the clock
    /// was set, the younger age: a setting of the clock throws no frames away.
    pub(super) fn of(&self, stamp: RealtimeNs) -> Duration {
        let age = |difference: i64| self.now.boottime - (stamp.0 - difference);
        let possible = [Some(self.now.difference), self.before.map(|(difference, _)| difference)];
        let ages = possible.into_iter().flatten().map(age).filter(|age| *age >= -STEP_NS);
        Duration::from_nanos(u64::try_from(ages.min().unwrap_or_default()).unwrap_or_default())
    }
}

/// Both clocks, read within less time than a setting is.
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
