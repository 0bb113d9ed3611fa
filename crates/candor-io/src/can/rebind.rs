//! Rebinding after an interface has disappeared.

use std::io;
use std::os::fd::AsRawFd;

use super::{CanSocket, InterfaceIndex};
use crate::socket;

impl CanSocket {
    /// The bound interface; `None` after it was removed. Such a socket receives nothing any more, even if an interface
    /// of the same name or index appears.
    pub fn interface(&self) -> io::Result<Option<InterfaceIndex>> {
        // SAFETY: sockaddr_can consists of integers and a union of structs of integers, for which all-zero bytes are
        // valid.
        let mut address: libc::sockaddr_can = unsafe { std::mem::zeroed() };
        let mut len = socket::socklen::<libc::sockaddr_can>();
        let place = (&raw mut address).cast();
        // SAFETY: the kernel writes at most `len` bytes, the size of the live address, and their number into the live
        // `len`; any bytes are valid integers. The descriptor is open as long as `self` is borrowed.
        socket::check(unsafe { libc::getsockname(self.fd.as_raw_fd(), place, &raw mut len) })?;
        Ok(InterfaceIndex::new(address.can_ifindex.cast_unsigned()))
    }

    /// Replaces this socket by another one for all threads. Frames waiting in this one are lost.
    ///
    /// A thread blocked in a call on the old socket stays there until a signal interrupts it
    /// ([`crate::signal::WakeUp`]); later calls use the new socket.
    pub fn replace_with(&self, other: Self) -> io::Result<()> {
        // SAFETY: both descriptors are open and owned. The call puts the new socket under the number of `self` in one
        // step, so the number is open and owned by `self` all the time; the kernel keeps the old socket for threads
        // that are in a call on it. No memory is touched.
        socket::check(unsafe { libc::dup3(other.fd.as_raw_fd(), self.fd.as_raw_fd(), libc::O_CLOEXEC) })?;
        drop(other);
        Ok(())
    }
}
