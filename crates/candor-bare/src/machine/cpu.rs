//! Instructions and registers of the processor.

use core::arch::asm;
use core::ptr;

core::arch::global_asm!(include_str!("start.s"), options(att_syntax));

/// A range of I/O ports that belongs to this program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    base: u16,
}

impl Ports {
    /// # Safety
    /// The ports must belong to a device that does not access memory, or only memory that nothing else uses.
    pub(super) const unsafe fn new(base: u16) -> Self {
        Self { base }
    }

    #[inline]
    pub(super) fn read(self, offset: u16) -> u8 {
        let value: u8;
        // SAFETY: `new` demands a device that cannot change memory; the instruction changes nothing but AL.
        unsafe {
            asm!("in al, dx", in("dx") self.base.wrapping_add(offset), out("al") value, options(nomem, nostack, preserves_flags))
        };
        value
    }

    #[inline]
    pub(super) fn write(self, offset: u16, value: u8) {
        // SAFETY: as in `read`.
        unsafe {
            asm!("out dx, al", in("dx") self.base.wrapping_add(offset), in("al") value, options(nomem, nostack, preserves_flags))
        };
    }

    #[inline]
    pub(super) fn write_16(self, offset: u16, value: u16) {
        // SAFETY: as in `read`.
        unsafe {
            asm!("out dx, ax", in("dx") self.base.wrapping_add(offset), in("ax") value, options(nomem, nostack, preserves_flags))
        };
    }

    #[inline]
    pub(super) fn read_32(self, offset: u16) -> u32 {
        let value: u32;
        // SAFETY: as in `read`.
        unsafe {
            asm!("in eax, dx", in("dx") self.base.wrapping_add(offset), out("eax") value, options(nomem, nostack, preserves_flags))
        };
        value
    }

    #[inline]
    pub(super) fn write_32(self, offset: u16, value: u32) {
        // SAFETY: as in `read`.
        unsafe {
            asm!("out dx, eax", in("dx") self.base.wrapping_add(offset), in("eax") value, options(nomem, nostack, preserves_flags))
        };
    }
}

/// Registers in memory: a local or I/O interrupt controller, or memory that another processor reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    address: u64,
    bytes: u64,
}

impl Area {
    /// # Safety
    /// The area must be below 4 GiB, aligned to 8 bytes, and outside all memory that Rust knows: no object is in it.
    pub(super) const unsafe fn new(address: u64, bytes: u64) -> Self {
        Self { address, bytes }
    }

    fn place<T>(self, offset: u64) -> *mut T {
        let end = offset + size_of::<T>() as u64;
        assert!(end <= self.bytes && offset.is_multiple_of(align_of::<T>() as u64), "outside of an area");
        ptr::with_exposed_provenance_mut(usize::try_from(self.address + offset).unwrap_or(0))
    }

    #[inline]
    pub(super) fn read_32(self, offset: u64) -> u32 {
        let place = self.place(offset);
        // SAFETY: in the area, aligned (`place`), mapped (`new`: below 4 GiB), and no object.
        unsafe { ptr::read_volatile(place) }
    }

    #[inline]
    pub(super) fn write_32(self, offset: u64, value: u32) {
        let place = self.place(offset);
        // SAFETY: as in `read_32`.
        unsafe { ptr::write_volatile(place, value) };
    }

    #[inline]
    pub(super) fn read_64(self, offset: u64) -> u64 {
        let place = self.place(offset);
        // SAFETY: as in `read_32`.
        unsafe { ptr::read_volatile(place) }
    }

    #[inline]
    pub(super) fn write_64(self, offset: u64, value: u64) {
        let place = self.place(offset);
        // SAFETY: as in `read_32`.
        unsafe { ptr::write_volatile(place, value) };
    }

    pub(super) fn read_8(self, offset: u64) -> u8 {
        let place = self.place(offset);
        // SAFETY: as in `read_32`.
        unsafe { ptr::read_volatile(place) }
    }

    pub(super) fn write_8(self, offset: u64, value: u8) {
        let place = self.place(offset);
        // SAFETY: as in `read_32`.
        unsafe { ptr::write_volatile(place, value) };
    }
}

/// The counter of the processor. In a guest that counts instructions: the virtual time in nanoseconds.
#[inline]
pub(super) fn ticks() -> u64 {
    // SAFETY: reads a counter; all processors of 64 bits have it.
    unsafe { core::arch::x86_64::_rdtsc() }
}
