//! io_uring on CAN_RAW sockets.
//!
//! # Kernel
//! 6.0 (multishot receive, synchronous cancelling). Allowed to everybody unless `kernel.io_uring_disabled` says otherwise
//! (6.6) or a sandbox forbids it.

mod buffers;
mod receive;
mod send;

pub use receive::UringReceiver;
pub use send::UringSender;

use std::io;

use io_uring::IoUring;

/// Why this process can have no io_uring that does what is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// The kernel has none: it was built without.
    Missing,
    /// The kernel is older than 6.0.
    TooOld,
    /// It is forbidden, by `kernel.io_uring_disabled` or by a sandbox.
    Privilege,
}

/// Sets up what is needed and says what speaks against it; `None` if nothing does.
///
/// # Errors
/// Whatever the kernel reports that is no such answer.
pub fn obstacle() -> io::Result<Option<Obstacle>> {
    match receive::try_out() {
        Ok(()) => Ok(None),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOSYS) => Ok(Some(Obstacle::Missing)),
            Some(libc::EINVAL) => Ok(Some(Obstacle::TooOld)),
            Some(libc::EPERM | libc::EACCES) => Ok(Some(Obstacle::Privilege)),
            _ => Err(error),
        },
    }
}

/// Rings with the cheapest set-up that the kernel knows, for the one thread that first waits on them.
fn build(entries: u32) -> io::Result<IoUring> {
    let cheapest = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_r_disabled().build(entries);
    match cheapest {
        // Before 6.1.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().setup_single_issuer().setup_r_disabled().build(entries)
        }
        built => built,
    }
}
