//! Batched sending with one submission.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::squeue::Flags;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};

use crate::can::CanSocket;

/// Maximum frames per submission.
const ENTRIES: usize = 64;

/// Sends on the thread that first does.
pub struct UringSender {
    ring: IoUring,
    /// The ring is bound to a thread.
    is_enabled: bool,
}

impl UringSender {
    /// Creates the rings.
    ///
    /// # Errors
    /// `ENOSYS`, `EINVAL` or `EPERM` as [`super::Obstacle`] explains, `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let entries = u32::try_from(ENTRIES).map_err(io::Error::other)?;
        Ok(Self { ring: super::build(entries)?, is_enabled: false })
    }

    /// Sends frames of 16 or 72 bytes, at most 64, in order without blocking. Returns how many were accepted, from the
    /// first on, and the error of the next; `None` if all were accepted or there were more than 64.
    ///
    /// # Errors
    /// The submission was refused, and no frame was accepted.
    pub fn send<'a>(
        &mut self,
        socket: &CanSocket,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<(usize, Option<io::Error>)> {
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        let mut count: usize = 0;
        let mut frames = frames.take(ENTRIES).peekable();
        while let Some(frame) = frames.next() {
            let len = u32::try_from(frame.len()).map_err(io::Error::other)?;
            let mut request = opcode::Send::new(Fd(socket.as_raw_fd()), frame.as_ptr(), len)
                .flags(libc::MSG_DONTWAIT)
                .build()
                .user_data(count as u64);
            if frames.peek().is_some() {
                // Linked: no frame is sent after a refused one.
                request = request.flags(Flags::IO_LINK);
            }
            // SAFETY: the request reads `len` bytes of the borrowed frame, and this call does not return before all requests
            // have ended; there is room, because the queue has as many entries as frames are taken and is empty.
            unsafe { self.ring.submission().push(&request) }.map_err(io::Error::other)?;
            count += 1;
        }
        self.collect(count)
    }

    /// Waits for all requests, even when interrupted.
    fn collect(&mut self, count: usize) -> io::Result<(usize, Option<io::Error>)> {
        let (mut ended, mut taken, mut refused) = (0, 0, None);
        while ended < count {
            match self.ring.submit_and_wait(count - ended) {
                Ok(_submitted) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // No request can refer to the frames any more: io_uring accepts none or reports on it.
                Err(error) if ended == 0 && self.ring.submission().len() == count => return Err(error),
                Err(_busy) => {}
            }
            for completion in self.ring.completion() {
                ended += 1;
                match completion.result() {
                    0.. => taken += 1,
                    errno if errno == -libc::ECANCELED => {}
                    errno => refused = Some(io::Error::from_raw_os_error(-errno)),
                }
            }
        }
        Ok((taken, refused))
    }
}

impl std::fmt::Debug for UringSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UringSender").field("params", self.ring.params()).finish()
    }
}
