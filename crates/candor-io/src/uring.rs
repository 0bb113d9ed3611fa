//! io_uring on CAN_RAW sockets.
//!
//! # Kernel
//! Linux 6.0 (multishot receive, synchronous cancellation). Available to all users unless `kernel.io_uring_disabled`
//! (6.6) or a sandbox forbids it.

mod buffers;
mod receive;
mod send;

pub use receive::UringReceiver;
pub use send::UringSender;

use std::io;

use io_uring::IoUring;

/// Reason why io_uring is not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Obstacle {
    Missing,
    /// The kernel is older than 6.0.
    TooOld,
    /// Disabled by `kernel.io_uring_disabled` or a sandbox.
    Privilege,
}

/// Tests a multishot receive; `None` if it works.
///
/// # Errors
/// Other errnos.
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

/// Creates rings with the cheapest setup that the kernel supports, for a single issuer.
fn build(entries: u32) -> io::Result<IoUring> {
    let cheapest = IoUring::builder().setup_single_issuer().setup_defer_taskrun().setup_r_disabled().build(entries);
    match cheapest {
        // Linux 6.0.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().setup_single_issuer().setup_r_disabled().build(entries)
        }
        built => built,
    }
}
