//! A port of emulated machines for output without interrupts or waiting.

use std::io;
use std::marker::PhantomData;

#[cfg(target_arch = "aarch64")]
use board::Port;
#[cfg(target_arch = "x86_64")]
use pc::Port;

/// The debug port, usable by the calling thread.
///
/// On a PC the kernel keeps the permission per thread, so other threads do not pay for it.
#[derive(Debug)]
pub struct DebugPort {
    port: Port,
    /// The permission is per thread.
    not_send: PhantomData<*const ()>,
}

impl DebugPort {
    /// Requests access to the port: 0xE9 of a PC (`isa-debugcon`), or the serial port of the board `virt`.
    ///
    /// # Kernel
    /// PC: `CONFIG_X86_IOPL_IOPERM`, CAP_SYS_RAWIO. `virt`: `CONFIG_DEVMEM`, `iomem=relaxed`, CAP_SYS_RAWIO.
    ///
    /// # Errors
    /// `EPERM` without the capability or the parameter, `ENOSYS` or `ENOENT` without the option, `Unsupported` on other
    /// processors.
    pub fn open() -> io::Result<Self> {
        Ok(Self { port: Port::open()?, not_send: PhantomData })
    }
}

impl io::Write for DebugPort {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        buffer.iter().for_each(|&byte| self.port.write_byte(byte));
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
mod pc {
    use std::io;

    use crate::process::check;

    /// Port of `isa-debugcon`.
    const PORT: u16 = 0xE9;

    #[derive(Debug)]
    pub(super) struct Port;

    impl Port {
        pub(super) fn open() -> io::Result<Self> {
            // SAFETY: the call takes numbers only; what may be done with port 0xE9 is decided by `write_byte`.
            check(unsafe { libc::ioperm(libc::c_ulong::from(PORT), 1, 1) })?;
            Ok(Self)
        }

        pub(super) fn write_byte(&mut self, byte: u8) {
            // SAFETY: the kernel granted port 0xE9 to this thread (`open`; `DebugPort` is neither Send nor Sync), so the
            // instruction does not fault; it reads two registers and touches no memory, stack or flags.
            unsafe {
                std::arch::asm!("out dx, al", in("dx") PORT, in("al") byte, options(nomem, nostack, preserves_flags));
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod board {
    use std::io;

    use crate::guest::Registers;

    /// Registers of the PL011 of the board `virt`, whose first one takes a byte to send. QEMU writes it to its file at once.
    const REGISTERS: u32 = 0x0900_0000;

    #[derive(Debug)]
    pub(super) struct Port {
        registers: Registers,
    }

    impl Port {
        pub(super) fn open() -> io::Result<Self> {
            Registers::map(REGISTERS).map(|registers| Self { registers })
        }

        pub(super) fn write_byte(&mut self, byte: u8) {
            self.registers.write(0, byte.into());
        }
    }
}

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
#[derive(Debug)]
enum Port {}

#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
impl Port {
    fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_byte(&mut self, _byte: u8) {
        match *self {}
    }
}
