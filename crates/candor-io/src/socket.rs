//! Helpers for socket and signal system calls.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use libc::{c_int, socklen_t};

/// Converts -1 to the last error.
pub(crate) fn check(returned: c_int) -> io::Result<c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// Converts -1 to the last error.
pub(crate) fn check_len(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_negative| io::Error::last_os_error())
}

#[expect(clippy::cast_possible_truncation, reason = "the structs of the socket API have a few hundred bytes at most")]
pub(crate) const fn socklen<T>() -> socklen_t {
    size_of::<T>() as socklen_t
}

/// Saturates at 68 years.
pub(crate) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or_else(|_beyond| i32::MAX.into()),
        tv_nsec: duration.subsec_nanos().cast_signed().into(),
    }
}

/// `socket()` with `SOCK_CLOEXEC`.
pub(crate) fn open(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: socket() takes three integers and touches no memory of ours.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) })?;
    // SAFETY: the descriptor was made by the call above and nothing else has seen it, so it is open and owned here.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of type int.
pub(crate) fn set_int(fd: &OwnedFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    set_slice(fd, level, name, &[value])
}

/// Sets an option that is an array.
pub(crate) fn set_slice<T: Plain>(fd: &OwnedFd, level: c_int, name: c_int, values: &[T]) -> io::Result<()> {
    let len = socklen_t::try_from(size_of_val(values)).map_err(io::Error::other)?;
    // SAFETY: pointer and length describe the borrowed slice, which outlives the call; the kernel only reads it, and
    // `Plain` promises that every byte of it is initialised. The descriptor is open as long as it is borrowed.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, values.as_ptr().cast(), len) })?;
    Ok(())
}

/// Reads an option of type int.
pub(crate) fn get_int(fd: &OwnedFd, level: c_int, name: c_int) -> io::Result<c_int> {
    get_array::<1>(fd, level, name).map(|[value]| value.cast_signed())
}

/// Reads an option that is an array of 32-bit numbers; missing ones are 0.
pub(crate) fn get_array<const N: usize>(fd: &OwnedFd, level: c_int, name: c_int) -> io::Result<[u32; N]> {
    let mut values = [0_u32; N];
    let mut len = socklen::<[u32; N]>();
    let place = values.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `len` bytes, the size of the live array, and their number into the live `len`; any
    // bytes are valid u32. The descriptor is open as long as it is borrowed.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, place, &raw mut len) })?;
    Ok(values)
}

/// Types without padding, whose bytes are all initialised.
pub(crate) trait Plain: Copy {}

impl Plain for c_int {}
impl Plain for u32 {}
impl Plain for libc::can_filter {}
impl Plain for libc::timeval {}
impl Plain for libc::tpacket_req {}

/// `bind()` or `connect()` with a socket address struct.
pub(crate) fn with_address<A>(
    fd: &OwnedFd,
    call: unsafe extern "C" fn(c_int, *const libc::sockaddr, socklen_t) -> c_int,
    address: &A,
) -> io::Result<()> {
    // SAFETY: `call` is libc's bind or connect; both only read `size_of::<A>()` bytes at the address, which the
    // borrow keeps alive, and the descriptor is open as long as it is borrowed.
    check(unsafe { call(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), socklen::<A>()) })?;
    Ok(())
}
