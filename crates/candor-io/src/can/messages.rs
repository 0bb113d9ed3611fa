//! `recvmmsg()` and `sendmmsg()` with any number of frames, for measuring the calls.

use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use candor_core::frame::CANFD_MTU;

use super::CanSocket;
use crate::socket;

/// Frames with message headers, all prepared before the call so that it can be timed alone.
#[derive(Debug)]
pub struct Messages {
    headers: Vec<libc::mmsghdr>,
    /// Referenced by the headers, one each.
    vectors: NonNull<[libc::iovec]>,
    /// Referenced by the vectors, one each.
    slots: NonNull<[[u8; CANFD_MTU]]>,
}

// SAFETY: all pointers are to memory that belongs to this value alone; nothing in it depends on the thread.
unsafe impl Send for Messages {}

impl Messages {
    /// Buffers to receive this many frames.
    #[must_use]
    pub fn empty(count: usize) -> Self {
        Self::with(vec![[0; CANFD_MTU]; count], CANFD_MTU)
    }

    /// Frames to send, in the kernel's layout, each of `len` bytes: 16 or 72.
    #[must_use]
    pub fn to_send(frames: Vec<[u8; CANFD_MTU]>, len: usize) -> Self {
        Self::with(frames, len)
    }

    fn with(slots: Vec<[u8; CANFD_MTU]>, len: usize) -> Self {
        assert!(len <= CANFD_MTU, "a frame has at most CANFD_MTU bytes");
        let count = slots.len();
        let slots: NonNull<[[u8; CANFD_MTU]]> = NonNull::from(Box::leak(slots.into_boxed_slice()));
        let vector = |position: usize| {
            // SAFETY: there are `count` slots behind the pointer, and the position is below that.
            let slot = unsafe { slots.cast::<[u8; CANFD_MTU]>().add(position) };
            libc::iovec { iov_base: slot.as_ptr().cast(), iov_len: len }
        };
        let vectors: Box<[libc::iovec]> = (0..count).map(vector).collect();
        let vectors: NonNull<[libc::iovec]> = NonNull::from(Box::leak(vectors));
        let header = |position: usize| {
            // SAFETY: mmsghdr consists of integers and raw pointers, for which all-zero bytes are valid values.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            // SAFETY: there are `count` vectors behind the pointer, and the position is below that.
            header.msg_hdr.msg_iov = unsafe { vectors.cast::<libc::iovec>().add(position) }.as_ptr();
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        Self { headers: (0..count).map(header).collect(), vectors, slots }
    }

    #[must_use]
    pub const fn frames(&self) -> &[[u8; CANFD_MTU]] {
        // SAFETY: the slots belong to this value, and the kernel writes into them only during a call that borrows it
        // exclusively.
        unsafe { self.slots.as_ref() }
    }

    /// The headers of a range; a panic where there are none.
    fn headers(&mut self, range: Range<usize>) -> (*mut libc::mmsghdr, libc::c_uint) {
        let headers = &mut self.headers[range];
        (headers.as_mut_ptr(), libc::c_uint::try_from(headers.len()).unwrap_or(libc::c_uint::MAX))
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from `Box::leak` of a slice of this type and length, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.vectors.as_ptr()) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.slots.as_ptr()) });
    }
}

impl CanSocket {
    /// Receives waiting frames into this range of slots with one call, and returns their number.
    ///
    /// # Kernel
    /// Since 2.6.33 (`recvmmsg()`).
    ///
    /// # Errors
    /// As [`read`](Self::read), and `EAGAIN` if not even one is waiting.
    ///
    /// # Panics
    /// If the range exceeds the messages.
    pub fn receive_messages(&self, messages: &mut Messages, range: Range<usize>) -> io::Result<usize> {
        let (headers, count) = messages.headers(range);
        // The flags are int in glibc and unsigned in musl.
        let flags = libc::MSG_DONTWAIT as _;
        // SAFETY: `headers` points to `count` live headers, each with one live vector that describes a whole slot; all belong
        // to the exclusively borrowed messages, and nothing else refers to them during the call. No control buffers, no
        // timeout.
        let received = unsafe { libc::recvmmsg(self.fd.as_raw_fd(), headers, count, flags, std::ptr::null_mut()) };
        socket::check(received).map(|count| usize::try_from(count).unwrap_or_default())
    }

    /// Sends this range of slots with one call, and returns how many were accepted, from the first on.
    ///
    /// # Kernel
    /// Since 3.0 (`sendmmsg()`); at most 1024 (`UIO_MAXIOV`), however long the range is.
    ///
    /// # Errors
    /// As [`write`](Self::write), if not even the first was taken.
    ///
    /// # Panics
    /// If the range is none of the messages.
    pub fn send_messages(&self, messages: &mut Messages, range: Range<usize>) -> io::Result<usize> {
        let (headers, count) = messages.headers(range);
        // SAFETY: `headers` points to `count` live headers, each with one live vector that describes a slot, which the kernel only
        // reads; all belong to the exclusively borrowed messages. No control buffers. The flags are int in glibc and unsigned in musl.
        let sent = unsafe { libc::sendmmsg(self.fd.as_raw_fd(), headers, count, 0) };
        socket::check(sent).map(|count| usize::try_from(count).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_header_has_its_slot() {
        let messages = Messages::to_send((0..3).map(|number| [number; CANFD_MTU]).collect(), 16);
        // Moving the value moves none of what is pointed to.
        let moved = Box::new(messages);
        for (header, number) in moved.headers.iter().zip(0..) {
            // SAFETY: the vector belongs to the live messages.
            let vector = unsafe { *header.msg_hdr.msg_iov };
            // SAFETY: so does the slot that it describes.
            let first = unsafe { *vector.iov_base.cast::<u8>() };
            assert_eq!((first, vector.iov_len, header.msg_hdr.msg_iovlen == 1), (number, 16, true));
        }
        assert_eq!(moved.frames().len(), 3);
        assert_eq!(Messages::empty(0).frames().len(), 0);
    }
}
