//! Registers of devices that the kernel does not use.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::ptr::{self, NonNull};

const PAGE_BYTES: usize = 4096;

/// A page of registers of 32 bits in the memory of the machine. It stays mapped as long as the process lives.
#[derive(Debug)]
pub struct Registers {
    page: NonNull<u32>,
}

impl Registers {
    /// Maps the page at a physical address, a multiple of 4096.
    ///
    /// # Kernel
    /// `CONFIG_DEVMEM`, `iomem=relaxed` if a driver has claimed them, CAP_SYS_RAWIO.
    ///
    /// # Errors
    /// `EPERM` without the capability or the parameter, `ENOENT` without the option, `EINVAL` for other addresses.
    pub fn map(address: u32) -> io::Result<Self> {
        let memory = File::options().read(true).write(true).custom_flags(libc::O_SYNC).open("/dev/mem")?;
        let (access, kind, file) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, memory.as_raw_fd());
        // SAFETY: a new mapping of device registers, at an address that the kernel chooses; nothing else is changed.
        let mapped =
            unsafe { libc::mmap64(ptr::null_mut(), PAGE_BYTES, access, kind, file, libc::off64_t::from(address)) };
        match NonNull::new(mapped.cast()) {
            Some(page) if mapped != libc::MAP_FAILED => Ok(Self { page }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Writes the register with this number, which is its offset in bytes divided by 4.
    ///
    /// # Panics
    /// Behind the end of the page.
    pub fn write(&mut self, number: usize, value: u32) {
        assert!(number < PAGE_BYTES / size_of::<u32>(), "a register of the page");
        // SAFETY: within the page (asserted), which is writable and never unmapped (`map`).
        let register = unsafe { self.page.add(number) };
        // SAFETY: aligned, as the page is; no reference to it exists.
        unsafe { register.write_volatile(value) };
    }
}
