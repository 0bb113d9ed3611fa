//! `ppoll()` on CAN_RAW sockets.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::CanSocket;
use crate::poll::ppoll;

/// Maximum sockets per call.
pub const MAX_POLLED: usize = 64;

/// Bit set of the sockets with a frame or an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready(u64);

impl Ready {
    /// True if the socket at this position is ready.
    #[must_use]
    pub const fn contains(self, position: usize) -> bool {
        position < MAX_POLLED && self.0 & (1 << position) != 0
    }

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Waits until a socket has a frame or an error, or until the timeout.
///
/// # Errors
/// `Interrupted` if a signal came, `InvalidInput` for more than [`MAX_POLLED`] sockets.
pub fn poll(sockets: &[&CanSocket], timeout: Option<Duration>) -> io::Result<Ready> {
    poll_each(sockets.iter().copied(), timeout)
}

/// As [`poll`], for sockets that are not in a list.
///
/// # Errors
/// As [`poll`].
pub fn poll_each<'s>(
    sockets: impl ExactSizeIterator<Item = &'s CanSocket>,
    timeout: Option<Duration>,
) -> io::Result<Ready> {
    let mut entries = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MAX_POLLED];
    let Some(entries) = entries.get_mut(..sockets.len()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for (entry, socket) in entries.iter_mut().zip(sockets) {
        entry.fd = socket.fd.as_raw_fd();
    }
    ppoll(entries, timeout)?;
    let ready = entries.iter().enumerate().filter(|(_, entry)| entry.revents != 0);
    Ok(Ready(ready.fold(0, |bits, (position, _)| bits | 1 << position)))
}
