//! Size of the extended processor state.

/// Room for processor state in user-mode Linux 6.1.
const UML_ROOM_BYTES: u32 = 2696;

/// Comparison of this machine's processor state with the room in user-mode Linux 6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedState {
    Fits,
    /// Too large (AMX tiles alone have 8 KiB): the host refuses a partial write with `EFAULT`, and init of the guest
    /// dies.
    TooLarge,
}

/// Compares the size of the state that the host kernel has enabled.
#[must_use]
pub fn extended_state() -> ExtendedState {
    if enabled_bytes() > UML_ROOM_BYTES { ExtendedState::TooLarge } else { ExtendedState::Fits }
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "newer compilers know that CPUID is safe here, the oldest supported one does not")]
fn enabled_bytes() -> u32 {
    use std::arch::x86_64::__cpuid_count;

    const STATE_LEAF: u32 = 0x0D;
    // SAFETY: every x86-64 processor has CPUID.
    let highest = unsafe { __cpuid_count(0, 0) }.eax;
    if highest < STATE_LEAF {
        return 0;
    }
    // SAFETY: as above; the leaf exists.
    unsafe { __cpuid_count(STATE_LEAF, 0) }.ebx
}

#[cfg(not(target_arch = "x86_64"))]
fn enabled_bytes() -> u32 {
    0
}
