//! cgroup v2 ids.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::socket;

/// Size of a kernfs file handle.
const ID_BYTES: u32 = 8;

/// `struct file_handle` of this size.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    id: [u8; ID_BYTES as usize],
}

/// The id of the cgroup of this directory, as BPF programs see it; unique until reboot.
///
/// # Kernel
/// `CONFIG_FHANDLE`. Equals the inode number on 64-bit machines since Linux 5.5.
///
/// # Errors
/// `ENOENT` if it does not exist, `EOPNOTSUPP` or `EOVERFLOW` for a directory of another file system.
///
/// # Source
/// [`kernfs_encode_fh()`](https://github.com/gregkh/linux/blob/v6.1.192/fs/kernfs/mount.c#L57),
/// [`cgroup_id()`](https://github.com/gregkh/linux/blob/v6.1.192/include/linux/cgroup.h#L313).
pub fn id(directory: &Path) -> io::Result<u64> {
    let path = CString::new(directory.as_os_str().as_bytes())?;
    let mut handle = Handle { bytes: ID_BYTES, kind: 0, id: [0; ID_BYTES as usize] };
    let mut mount: libc::c_int = 0;
    let (here, flags) = (libc::AT_FDCWD, 0);
    // SAFETY: the path is a live C string that is only read. The kernel writes into the live handle, whose first field says
    // how many bytes there are behind its head, and into the live int; any bytes are valid in both.
    let returned = unsafe {
        libc::syscall(libc::SYS_name_to_handle_at, here, path.as_ptr(), &raw mut handle, &raw mut mount, flags)
    };
    socket::check(i32::try_from(returned).unwrap_or(-1))?;
    if handle.bytes != ID_BYTES {
        let message = format!("{} is not a cgroup of version 2", directory.display());
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(u64::from_ne_bytes(handle.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_has_no_number() {
        let error = id(Path::new("/sys/fs/cgroup/no such group")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
