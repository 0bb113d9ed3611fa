//! `recvmmsg()` and `sendmmsg()` in batches of fixed size.

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use candor_core::frame::CANFD_MTU;

use super::ancillary::{ControlBuffer, Seen};
use super::{CanSocket, Stamps};
use crate::clock::RealtimeNs;
use crate::socket;

/// Maximum frames per call.
pub const MAX_BATCH: usize = 64;

/// Buffers for frames of up to `LEN` bytes and message headers for [`CanSocket::recv_batch`].
#[derive(Debug)]
pub struct Batch<const LEN: usize = CANFD_MTU> {
    /// Number of frames received by the last call.
    received: usize,
    list: List,
    slots: NonNull<Slot<LEN>>,
}

struct Slot<const LEN: usize> {
    frame: [u8; LEN],
    control: ControlBuffer,
}

#[derive(Clone, Copy, Debug)]
pub struct InBatch<'a> {
    /// 16 or 72 bytes; for CAN XL 12 more than its payload, if the buffers are as long.
    pub bytes: &'a [u8],
    /// Receive timestamp, if the socket was opened with [`Stamps::On`].
    pub at: Option<RealtimeNs>,
    /// A socket of this machine sent it.
    pub is_local: bool,
}

/// Message headers, initialised once, because they have 64 bytes for each frame.
#[derive(Debug)]
struct List {
    headers: Box<[libc::mmsghdr; MAX_BATCH]>,
    /// Referenced by the headers.
    vectors: NonNull<libc::iovec>,
}

// SAFETY: all pointers are to memory that belongs to this value alone; nothing in it depends on the thread.
unsafe impl Send for List {}
// SAFETY: as for `List`.
unsafe impl<const LEN: usize> Send for Batch<LEN> {}

impl List {
    fn new() -> Self {
        let vectors = Box::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MAX_BATCH]);
        let vectors = NonNull::from(Box::leak(vectors)).cast::<libc::iovec>();
        // SAFETY: mmsghdr consists of integers and raw pointers, for which all-zero bytes are valid values.
        let mut headers: Box<[libc::mmsghdr; MAX_BATCH]> = Box::new(unsafe { std::mem::zeroed() });
        for (position, header) in headers.iter_mut().enumerate() {
            // SAFETY: there are MAX_BATCH vectors behind the pointer, and as many headers.
            header.msg_hdr.msg_iov = unsafe { vectors.as_ptr().add(position) };
            header.msg_hdr.msg_iovlen = 1;
        }
        Self { headers, vectors }
    }

    /// Sets the frame of a header.
    fn set(&mut self, position: usize, start: *mut u8, len: usize) {
        assert!(position < MAX_BATCH, "there is a header for the frame");
        // SAFETY: there are MAX_BATCH vectors behind the pointer.
        let vector = unsafe { self.vectors.add(position) };
        // SAFETY: the vectors belong to this value and are borrowed exclusively with it.
        unsafe { vector.write(libc::iovec { iov_base: start.cast(), iov_len: len }) };
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `Box::leak` of an array of this type, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.vectors.as_ptr().cast::<[libc::iovec; MAX_BATCH]>()) });
    }
}

impl<const LEN: usize> Batch<LEN> {
    fn new() -> Self {
        let empty = |_position| Slot { frame: [0; LEN], control: ControlBuffer::new() };
        // Not an array, which would be on the stack first.
        let slots: Box<[Slot<LEN>]> = (0..MAX_BATCH).map(empty).collect();
        let slots = NonNull::from(Box::leak(slots)).cast::<Slot<LEN>>();
        let mut list = List::new();
        for position in 0..MAX_BATCH {
            // SAFETY: there are MAX_BATCH slots behind the pointer.
            let slot = unsafe { slots.add(position) }.as_ptr();
            // SAFETY: the slot is inside the slice; only an address is made, nothing is read.
            let frame = unsafe { &raw mut (*slot).frame };
            list.set(position, frame.cast(), LEN);
        }
        Self { received: 0, list, slots }
    }

    /// The frames of the last call, oldest first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = InBatch<'_>> {
        (0..self.received).map(|position| self.at(position))
    }

    /// A frame of the last call by its number; `None` after the last one.
    #[must_use]
    pub fn frame(&self, position: usize) -> Option<InBatch<'_>> {
        (position < self.received).then(|| self.at(position))
    }

    fn at(&self, position: usize) -> InBatch<'_> {
        let header = &self.list.headers[position];
        assert!(position < MAX_BATCH, "there are as many slots as headers");
        // SAFETY: there are MAX_BATCH slots behind the pointer.
        let slot = unsafe { self.slots.add(position) };
        // SAFETY: the kernel writes into the slots during a call only, which borrows this value exclusively.
        let slot = unsafe { slot.as_ref() };
        let len = (header.msg_len as usize).min(LEN);
        let Seen { stamp, .. } = slot.control.read(&header.msg_hdr);
        let is_local = header.msg_hdr.msg_flags & libc::MSG_DONTROUTE != 0;
        InBatch { bytes: &slot.frame[..len], at: stamp, is_local }
    }

    /// Attaches the control buffers, whose length each call changes.
    fn attach_control(&mut self) {
        for (position, header) in self.list.headers.iter_mut().enumerate() {
            // SAFETY: there are MAX_BATCH slots and as many headers.
            let mut slot = unsafe { self.slots.add(position) };
            // SAFETY: the slots belong to this value and are borrowed exclusively with it.
            let slot = unsafe { slot.as_mut() };
            slot.control.attach_to(&mut header.msg_hdr);
        }
    }
}

impl<const LEN: usize> Default for Batch<LEN> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const LEN: usize> Drop for Batch<LEN> {
    fn drop(&mut self) {
        let slots = std::ptr::slice_from_raw_parts_mut(self.slots.as_ptr(), MAX_BATCH);
        // SAFETY: the pointer comes from `Box::leak` of a slice of this type and length, and nothing else frees it.
        drop(unsafe { Box::from_raw(slots) });
    }
}

/// Blocking behaviour of a batch receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum First {
    /// Blocks for the first frame (`MSG_WAITFORONE`).
    Waits,
    /// Does not block (`MSG_DONTWAIT`).
    DoesNotWait,
}

/// Message headers for [`CanSocket::send_batch`].
#[derive(Debug)]
pub struct SendList {
    list: List,
}

impl Default for SendList {
    fn default() -> Self {
        Self { list: List::new() }
    }
}

impl CanSocket {
    /// Receives waiting frames, at most [`MAX_BATCH`], and returns their number; 0 if there are none.
    ///
    /// # Kernel
    /// Since 2.6.33 (`recvmmsg()`).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn recv_batch<const LEN: usize>(&self, batch: &mut Batch<LEN>, first: First) -> io::Result<usize> {
        batch.received = 0;
        if self.stamps() == Stamps::On {
            batch.attach_control();
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are 64 messages")]
        let count = MAX_BATCH as libc::c_uint;
        let (messages, no_timeout) = (batch.list.headers.as_mut_ptr(), std::ptr::null_mut());
        let flags = match first {
            First::Waits => libc::MSG_WAITFORONE,
            First::DoesNotWait => libc::MSG_DONTWAIT,
        };
        // SAFETY: `messages` points to `count` live headers, each with one live vector that describes the frame of its own
        // slot (`Batch::new`) and with its own control buffer or none; they live as long as the exclusively borrowed
        // batch, and nothing else refers to them during the call. No timeout. The flags are int in glibc and unsigned in
        // musl.
        let received = unsafe { libc::recvmmsg(self.fd.as_raw_fd(), messages, count, flags as _, no_timeout) };
        match socket::check(received) {
            Ok(received) => {
                batch.received = usize::try_from(received).unwrap_or_default();
                Ok(batch.received)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Sends frames of 16 or 72 bytes, at most [`MAX_BATCH`], in order without blocking, and returns how many were
    /// accepted, from the first on.
    ///
    /// # Kernel
    /// Since 3.0 (`sendmmsg()`).
    ///
    /// # Errors
    /// As [`send_now`](Self::send_now), if not even the first was taken.
    pub fn send_batch<'a>(&self, list: &mut SendList, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut count: libc::c_uint = 0;
        for (position, frame) in frames.take(MAX_BATCH).enumerate() {
            list.list.set(position, frame.as_ptr().cast_mut(), frame.len());
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        let messages = list.list.headers.as_mut_ptr();
        // SAFETY: `messages` points to at least `count` live headers without control buffers, each with one live vector that
        // describes a frame of the borrowed slices, which outlive the call ('a) and which the kernel only reads. The flags
        // are int in glibc and unsigned in musl.
        let sent = unsafe { libc::sendmmsg(self.fd.as_raw_fd(), messages, count, libc::MSG_DONTWAIT as _) };
        socket::check(sent).map(|sent| usize::try_from(sent).unwrap_or_default())
    }
}

impl<const LEN: usize> std::fmt::Debug for Slot<LEN> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.frame.fmt(f)
    }
}
