//! The debug port of emulated PCs: output without interrupts or waiting.

use std::io;
use std::marker::PhantomData;

use crate::process::check;

/// Port of `isa-debugcon`.
const PORT: u16 = 0xE9;

/// The debug port, usable by the calling thread.
///
/// The kernel keeps the permission per thread, so other threads do not pay for it.
#[derive(Debug)]
pub struct DebugPort {
    /// The permission is per thread.
    not_send: PhantomData<*const ()>,
}

impl DebugPort {
    /// Requests access to the port.
    ///
    /// # Kernel
    /// `CONFIG_X86_IOPL_IOPERM`, CAP_SYS_RAWIO.
    ///
    /// # Errors
    /// `EPERM` without the capability, `ENOSYS` without the option, `Unsupported` on other processors.
    pub fn open() -> io::Result<Self> {
        let port = libc::c_ulong::from(PORT);
        if !cfg!(target_arch = "x86_64") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the call takes numbers only; what may be done with port 0xE9 is decided by `write_byte`.
        check(unsafe { ioperm(port, 1, 1) })?;
        Ok(Self { not_send: PhantomData })
    }

    fn write_byte(&mut self, byte: u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the kernel granted port 0xE9 to this thread (`open`; the type is neither Send nor Sync), so the
        // instruction does not fault; it reads two registers and touches no memory, stack or flags.
        unsafe {
            std::arch::asm!("out dx, al", in("dx") PORT, in("al") byte, options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = byte;
    }
}

impl io::Write for DebugPort {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        buffer.iter().for_each(|&byte| self.write_byte(byte));
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
use libc::ioperm;

#[cfg(not(target_arch = "x86_64"))]
unsafe fn ioperm(_from: libc::c_ulong, _count: libc::c_ulong, _on: libc::c_int) -> libc::c_int {
    -1
}
