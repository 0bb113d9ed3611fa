//! System call filter (`--seccomp`): allows what the threads of a gateway need until the end, including reloads and returning
//! interfaces, and denies executing programs, tracing, mounting and loading modules.
//!
//! Other calls fail with `EPERM` instead of killing the process: a C library may use a new call after an update. Allowed calls
//! are cached in a bitmap (Linux 5.11), so no filter program runs for a frame, but each call takes the slow kernel entry path;
//! `docs/running.md` gives the cost.
//!
//! seccomp does not see io_uring submissions and mapped rings.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// The filter was refused, or the architecture is not supported.
#[derive(Debug, thiserror::Error)]
#[error("cannot filter system calls ({0}); run without --seccomp")]
pub(super) struct SeccompError(String);

impl<E: Into<seccompiler::Error>> From<E> for SeccompError {
    fn from(error: E) -> Self {
        Self(error.into().to_string())
    }
}

/// Optional groups of system calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// TCP sockets, for metrics on a loopback address.
    pub(super) internet: bool,
    /// Namespaces, for the CRC8 trial.
    pub(super) namespaces: bool,
    /// Loading BPF programs and filling their maps, for routes and for classification by control group.
    pub(super) programs: bool,
    /// Creating BPF maps, too, for queues in the order of arbitration.
    pub(super) queues: bool,
}

/// Irrevocably restricts the calling thread and the threads that it starts. Needs `no_new_privs`.
pub(super) fn confine(needs: Needs) -> Result<(), SeccompError> {
    for filter in filters(needs)? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

fn filters(needs: Needs) -> Result<[BpfProgram; 2], SeccompError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let denied = SeccompAction::Errno(errno(libc::EPERM));
    let allowed = SeccompFilter::new(rules(needs)?, denied, SeccompAction::Allow, arch)?;
    // clone3() takes its flags in memory, which filters cannot read. C libraries fall back to clone() only for ENOSYS.
    let unknown = SeccompAction::Errno(errno(libc::ENOSYS));
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let without_clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, unknown, arch)?;
    Ok([BpfProgram::try_from(without_clone3)?, BpfProgram::try_from(allowed)?])
}

const fn errno(number: i32) -> u32 {
    number.unsigned_abs()
}

/// Rules by system call number; an empty list allows any arguments.
fn rules(needs: Needs) -> Result<BTreeMap<i64, Vec<SeccompRule>>, SeccompError> {
    let plain = CALLS.iter().chain(LEGACY_CALLS).chain(if needs.namespaces { NAMESPACE_CALLS } else { &[] });
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = candor_core::order::map(plain.map(|call| (*call, Vec::new())));
    // Threads, not processes.
    let is_thread = SeccompCmpOp::MaskedEq(flags(libc::CLONE_THREAD));
    rules.insert(libc::SYS_clone, vec![first_argument(is_thread, flags(libc::CLONE_THREAD))?]);
    let internet: &[i32] = if needs.internet { &[libc::AF_INET, libc::AF_INET6] } else { &[] };
    let families = [libc::AF_CAN, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_UNIX].iter().chain(internet);
    let families = families.map(|family| first_argument(SeccompCmpOp::Eq, flags(*family)));
    rules.insert(libc::SYS_socket, families.collect::<Result<_, _>>()?);
    if needs.programs {
        rules.insert(libc::SYS_name_to_handle_at, Vec::new());
    }
    if needs.programs || needs.queues {
        let commands = candor_io::bpf::COMMANDS.iter();
        let commands = commands.map(|command| first_argument(SeccompCmpOp::Eq, u64::from(*command)));
        rules.insert(libc::SYS_bpf, commands.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

fn first_argument(compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, SeccompError> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, compare, value)?])?)
}

fn flags(bits: i32) -> u64 {
    u64::from(bits.unsigned_abs())
}

/// The numbers of system calls by their names.
macro_rules! system_calls {
    ($($name:ident)*) => {
        &[$(libc::$name),*]
    };
}

/// System calls of the C library, the standard library and candor that exist on every architecture.
const CALLS: &[i64] = system_calls! {
    // Frames, netlink, metrics, the service manager.
    SYS_accept4 SYS_bind SYS_connect SYS_getpeername SYS_getsockname SYS_getsockopt SYS_io_uring_enter
    SYS_io_uring_register SYS_io_uring_setup SYS_listen SYS_read SYS_readv SYS_recvfrom SYS_recvmmsg SYS_recvmsg
    SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setsockopt SYS_shutdown SYS_socketpair SYS_write SYS_writev
    // Waiting, time, signals.
    SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait
    SYS_eventfd2 SYS_futex SYS_gettimeofday SYS_kill SYS_nanosleep SYS_ppoll SYS_pselect6 SYS_restart_syscall
    SYS_rt_sigaction SYS_rt_sigpending SYS_rt_sigprocmask SYS_rt_sigreturn SYS_rt_sigtimedwait SYS_sched_yield
    SYS_sigaltstack SYS_signalfd4 SYS_tgkill SYS_timerfd_create SYS_timerfd_gettime SYS_timerfd_settime SYS_tkill
    // The gateway file, the run directory, /proc and /sys.
    SYS_close SYS_dup SYS_dup3 SYS_faccessat SYS_faccessat2 SYS_fchmod SYS_fchmodat SYS_fcntl SYS_fdatasync SYS_flock
    SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate SYS_getcwd SYS_getdents64 SYS_ioctl SYS_linkat SYS_lseek SYS_mkdirat
    SYS_newfstatat SYS_openat SYS_pipe2 SYS_pread64 SYS_pwrite64 SYS_readlinkat SYS_renameat2 SYS_statfs SYS_statx
    SYS_umask SYS_unlinkat
    // Memory, threads, process attributes, [realtime].
    SYS_brk SYS_exit SYS_exit_group SYS_get_robust_list SYS_getegid SYS_geteuid SYS_getgid SYS_getpid SYS_getppid
    SYS_getrandom SYS_gettid SYS_getuid SYS_madvise SYS_membarrier SYS_mlock SYS_mlock2 SYS_mlockall SYS_mmap
    SYS_mprotect SYS_mremap SYS_munlock SYS_munlockall SYS_munmap SYS_prctl SYS_prlimit64 SYS_rseq
    SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_getaffinity SYS_sched_getparam
    SYS_sched_getscheduler SYS_sched_setaffinity SYS_sched_setscheduler SYS_set_robust_list SYS_set_tid_address
    SYS_sysinfo SYS_uname
    // Denied by the other filter.
    SYS_clone3
};

/// System calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const LEGACY_CALLS: &[i64] = system_calls! {
    SYS_access SYS_arch_prctl SYS_chmod SYS_epoll_wait SYS_getrlimit SYS_link SYS_lstat SYS_mkdir SYS_open SYS_poll
    SYS_readlink SYS_rename SYS_renameat SYS_rmdir SYS_stat SYS_time SYS_unlink
};
#[cfg(target_arch = "aarch64")]
const LEGACY_CALLS: &[i64] = system_calls! { SYS_renameat };
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const LEGACY_CALLS: &[i64] = &[];

const NAMESPACE_CALLS: &[i64] = &[libc::SYS_setns, libc::SYS_unshare];

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::UdpSocket;
    use std::os::unix::net::UnixDatagram;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::Command;

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// Runs in a thread, so that only that is confined.
    fn confined<T: Send + 'static>(needs: Needs, look: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(move || {
            candor_io::process::forgo_new_privileges().unwrap();
            confine(needs).unwrap();
            look()
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_confined_thread_starts_no_program_and_no_namespace() {
        confined(Needs::default(), || {
            assert_eq!(Command::new("/bin/true").exec().kind(), ErrorKind::PermissionDenied);
            assert_eq!(Command::new("/bin/true").spawn().unwrap_err().kind(), ErrorKind::PermissionDenied);
            let number = candor_io::control_group::id(Path::new("/proc"));
            assert_eq!(number.unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(unshare(CloneFlags::CLONE_FILES), Err(nix::errno::Errno::EPERM));
            assert_eq!(UdpSocket::bind("127.0.0.1:0").unwrap_err().kind(), ErrorKind::PermissionDenied);
            // Calls of a gateway.
            UnixDatagram::unbound().unwrap();
            assert!(std::fs::read_to_string("/proc/self/status").unwrap().contains("Seccomp"));
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        });
    }

    #[test]
    fn optional_calls_are_allowed_when_needed() {
        confined(Needs { internet: true, namespaces: true, programs: true, queues: true }, || {
            UdpSocket::bind("127.0.0.1:0").unwrap();
            unshare(CloneFlags::CLONE_FILES).unwrap();
            // The call is allowed, whatever it returns for a directory outside cgroupfs.
            let number = candor_io::control_group::id(Path::new("/proc"));
            assert_ne!(number.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
        });
    }
}
