//! Many waiting frames with one system call.

use std::io;
use std::os::fd::AsRawFd;

use candor_core::frame::CANFD_MTU;

use super::CanSocket;
use crate::socket;

/// Frames that one call takes at most.
const FRAMES: usize = 128;

/// Room for the frames that [`CanSocket::recv_batch`] takes.
#[derive(Clone)]
pub struct Batch {
    frames: Box<[[u8; CANFD_MTU]; FRAMES]>,
    /// Bytes of each frame that was received.
    lens: Vec<usize>,
}

impl Batch {
    /// The frames of the last call, in the order of reception: 16 or 72 bytes each.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().zip(&self.lens).map(|(frame, &len)| &frame[..len])
    }
}

impl Default for Batch {
    /// Without frames.
    fn default() -> Self {
        Self { frames: Box::new([[0; CANFD_MTU]; FRAMES]), lens: Vec::with_capacity(FRAMES) }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.frames()).finish()
    }
}

impl CanSocket {
    /// Takes frames that are waiting, without waiting for more, and says how many; 0 if there is none. Full batches
    /// may have left some.
    ///
    /// # Kernel
    /// Since 2.6.33 (`recvmmsg()`).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn recv_batch(&self, batch: &mut Batch) -> io::Result<usize> {
        batch.lens.clear();
        let mut iovs = batch
            .frames
            .each_mut()
            .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() });
        let mut messages = iovs.each_mut().map(|iov| {
            // SAFETY: mmsghdr consists of integers and raw pointers, for which all-zero bytes are valid values.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = std::ptr::from_mut(iov);
            message.msg_hdr.msg_iovlen = 1;
            message
        });
        #[expect(clippy::cast_possible_truncation, reason = "there are 128 messages")]
        let count = messages.len() as libc::c_uint;
        let (first, no_timeout) = (messages.as_mut_ptr(), std::ptr::null_mut());
        // The flags are int in glibc and unsigned in musl.
        let flags = libc::MSG_DONTWAIT as _;
        // SAFETY: `first` points to `count` live messages, each with one live iovec that describes its own frame of the
        // exclusively borrowed batch; all outlive the call, and nothing else refers to them during it. No timeout.
        let received = unsafe { libc::recvmmsg(self.fd.as_raw_fd(), first, count, flags, no_timeout) };
        match socket::check(received) {
            Ok(received) => {
                let received = usize::try_from(received).unwrap_or_default();
                batch.lens.extend(messages[..received].iter().map(|message| message.msg_len as usize));
                Ok(received)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }
}
