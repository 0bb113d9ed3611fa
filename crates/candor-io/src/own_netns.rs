//! Temporary network namespaces.

use std::io;
use std::panic;
use std::thread;

use crate::socket;

/// Runs a function on a new thread in a new network namespace.
///
/// The namespace has a loopback interface that is down. It ends with the thread and the last socket opened in it. The
/// rest of the process is not affected.
///
/// # Kernel
/// Needs CAP_SYS_ADMIN.
///
/// # Errors
/// `EPERM` without the capability, `EINVAL` if the kernel has no network namespaces, or the error of starting a thread.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let alone = || {
        // SAFETY: unshare() takes one number and touches no memory of ours. With CLONE_NEWNET it moves the calling
        // thread only, which was started for this and ends below, so no other code runs in the new namespace.
        socket::check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        Ok(work())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("own-netns".into()).spawn_scoped(scope, alone)?;
        thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::lock::inode;

    #[test]
    fn the_rest_of_the_process_stays_where_it_is() {
        let namespace = || inode(Path::new("/proc/thread-self/ns/net")).unwrap();
        let before = namespace();
        match run(namespace) {
            Ok(inside) => assert_ne!(inside, before),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(namespace(), before);
    }
}
