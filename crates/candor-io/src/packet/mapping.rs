//! Memory-mapped rings.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::SLOT_BYTES;
use crate::socket;

/// The slots of a ring, unmapped on drop.
///
/// The kernel writes into slots at any time, except into those whose status gives them to this process. So references
/// are made only to the status, and the rest of a slot is accessed only while it is ours.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    /// Index of the last slot. The number of slots is a power of two, so this is the index mask.
    last: usize,
}

// SAFETY: the pointer is to memory that belongs to this value alone (the mapping is made and ended by it); nothing in it
// depends on the thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Makes the ring that the request describes and maps it.
    pub(super) fn new(fd: &OwnedFd, option: libc::c_int, request: &libc::tpacket_req) -> io::Result<Self> {
        socket::set_slice(fd, libc::SOL_PACKET, option, &[*request])?;
        let slots = request.tp_frame_nr as usize;
        assert!(slots.is_power_of_two(), "a request is for a power of two");
        let len = slots * SLOT_BYTES;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing of ours; the descriptor is open.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap() gave no memory"))?;
        Ok(Self { start, last: slots - 1 })
    }

    pub(super) const fn slots(&self) -> usize {
        self.last + 1
    }

    /// Index of the next slot; wraps.
    pub(super) const fn after(&self, slot: usize) -> usize {
        (slot + 1) & self.last
    }

    /// Index of the previous slot; wraps.
    pub(super) const fn before(&self, slot: usize) -> usize {
        slot.wrapping_sub(1) & self.last
    }

    /// The slot of this index, modulo the number of slots.
    #[inline]
    pub(super) fn slot(&self, number: usize) -> Slot<'_> {
        let number = number & self.last;
        // SAFETY: the number is at most `last`, so the slot is inside the mapping, which has `(last + 1) * SLOT_BYTES` bytes.
        let start = unsafe { self.start.add(number * SLOT_BYTES) };
        Slot { start, mapping: PhantomData }
    }
}

/// One slot, located once for all accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    /// [`SLOT_BYTES`] bytes inside the mapping, aligned to as many because a mapping begins with a page.
    start: NonNull<u8>,
    mapping: PhantomData<&'a Mapping>,
}

impl<'a> Slot<'a> {
    /// Owner and state of the slot.
    #[inline]
    pub(super) fn status(self) -> u32 {
        // Acquire: what the kernel wrote before it gave the slot away is seen by what follows.
        self.status_number().load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn set_status(self, status: u32) {
        // Release: what was read or written before is done when the kernel sees the slot as its own.
        self.status_number().store(status, Ordering::Release);
    }

    #[inline]
    fn status_number(self) -> &'a AtomicU32 {
        // SAFETY: the status is the first field of the header, so it has the slot's address, which is a multiple of 256
        // and hence aligned; it lives as long as the mapping, which `'a` borrows. Kernel and this process use it as an
        // atomic number only.
        unsafe { AtomicU32::from_ptr(self.header().cast()) }
    }

    #[inline]
    pub(super) const fn header(self) -> *mut libc::tpacket2_hdr {
        self.start.as_ptr().cast()
    }

    /// Address of an offset in the slot.
    ///
    /// # Panics
    /// If the offset is outside the slot.
    #[inline]
    pub(super) fn at(self, offset: usize) -> *mut u8 {
        assert!(offset < SLOT_BYTES, "the offset is inside the slot");
        // SAFETY: the slot has SLOT_BYTES bytes, and the offset is less by the assertion above.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this start and length, is unmapped nowhere else, and nothing that
        // points into it outlives `self`.
        let _cannot_fail = unsafe { libc::munmap(self.start.as_ptr().cast(), self.slots() * SLOT_BYTES) };
    }
}
