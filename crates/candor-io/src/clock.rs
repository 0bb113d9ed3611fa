//! Clocks.

use std::io;
use std::time::Duration;

use crate::socket;

pub use candor_core::job::RealtimeNs;

/// Reads `CLOCK_REALTIME`.
///
/// # Errors
/// Only if the kernel has no such clock, which no Linux lacks.
pub fn realtime() -> io::Result<RealtimeNs> {
    read(libc::CLOCK_REALTIME).map(RealtimeNs)
}

/// By how many nanoseconds `CLOCK_TAI` is ahead of `CLOCK_REALTIME`: whole seconds, 0 until a time service has set it.
///
/// # Errors
/// Only if the kernel lacks one of the clocks, which Linux has had since 3.10.
pub fn tai_ahead_ns() -> io::Result<i64> {
    let difference = read(libc::CLOCK_TAI)? - read(libc::CLOCK_REALTIME)?;
    let second = 1_000_000_000;
    Ok((difference + second / 2).div_euclid(second) * second)
}

/// Nanoseconds of the clock of a CAN adapter, which timestamps frames on the wire. Each adapter has its own epoch and
/// drift, so only differences between timestamps of one adapter are meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdapterNs(pub i64);

/// Nanoseconds of `CLOCK_BOOTTIME`: since boot, including suspend. It cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BoottimeNs(pub i64);

/// Reads `CLOCK_BOOTTIME`.
///
/// # Errors
/// Only if the kernel has no such clock, which Linux has had since 2.6.39.
pub fn boottime() -> io::Result<BoottimeNs> {
    read(libc::CLOCK_BOOTTIME).map(BoottimeNs)
}

/// Nanoseconds of `CLOCK_MONOTONIC`, which cannot be set and stops during suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonotonicNs(pub i64);

/// Reads `CLOCK_MONOTONIC`.
///
/// # Errors
/// Only if the kernel has no such clock, which no Linux lacks.
pub fn monotonic() -> io::Result<MonotonicNs> {
    read(libc::CLOCK_MONOTONIC).map(MonotonicNs)
}

/// Sleeps until a point in time, or returns at once if it has passed, so that periodic work does not accumulate delay.
/// Returns early after a signal.
///
/// # Errors
/// For a time before the epoch of the clock.
pub fn sleep_until(MonotonicNs(moment): MonotonicNs) -> io::Result<()> {
    let time = timespec(moment)?;
    // SAFETY: `time` is a live timespec that the call reads; with TIMER_ABSTIME the last pointer is not used and may be null.
    let errno = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const time, std::ptr::null_mut())
    };
    if errno == 0 || errno == libc::EINTR { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// Sets `CLOCK_REALTIME`.
///
/// # Errors
/// `EPERM` without CAP_SYS_TIME.
pub fn set_realtime(RealtimeNs(to): RealtimeNs) -> io::Result<()> {
    let time = timespec(to)?;
    // SAFETY: `time` is a live timespec of the type that the call reads.
    let status = unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const time) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn read(clock: libc::clockid_t) -> io::Result<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec of the type that the call fills, and outlives it.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    #[expect(clippy::unnecessary_cast, reason = "32 bits on 32-bit processors")]
    let (seconds, rest) = (time.tv_sec as i64, time.tv_nsec as i64);
    Ok(seconds * 1_000_000_000 + rest)
}

/// Fails with `EINVAL` before the epoch, as the kernel does.
fn timespec(ns: i64) -> io::Result<libc::timespec> {
    let ns = u64::try_from(ns).map_err(|_negative| io::Error::from_raw_os_error(libc::EINVAL))?;
    Ok(socket::timespec(Duration::from_nanos(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_earlier_than_slept_for() {
        let later = MonotonicNs(monotonic().unwrap().0 + 2_000_000);
        sleep_until(later).unwrap();
        assert!(monotonic().unwrap() >= later);
        // A past time returns at once.
        sleep_until(MonotonicNs(0)).unwrap();
        assert!(sleep_until(MonotonicNs(-1)).is_err());
    }
}
