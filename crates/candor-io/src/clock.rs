//! Clocks.

use std::io;

/// Nanoseconds of `CLOCK_REALTIME`, the clock of the kernel's software receive stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RealtimeNs(pub i64);

/// Reads `CLOCK_REALTIME`.
///
/// # Errors
/// Only if the kernel has no such clock, which no Linux lacks.
pub fn realtime() -> io::Result<RealtimeNs> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live, writable timespec of the type that the call fills, and outlives it.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(RealtimeNs(time.tv_sec * 1_000_000_000 + time.tv_nsec))
}
