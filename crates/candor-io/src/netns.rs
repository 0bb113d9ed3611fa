//! Network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::process::check;
use crate::socket;

/// `SO_NETNS_COOKIE`, missing from libc for some targets.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// Moves the process into the network namespace of an open file, such as `/run/netns/NAME` or `/proc/PID/ns/net`. Open
/// sockets stay in the old one.
///
/// # Kernel
/// Needs CAP_SYS_ADMIN in the user namespaces of both the process and the network namespace.
///
/// # Errors
/// [`io::ErrorKind::ResourceBusy`] if the process has more than one thread, since `setns()` moves only the calling one.
/// Otherwise errnos of `setns()`: `EINVAL` if the file is not a network namespace, `EPERM`.
pub fn enter(namespace: &File) -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    // SAFETY: setns() takes two numbers and touches no memory of ours; the descriptor is borrowed, hence open. That no
    // other thread exists, so that all of this process sees the same namespace, was looked at above, and only this
    // thread could have made another one since.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// A unique id of the network namespace until reboot, unlike its inode number, which is reused. `None` if the kernel
/// has none.
///
/// # Kernel
/// `SO_NETNS_COOKIE`, Linux 5.14.
///
/// # Errors
/// Those of `socket()` and `getsockopt()`.
pub fn cookie() -> io::Result<Option<u64>> {
    let fd = socket::open(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    let mut cookie = 0_u64;
    let mut len = socket::socklen::<u64>();
    // SAFETY: `cookie` and `len` are live and writable for the call, `len` holds the size of `cookie`, and every bit
    // pattern is a valid u64; the descriptor is open.
    let status = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, SO_NETNS_COOKIE, (&raw mut cookie).cast(), &raw mut len)
    };
    match check(status) {
        Ok(_) => Ok(Some(cookie)),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_one_cookie() {
        assert_eq!(cookie().unwrap(), cookie().unwrap());
    }

    #[test]
    fn threads_would_be_left_behind() {
        // The test harness has another thread.
        let here = File::open("/proc/self/ns/net").unwrap();
        assert_eq!(enter(&here).unwrap_err().kind(), io::ErrorKind::ResourceBusy);
    }
}
