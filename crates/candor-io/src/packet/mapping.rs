//! The memory of a ring.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::layout::SLOT_BYTES;
use crate::socket;

/// The slots of one ring of one socket, mapped until the value is gone.
///
/// The kernel writes into them at any time, except into those whose status says that they are ours. So nothing here makes
/// a reference to more than a status, and the rest of a slot is read and written while it is ours only.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    slots: usize,
}

// SAFETY: the pointer is to memory that belongs to this value alone (the mapping is made and ended by it); nothing in it
// depends on the thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Makes the ring that the request describes and maps it.
    pub(super) fn new(fd: &OwnedFd, option: libc::c_int, request: &libc::tpacket_req) -> io::Result<Self> {
        socket::set_slice(fd, libc::SOL_PACKET, option, &[*request])?;
        let slots = request.tp_frame_nr as usize;
        let len = slots * SLOT_BYTES;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing of ours; the descriptor is open.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap() gave no memory"))?;
        Ok(Self { start, slots })
    }

    pub(super) const fn slots(&self) -> usize {
        self.slots
    }

    /// The slot behind this one; behind the last comes the first.
    pub(super) const fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots { 0 } else { slot + 1 }
    }

    /// Who has the slot.
    pub(super) fn status(&self, slot: usize) -> u32 {
        // Acquire: what the kernel wrote before it gave the slot away is seen by what follows.
        self.status_of(slot).load(Ordering::Acquire)
    }

    pub(super) fn set_status(&self, slot: usize, status: u32) {
        // Release: what was read or written before is done when the kernel sees the slot as its own.
        self.status_of(slot).store(status, Ordering::Release);
    }

    fn status_of(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: the status is the first field of the header, so it has the slot's address, which is a multiple of 256
        // and hence aligned; it lives as long as the mapping, which `self` borrows. Kernel and this process use it as an
        // atomic number only.
        unsafe { AtomicU32::from_ptr(self.header(slot).cast()) }
    }

    /// The header of a slot.
    pub(super) fn header(&self, slot: usize) -> *mut libc::tpacket2_hdr {
        self.at(slot, 0).cast()
    }

    /// A place in a slot.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn at(&self, slot: usize, offset: usize) -> *mut u8 {
        assert!(slot < self.slots && offset < SLOT_BYTES, "slot and offset are inside the ring");
        // SAFETY: the sum is less than `slots * SLOT_BYTES`, the length of the mapping, by the assertion above.
        unsafe { self.start.as_ptr().add(slot * SLOT_BYTES + offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this start and length, is unmapped nowhere else, and nothing that
        // points into it outlives `self`.
        let _cannot_fail = unsafe { libc::munmap(self.start.as_ptr().cast(), self.slots * SLOT_BYTES) };
    }
}
