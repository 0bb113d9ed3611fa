//! Memory that is allocated while the program starts, and never given back.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 8 << 20;

#[repr(C, align(4096))]
struct Heap {
    memory: UnsafeCell<[u8; BYTES]>,
    used: AtomicUsize,
}

// SAFETY: every byte of `memory` is given out once, by an atomic counter.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap { memory: UnsafeCell::new([0; BYTES]), used: AtomicUsize::new(0) };

// SAFETY: `alloc` returns memory within the heap, aligned, of the wanted size, that it has not returned before.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let place = |used: usize| used.checked_next_multiple_of(layout.align());
        let end = |used: usize| place(used)?.checked_add(layout.size()).filter(|end| *end <= BYTES);
        // An alignment above that of the heap itself would need addresses.
        if layout.align() > 4096 {
            return ptr::null_mut();
        }
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end) {
            Ok(used) => self.memory.get().cast::<u8>().wrapping_add(place(used).unwrap_or(BYTES)),
            Err(_full) => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _place: *mut u8, _layout: Layout) {}
}
