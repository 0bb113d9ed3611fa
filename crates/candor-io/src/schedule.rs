//! Scheduling policies, processor affinity and memory locking.

use std::io;

use candor_core::realtime::{Cpu, RtPriority, Sched};

use crate::process::check;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_FIFO`: preempts everything of lower priority.
    Fifo(RtPriority),
    /// `SCHED_IDLE`: runs only when nothing else does.
    Idle,
    /// `SCHED_OTHER`, the default.
    Normal,
    /// `SCHED_RR`: as FIFO, with time slices within a priority.
    RoundRobin(RtPriority),
}

impl From<Sched> for Policy {
    fn from(sched: Sched) -> Self {
        match sched {
            Sched::Fifo(priority) => Self::Fifo(priority),
            Sched::Other => Self::Normal,
            Sched::RoundRobin(priority) => Self::RoundRobin(priority),
        }
    }
}

/// Sets the policy of the calling thread. Children inherit `Idle` and `Normal`, but no real-time policy
/// (`SCHED_RESET_ON_FORK`): a tester must not pass its priority to the gateway under test.
///
/// # Errors
/// `EPERM` for a real-time policy without `CAP_SYS_NICE` or a sufficient `RLIMIT_RTPRIO`, and in a control group without
/// real-time budget (`CONFIG_RT_GROUP_SCHED`), regardless of privileges.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    let this_thread = 0;
    set_policy_of(this_thread, policy)
}

/// Sets the policy of all current threads of a process.
///
/// # Errors
/// As [`set_policy`], and errors of reading `/proc` if the process has ended.
pub fn set_policy_of_process(pid: u32, policy: Policy) -> io::Result<()> {
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = thread?.file_name();
        let number = name.to_str().and_then(|name| name.parse().ok());
        set_policy_of(number.ok_or(io::ErrorKind::InvalidData)?, policy)?;
    }
    Ok(())
}

fn set_policy_of(thread: libc::pid_t, policy: Policy) -> io::Result<()> {
    let (policy, priority) = match policy {
        Policy::Fifo(priority) => (libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority.number()),
        Policy::Idle => (libc::SCHED_IDLE, 0),
        Policy::Normal => (libc::SCHED_OTHER, 0),
        Policy::RoundRobin(priority) => (libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, priority.number()),
    };
    // SAFETY: `sched_param` is plain integers in every libc, for which all bits zero is a value; musl has more fields
    // than the one we set, and leaves them unused.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = priority.into();
    set_scheduler(thread, policy, &param)
}

/// Sets the affinity of the calling thread. The kernel silently ignores missing processors; [`cpus`] returns the
/// result.
///
/// # Errors
/// `EINVAL` if none of them is available.
pub fn set_cpus(cpus: &[Cpu]) -> io::Result<()> {
    let mut mask: [libc::c_ulong; MASK_WORDS] = [0; MASK_WORDS];
    for Cpu(cpu) in cpus {
        if let Some(word) = mask.get_mut(usize::from(*cpu) / WORD_BITS) {
            *word |= 1 << (usize::from(*cpu) % WORD_BITS);
        }
    }
    let this_thread: libc::pid_t = 0;
    // SAFETY: pointer and length describe the live array, which the call only reads; any bits are a valid set.
    check(unsafe { libc::sched_setaffinity(this_thread, size_of_val(&mask), mask.as_ptr().cast()) }).map(drop)
}

/// The affinity of the calling thread, ascending.
///
/// # Errors
/// `EINVAL` on kernels for more than 1024 processors.
pub fn cpus() -> io::Result<Vec<Cpu>> {
    let mut mask: [libc::c_ulong; MASK_WORDS] = [0; MASK_WORDS];
    let this_thread: libc::pid_t = 0;
    // SAFETY: pointer and length describe the live array, of which the kernel writes at most so much; any bytes are valid
    // numbers.
    check(unsafe { libc::sched_getaffinity(this_thread, size_of_val(&mask), mask.as_mut_ptr().cast()) })?;
    let is_in = |cpu: &u16| mask[usize::from(*cpu) / WORD_BITS] & 1 << (usize::from(*cpu) % WORD_BITS) != 0;
    Ok((0..=Cpu::MAX).filter(is_in).map(Cpu).collect())
}

/// `cpu_set_t`: an array of `long`, lowest processor first.
const MASK_WORDS: usize = (Cpu::MAX as usize + 1) / WORD_BITS;
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// Locks all present and future memory of the process, so that no page fault delays a frame or a measurement. Later
/// allocations (stacks, heap, rings) are populated at once.
///
/// # Errors
/// `EPERM` or `ENOMEM` without `CAP_IPC_LOCK` or a sufficient `RLIMIT_MEMLOCK`.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: The call takes flags only and touches no memory of ours beyond making it resident.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

/// `sched_setscheduler()` of musl is a stub that returns ENOSYS, so the system call is made directly.
fn set_scheduler(thread: libc::pid_t, policy: libc::c_int, param: &libc::sched_param) -> io::Result<()> {
    let param: *const libc::sched_param = param;
    // SAFETY: `param` points to a live sched_param, whose first field is the only one that the kernel reads; the
    // other arguments are integers.
    let status = unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, param) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_is_told_to() {
        let all = cpus().unwrap();
        let only = *all.last().unwrap();
        let there = std::thread::spawn(move || {
            set_cpus(&[only, Cpu(Cpu::MAX)]).unwrap();
            cpus().unwrap()
        });
        assert_eq!(there.join().unwrap(), [only]);
        assert_eq!(cpus().unwrap(), all);
        assert_eq!(set_cpus(&[Cpu(Cpu::MAX)]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
