//! Multishot receive: one request, a completion for each frame.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use super::buffers::Buffers;
use crate::can::CanSocket;

/// One request is enough.
const ENTRIES: u32 = 8;

/// Receives from one socket, on the thread that first waits.
#[derive(Debug)]
pub struct UringReceiver {
    ring: Ring,
    /// Declared after the ring, so that it is dropped later.
    buffers: Buffers,
    asks: bool,
    /// The ring is bound to a thread.
    is_enabled: bool,
}

/// Cancels its requests on drop.
struct Ring(IoUring);

impl UringReceiver {
    /// Creates rings and buffers.
    ///
    /// # Errors
    /// `ENOSYS`, `EINVAL` or `EPERM` as [`super::Obstacle`] explains, `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let ring = Ring(super::build(ENTRIES)?);
        let buffers = Buffers::new()?;
        buffers.register(&ring.0)?;
        Ok(Self { ring, buffers, asks: false, is_enabled: false })
    }

    /// Waits for frames of the socket, without limit or for `patience`, and passes at most `most` to `take`, with
    /// whether more are waiting.
    ///
    /// # Errors
    /// `Interrupted` if a signal came, and what [`CanSocket::read`] reports.
    pub fn receive(
        &mut self,
        socket: &CanSocket,
        patience: Option<Duration>,
        most: usize,
        take: impl FnMut(&[u8], bool),
    ) -> io::Result<()> {
        self.receive_from(socket.as_raw_fd(), patience, most, take)
    }

    fn receive_from(
        &mut self,
        fd: RawFd,
        patience: Option<Duration>,
        most: usize,
        mut take: impl FnMut(&[u8], bool),
    ) -> io::Result<()> {
        if !self.is_enabled {
            self.ring.0.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        self.ask(fd)?;
        if self.ring.0.completion().is_empty() && !self.wait(patience)? {
            return Ok(());
        }
        let mut outcome = Ok(());
        let mut completions = self.ring.0.completion();
        for _ in 0..most {
            let Some(completion) = completions.next() else { break };
            let more = !completions.is_empty();
            if !cqueue::more(completion.flags()) {
                self.asks = false;
            }
            let buffer = cqueue::buffer_select(completion.flags());
            match (usize::try_from(completion.result()), buffer) {
                (Ok(len), Some(buffer)) => {
                    take(self.buffers.bytes(buffer, len), more);
                    self.buffers.give_back(buffer);
                }
                (Ok(_), None) => {}
                // All buffers were in use: the next request finds the returned ones.
                (Err(_), _) if completion.result() == -libc::ENOBUFS => {}
                (Err(_), _) if completion.result() == -libc::ECANCELED => {}
                (Err(_), _) => outcome = Err(io::Error::from_raw_os_error(-completion.result())),
            }
        }
        outcome
    }

    /// Cancels the request, so that the next call may use another socket. Frames already received are still delivered.
    pub fn forget_socket(&mut self) -> io::Result<()> {
        self.ring.cancel()?;
        self.asks = false;
        Ok(())
    }

    /// Submits the request if it is not active.
    fn ask(&mut self, fd: RawFd) -> io::Result<()> {
        if self.asks {
            return Ok(());
        }
        let request = opcode::RecvMulti::new(Fd(fd), Buffers::GROUP).build();
        // SAFETY: the request names no memory; its frames go into the registered buffers, which live longer than the ring.
        unsafe { self.ring.0.submission().push(&request) }.map_err(io::Error::other)?;
        self.asks = true;
        Ok(())
    }

    /// Waits for a completion; false after the timeout.
    fn wait(&mut self, patience: Option<Duration>) -> io::Result<bool> {
        let waited = match patience {
            None => self.ring.0.submit_and_wait(1),
            Some(patience) => {
                let time = Timespec::from(patience);
                self.ring.0.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&time))
            }
        };
        match waited {
            Ok(_submitted) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Ring {
    /// Cancels all requests and waits for their end.
    fn cancel(&self) -> io::Result<()> {
        match self.0.submitter().register_sync_cancel(None, CancelBuilder::any()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Kernels where this fails have no multishot receive, so there was no request.
        let _ = self.cancel();
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.params().fmt(f)
    }
}

/// Receives one datagram as frames are received.
pub(super) fn try_out() -> io::Result<()> {
    let (ours, theirs) = UnixDatagram::pair()?;
    theirs.send(b"frame")?;
    let mut receiver = UringReceiver::new()?;
    let mut seen = 0;
    receiver.receive_from(ours.as_raw_fd(), Some(Duration::from_secs(1)), 1, |bytes, _more| seen = bytes.len())?;
    if seen == 5 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` after printing the reason.
    fn receiver() -> Option<UringReceiver> {
        match super::super::obstacle().unwrap() {
            None => Some(UringReceiver::new().unwrap()),
            Some(obstacle) => {
                let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
                let is_required = demanded.split(',').any(|feature| feature == "io-uring");
                assert!(!is_required, "io-uring is required, but {obstacle:?}");
                println!("SKIP needs io-uring: {obstacle:?}");
                None
            }
        }
    }

    #[test]
    fn more_datagrams_than_buffers_come_in_order() {
        let Some(mut receiver) = receiver() else { return };
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let (mut sent, mut seen) = (0_u32, Vec::new());
        for _ in 0..200 {
            // As many as fit; some rounds leave frames behind.
            while theirs.send(&sent.to_ne_bytes()).is_ok() {
                sent += 1;
            }
            receiver
                .receive_from(ours.as_raw_fd(), Some(Duration::ZERO), 3, |bytes, _| {
                    seen.push(u32::from_ne_bytes(bytes.try_into().unwrap()));
                })
                .unwrap();
        }
        assert!(seen.len() > 300, "{}", seen.len());
        assert!(seen.iter().copied().eq(0..u32::try_from(seen.len()).unwrap()));
    }

    #[test]
    fn a_forgotten_socket_is_silent() {
        let Some(mut receiver) = receiver() else { return };
        let pairs = [UnixDatagram::pair().unwrap(), UnixDatagram::pair().unwrap()];
        let mut seen = Vec::new();
        for (ours, theirs) in &pairs {
            theirs.send(b"one").unwrap();
            let mut take = |bytes: &[u8], _more: bool| seen.push(bytes.to_vec());
            receiver.receive_from(ours.as_raw_fd(), Some(Duration::from_secs(5)), 8, &mut take).unwrap();
            receiver.forget_socket().unwrap();
            theirs.send(b"late").unwrap();
            receiver.receive_from(pairs[1].0.as_raw_fd(), Some(Duration::ZERO), 8, &mut take).unwrap();
        }
        assert!(seen.iter().filter(|bytes| *bytes == b"one").count() == 2, "{seen:?}");
    }
}
