//! Provided buffers for received frames.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use candor_core::frame::CANFD_MTU;
use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// A power of two.
const BUFFERS: u16 = 256;
const STRIDE: usize = CANFD_MTU.next_multiple_of(16);
/// The list of free buffers comes first.
const LIST_BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();
const BYTES: usize = LIST_BYTES + BUFFERS as usize * STRIDE;

/// Buffers and the ring of free ones (`IORING_REGISTER_PBUF_RING`).
#[derive(Debug)]
pub(super) struct Buffers {
    start: NonNull<u8>,
    /// Total of buffers returned; wraps.
    tail: u16,
}

// SAFETY: the memory belongs to this value alone; nothing in it depends on the thread.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Buffer group id.
    pub(super) const GROUP: u16 = 0;

    pub(super) fn new() -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap() gave no memory"))?;
        let mut buffers = Self { start, tail: 0 };
        (0..BUFFERS).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// Registers them. They must outlive all requests that use them.
    pub(super) fn register(&self, ring: &IoUring) -> io::Result<()> {
        let list = self.start.as_ptr().expose_provenance() as u64;
        // SAFETY: the list is page-aligned, has BUFFERS entries, and lives as long as `self`; who registers sees to it that
        // all requests have ended before that (the caller's duty above).
        unsafe { ring.submitter().register_buf_ring_with_flags(list, BUFFERS, Self::GROUP, 0) }
    }

    /// The received bytes in a buffer.
    pub(super) fn bytes(&self, buffer: u16, len: usize) -> &[u8] {
        let len = len.min(CANFD_MTU);
        // SAFETY: start and length are inside the mapping (`at`). The kernel writes into a buffer only while it is in the
        // list, and this one is put back by `give_back`, which borrows `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.at(buffer), len) }
    }

    /// Returns a buffer to the kernel.
    pub(super) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail % BUFFERS) * size_of::<BufRingEntry>();
        let address = self.at(buffer).expose_provenance() as u64;
        // SAFETY: the place is one of the BUFFERS entries at the start of the mapping.
        let entry = unsafe { self.start.as_ptr().add(place) }.cast::<BufRingEntry>();
        // SAFETY: the entry is aligned to 16. The kernel reads it only after the tail below has passed it, and has read what
        // was in it before it gave away the buffer.
        let entry = unsafe { &mut *entry };
        entry.set_addr(address);
        entry.set_len(u32::try_from(CANFD_MTU).unwrap_or_default());
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the mapping begins with the first entry of the list; only the address of its last field is made.
        let tail = unsafe { BufRingEntry::tail(self.start.as_ptr().cast()) }.cast_mut();
        // SAFETY: the tail is inside the mapping and aligned to 2; kernel and this process use it as an atomic number only.
        let tail = unsafe { AtomicU16::from_ptr(tail) };
        tail.store(self.tail, Ordering::Release);
    }

    fn at(&self, buffer: u16) -> *mut u8 {
        // SAFETY: the sum is inside the mapping for each of the BUFFERS buffers.
        unsafe { self.start.as_ptr().add(LIST_BYTES + usize::from(buffer % BUFFERS) * STRIDE) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, is unmapped nowhere else, and the kernel has no request
        // that uses it any more (`register`).
        let _cannot_fail = unsafe { libc::munmap(self.start.as_ptr().cast(), BYTES) };
    }
}
