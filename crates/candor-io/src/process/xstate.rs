//! Hides processor state that user-mode Linux cannot hold.

use std::io;

use super::check;

/// Bytes of processor state that a user-mode Linux of the 6.1 series has room for.
const UML_ROOM_BYTES: u32 = 2696;

/// Whether a user-mode Linux can save the whole processor state of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedState {
    /// It fits.
    Fits,
    /// It is larger (AMX tiles alone have 8 KiB): the host refuses a partial write with `EFAULT`, and the guest's
    /// first process dies. [`hide_extended_state`] is the way out.
    TooLarge,
}

/// Looks at the size of the state that the host's kernel has switched on.
#[must_use]
pub fn extended_state() -> ExtendedState {
    if enabled_bytes() > UML_ROOM_BYTES { ExtendedState::TooLarge } else { ExtendedState::Fits }
}

#[cfg(target_arch = "x86_64")]
#[expect(unused_unsafe, reason = "newer compilers know that CPUID is safe here, the oldest supported one does not")]
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

/// Makes the calling thread and all that it starts believe that the host's `ptrace()` cannot read the extended
/// processor state, by a seccomp filter that answers `ENODEV` to `PTRACE_GETREGSET` of `NT_X86_XSTATE`.
///
/// User-mode Linux asks once at its start and then saves x87 and SSE registers only. It cannot be undone.
///
/// # Kernel
/// `CONFIG_SECCOMP_FILTER`, no privilege (`PR_SET_NO_NEW_PRIVS` is set).
///
/// # Errors
/// `EINVAL` without seccomp filters.
pub fn hide_extended_state() -> io::Result<()> {
    const PTRACE_GETREGSET: u32 = 0x4204;
    const NT_X86_XSTATE: u32 = 0x202;
    /// Where `struct seccomp_data` has the number of the system call and the low halves of its arguments.
    const NUMBER_AT: u32 = 0;
    const REQUEST_AT: u32 = 16;
    const NOTE_AT: u32 = 32;

    let load = |at| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, at);
    let unless = |value, skip| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, value);
    let answer = |value| instruction(libc::BPF_RET | libc::BPF_K, 0, value);
    let mut program = [
        load(NUMBER_AT),
        unless(PTRACE, 5),
        load(REQUEST_AT),
        unless(PTRACE_GETREGSET, 3),
        load(NOTE_AT),
        unless(NT_X86_XSTATE, 1),
        answer(libc::SECCOMP_RET_ERRNO | libc::ENODEV.cast_unsigned()),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: 8, filter: program.as_mut_ptr() };
    // SAFETY: `PR_SET_NO_NEW_PRIVS` takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `filter` names the 8 instructions of `program`; both outlive the call, which copies them.
    check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) }).map(drop)
}

#[expect(clippy::cast_possible_truncation, reason = "`SYS_ptrace` is a small number")]
const PTRACE: u32 = libc::SYS_ptrace as u32;

/// One classic BPF instruction; `skip` instructions are left out when a comparison fails.
#[expect(clippy::cast_possible_truncation, reason = "BPF codes have 8 bits")]
const fn instruction(code: u32, skip: u8, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: skip, k: value }
}
