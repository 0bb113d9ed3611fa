//! `ppoll()` on any descriptors, with nanosecond timeouts.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::socket;

/// Maximum descriptors per call.
pub const MAX_WATCHED: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// None: the entry is ignored.
    Nothing,
    /// Readable, or end of file.
    Read,
    Write,
}

/// An entry of [`wait`].
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    pub fd: BorrowedFd<'a>,
    pub interest: Interest,
    /// Ready, or hung up. Set by [`wait`].
    pub is_ready: bool,
}

impl<'a> Watched<'a> {
    #[must_use]
    pub const fn new(fd: BorrowedFd<'a>, interest: Interest) -> Self {
        Self { fd, interest, is_ready: false }
    }
}

/// Waits until an entry is ready or the timeout has passed. A timeout of 0 polls.
///
/// # Kernel
/// Timeouts are extended by the timer slack of the thread ([`set_timer_slack`]), except under real-time policies.
///
/// # Errors
/// `Interrupted` if a signal came, `InvalidInput` for more than [`MAX_WATCHED`] descriptors.
pub fn wait(watched: &mut [Watched<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let mut entries = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MAX_WATCHED];
    let Some(entries) = entries.get_mut(..watched.len()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for (entry, watched) in entries.iter_mut().zip(watched.iter()) {
        // The kernel ignores negative descriptors; an open one without events would still report a hang-up.
        (entry.fd, entry.events) = match watched.interest {
            Interest::Nothing => (-1, 0),
            Interest::Read => (watched.fd.as_raw_fd(), libc::POLLIN),
            Interest::Write => (watched.fd.as_raw_fd(), libc::POLLOUT),
        };
    }
    ppoll(entries, timeout)?;
    for (watched, entry) in watched.iter_mut().zip(entries.iter()) {
        watched.is_ready = entry.revents != 0;
    }
    Ok(())
}

/// `ppoll(2)` without a signal mask.
#[inline]
pub(crate) fn ppoll(entries: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let time = timeout.map(socket::timespec);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = libc::nfds_t::try_from(entries.len()).map_err(io::Error::other)?;
    // SAFETY: `entries` is a live, exclusively borrowed array of `count` pollfd; `time` is null or points to the live
    // timespec above, which the call only reads; a null signal mask leaves signals alone.
    socket::check(unsafe { libc::ppoll(entries.as_mut_ptr(), count, time, std::ptr::null()) }).map(drop)
}

/// Sets the timer slack of the calling thread in nanoseconds, at least 1. The default is 50 µs.
pub fn set_timer_slack(slack_ns: u32) -> io::Result<()> {
    // 0 means the default.
    let slack = libc::c_ulong::from(slack_ns.max(1));
    // SAFETY: `PR_SET_TIMERSLACK` takes one number and touches no memory of ours.
    socket::check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    #[test]
    fn only_what_is_ready_is_ready() {
        let ((mut near, far), (idle, _other)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        near.write_all(&[1]).unwrap();
        let mut watched = [(&idle, Interest::Read), (&far, Interest::Read), (&idle, Interest::Write)]
            .map(|(stream, interest)| Watched::new(stream.as_fd(), interest));
        wait(&mut watched, None).unwrap();
        assert_eq!(watched.map(|watched| watched.is_ready), [false, true, true]);
        drop(near);
        let mut watched = [Watched::new(far.as_fd(), Interest::Read)];
        wait(&mut watched, None).unwrap();
        assert!(watched[0].is_ready, "the end of a stream is something to read");
        watched[0].interest = Interest::Nothing;
        wait(&mut watched, Some(Duration::ZERO)).unwrap();
        assert!(!watched[0].is_ready);
    }

    #[test]
    fn waiting_ends_with_the_time_and_not_before() {
        set_timer_slack(0).unwrap();
        let (idle, _other) = UnixStream::pair().unwrap();
        let mut watched = [Watched::new(idle.as_fd(), Interest::Read)];
        let (before, time) = (Instant::now(), Duration::from_micros(1500));
        wait(&mut watched, Some(time)).unwrap();
        assert!(before.elapsed() >= time);
        assert!(!watched[0].is_ready);
        let mut many = [watched[0]; MAX_WATCHED + 1];
        assert_eq!(wait(&mut many, None).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
