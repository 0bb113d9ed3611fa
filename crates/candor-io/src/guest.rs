//! For init of a guest: mounts, kernel modules, power-off, the debug port, terminals.

mod debug_port;
mod registers;
mod terminal;

pub use debug_port::DebugPort;
pub use registers::Registers;
pub use terminal::{RawMode, WindowSize, set_window_size, window_size};

use std::ffi::CString;
use std::io;

use crate::process::check;

/// Mounts a pseudo file system such as proc.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `ENODEV` if the kernel does not know the type, `ENOENT` without the folder.
pub fn mount(kind: &str, target: &str) -> io::Result<()> {
    let kind = CString::new(kind)?;
    let target = CString::new(target)?;
    // SAFETY: source, target and type are NUL-terminated and outlive the call; data may be null.
    check(unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) }).map(drop)
}

/// Loads a kernel module from its bytes, with parameters separated by spaces, such as `max_hops=2`. A loaded module
/// stays as it is.
///
/// # Errors
/// `ENOENT` for unknown symbols (a module it depends on is missing), `ENOEXEC` for another kernel's module, `EINVAL` for a value
/// that a parameter does not take. Unknown parameters are ignored.
pub fn load_module(module: &[u8], parameters: &str) -> io::Result<()> {
    let parameters = CString::new(parameters)?;
    // SAFETY: the kernel reads `module.len()` bytes from the live slice, and the live parameter string up to its NUL.
    let result = unsafe { libc::syscall(libc::SYS_init_module, module.as_ptr(), module.len(), parameters.as_ptr()) };
    match io::Error::last_os_error() {
        _ if result == 0 => Ok(()),
        error if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        error => Err(error),
    }
}

/// Powers off, without syncing file systems.
///
/// # Errors
/// `EPERM` without CAP_SYS_BOOT.
pub fn power_off() -> io::Result<()> {
    // SAFETY: the call takes one number.
    check(unsafe { libc::reboot(libc::LINUX_REBOOT_CMD_POWER_OFF) }).map(drop)
}

/// Kills all other processes. The caller must be process 1 of its machine or PID namespace.
///
/// # Errors
/// `EPERM` if the caller is not process 1; then nothing is killed.
pub fn kill_all_others() -> io::Result<()> {
    if std::process::id() != 1 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // SAFETY: the call takes two numbers; it reaches only this machine's processes, all of which are this init's.
    match check(unsafe { libc::kill(-1, libc::SIGKILL) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        result => result.map(drop),
    }
}
