//! Unloading of kernel modules.

use std::ffi::CString;
use std::io;

/// Unloads a module, by its name in `/proc/modules`.
///
/// # Kernel
/// Needs CAP_SYS_MODULE.
///
/// # Errors
/// `EWOULDBLOCK` if it is in use, `ENOENT` if it is not loaded, `EPERM` without the capability.
pub fn unload(name: &str) -> io::Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the name is a live C string that the kernel only reads; O_NONBLOCK is the flag for "not if in use".
    let returned = unsafe { libc::syscall(libc::SYS_delete_module, name.as_ptr(), libc::O_NONBLOCK) };
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
