//! Scheduling policy, processors and memory locking of those who must not be late.

use std::io;

use candor_core::realtime::{Cpu, RtPriority, Sched};

use crate::process::check;

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_FIFO`: before everything with less priority.
    Fifo(RtPriority),
    /// `SCHED_IDLE`: after everything else; any thread of another policy preempts it as soon as it wakes up.
    Idle,
    /// `SCHED_OTHER`, what processes have by default.
    Normal,
    /// `SCHED_RR`: as FIFO, in turns with threads of its own priority.
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

/// Gives the calling thread a policy. What it starts inherits `Idle` and `Normal`, never a real-time policy
/// (`SCHED_RESET_ON_FORK`): a tester must not lend its priority to the gateway that it measures.
///
/// # Errors
/// `EPERM` for a real-time policy without `CAP_SYS_NICE` or a sufficient `RLIMIT_RTPRIO`, and in a control group without
/// real-time budget (`CONFIG_RT_GROUP_SCHED`), whatever the privileges.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    let this_thread = 0;
    set_policy_of(this_thread, policy)
}

/// Gives all threads that a process has by now a policy.
///
/// # Errors
/// As [`set_policy`], and what reading `/proc` reports if the process is gone.
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

/// Has the calling thread run on these processors only. Those that do not exist are left out without a word: see
/// [`cpus`] for what it got.
///
/// # Errors
/// `EINVAL` if none of them is there for this process.
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

/// The processors that the calling thread may run on, in ascending order.
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

/// `cpu_set_t` as the kernel reads it: words of a `long`, the lowest processor in the lowest bit of the first.
const MASK_WORDS: usize = (Cpu::MAX as usize + 1) / WORD_BITS;
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// Locks all present and future memory of the process, so that no page fault falls into a measurement or between two
/// frames. What the process gets later (stacks of threads, more heap, rings) is there at once and stays.
///
/// # Errors
/// `EPERM` or `ENOMEM` without `CAP_IPC_LOCK` or a sufficient `RLIMIT_MEMLOCK`.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: The call takes flags only and touches no memory of ours beyond making it resident.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

/// musl's own `sched_setscheduler()` is a stub that fails with ENOSYS, so the system call is made directly.
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
