//! Scheduling policy and memory locking, for those who measure.

use std::fmt;
use std::io;

/// A `SCHED_FIFO` priority, 1 to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FifoPriority(i32);

impl FifoPriority {
    /// A priority from 1 (least) to 99, or `None`.
    #[must_use]
    pub const fn new(priority: u8) -> Option<Self> {
        if priority >= 1 && priority <= 99 { Some(Self(priority as i32)) } else { None }
    }
}

impl fmt::Display for FifoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_FIFO`: before everything with less priority.
    Fifo(FifoPriority),
    /// `SCHED_IDLE`: after everything else; any thread of another policy preempts it as soon as it wakes up.
    Idle,
    /// `SCHED_OTHER`, what processes have by default.
    Normal,
}

/// Gives the calling thread a policy. Processes that it starts inherit `Idle` and `Normal`, never `Fifo`
/// (`SCHED_RESET_ON_FORK`): a tester must not lend its priority to the gateway that it measures.
///
/// # Errors
/// `EPERM` for `Fifo` without `CAP_SYS_NICE` or a sufficient `RLIMIT_RTPRIO`.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    let (policy, priority) = match policy {
        Policy::Fifo(priority) => (libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority.0),
        Policy::Idle => (libc::SCHED_IDLE, 0),
        Policy::Normal => (libc::SCHED_OTHER, 0),
    };
    // SAFETY: `sched_param` is plain integers in every libc, for which all bits zero is a value; musl has more fields
    // than the one we set, and leaves them unused.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority;
    set_scheduler(policy, &param)
}

/// Locks all present and future memory of the process, so that no page fault falls into a measurement.
///
/// # Errors
/// `EPERM` or `ENOMEM` without `CAP_IPC_LOCK` or a sufficient `RLIMIT_MEMLOCK`.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: The call takes flags only and touches no memory of ours beyond making it resident.
    let status = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// musl's own `sched_setscheduler()` is a stub that fails with ENOSYS, so the system call is made directly.
fn set_scheduler(policy: libc::c_int, param: &libc::sched_param) -> io::Result<()> {
    let this_thread: libc::pid_t = 0;
    let param: *const libc::sched_param = param;
    // SAFETY: `param` points to a live sched_param, whose first field is the only one that the kernel reads; the
    // other arguments are integers.
    let status = unsafe { libc::syscall(libc::SYS_sched_setscheduler, this_thread, policy, param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
