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
#[derive(Debug)]
pub(super) struct SeccompError(String);

impl std::fmt::Display for SeccompError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot filter system calls ({}); run without --seccomp", self.0)
    }
}

impl std::error::Error for SeccompError {}

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
    /// Loading BPF programs, for classification by control group.
    pub(super) programs: bool,
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
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = plain.map(|call| (*call, Vec::new())).collect();
    // Threads, not processes.
    let is_thread = SeccompCmpOp::MaskedEq(flags(libc::CLONE_THREAD));
    rules.insert(libc::SYS_clone, vec![first_argument(is_thread, flags(libc::CLONE_THREAD))?]);
    let internet: &[i32] = if needs.internet { &[libc::AF_INET, libc::AF_INET6] } else { &[] };
    let families = [libc::AF_CAN, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_UNIX].iter().chain(internet);
    let families = families.map(|family| first_argument(SeccompCmpOp::Eq, flags(*family)));
    rules.insert(libc::SYS_socket, families.collect::<Result<_, _>>()?);
    if needs.programs {
        rules.insert(libc::SYS_bpf, vec![first_argument(SeccompCmpOp::Eq, u64::from(candor_io::bpf::LOAD))?]);
        rules.insert(libc::SYS_name_to_handle_at, Vec::new());
    }
    Ok(rules)
}

fn first_argument(compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, SeccompError> {
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, compare, value)?])?)
}

fn flags(bits: i32) -> u64 {
    u64::from(bits.unsigned_abs())
}

/// System calls of the C library, the standard library and candor that exist on every architecture.
const CALLS: &[i64] = &[
    // Frames, netlink, metrics, the service manager.
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_listen,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_socketpair,
    libc::SYS_write,
    libc::SYS_writev,
    // Waiting, time, signals.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_futex,
    libc::SYS_gettimeofday,
    libc::SYS_kill,
    libc::SYS_nanosleep,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_tgkill,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    libc::SYS_tkill,
    // The gateway file, the run directory, /proc and /sys.
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_ioctl,
    libc::SYS_linkat,
    libc::SYS_lseek,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_umask,
    libc::SYS_unlinkat,
    // Memory, threads, process attributes, [realtime].
    libc::SYS_brk,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_get_robust_list,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mlockall,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_munmap,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_rseq,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    // Denied by the other filter.
    libc::SYS_clone3,
];

/// System calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const LEGACY_CALLS: &[i64] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_chmod,
    libc::SYS_epoll_wait,
    libc::SYS_getrlimit,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
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
        confined(Needs { internet: true, namespaces: true, programs: true }, || {
            UdpSocket::bind("127.0.0.1:0").unwrap();
            unshare(CloneFlags::CLONE_FILES).unwrap();
            // The call is allowed, whatever it returns for a directory outside cgroupfs.
            let number = candor_io::control_group::id(Path::new("/proc"));
            assert_ne!(number.err().map(|error| error.kind()), Some(ErrorKind::PermissionDenied));
        });
    }
}
