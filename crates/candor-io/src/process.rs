//! Child processes, sessions, signals to processes, and host requirements of user-mode Linux.

mod xstate;

pub use xstate::{ExtendedState, extended_state};

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// The first descriptor that [`give`] assigns, after the standard streams.
pub const FIRST_GIVEN: i32 = 3;

/// Makes the kernel kill the child when the calling **thread** ends.
///
/// # Kernel
/// `PR_SET_PDEATHSIG`; it is lost when the started program is set-user-ID.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    let parent = std::process::id();
    let set = move || {
        // SAFETY: `PR_SET_PDEATHSIG` takes one number and touches no memory of ours.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // The parent may have died before the call above.
        if std::os::unix::process::parent_id() == parent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: between fork and exec the closure only makes two system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(set) }
}

/// Passes descriptors to the child, as 3, 4 and so on.
pub fn give(command: &mut Command, descriptors: Vec<OwnedFd>) -> &mut Command {
    let reserved = reserve(&descriptors).map_err(|error| error.raw_os_error());
    let set = move || {
        if let Err(errno) = &reserved {
            return Err(errno.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error));
        }
        let numbers = (FIRST_GIVEN..).zip(&descriptors);
        // Moved away first: a given descriptor may have a number that another one is to get.
        let mut parked = [-1; MAX_GIVEN];
        for ((_, descriptor), parked) in numbers.clone().zip(&mut parked) {
            // SAFETY: `F_DUPFD_CLOEXEC` takes a number; the descriptor is owned by this closure, hence open.
            *parked = check(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_DUPFD_CLOEXEC, PARKING) })?;
        }
        for ((number, _), parked) in numbers.zip(parked) {
            // SAFETY: `parked` is open since the loop above; `number` is above the standard streams and was taken
            // before the fork, so in this child it names an unused copy, not the pipe by which std reports.
            check(unsafe { libc::dup2(parked, number) })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls on a fixed array; it allocates nothing and
    // takes no lock.
    unsafe { command.pre_exec(set) }
}

/// Reserves the numbers, so that std does not use them for its own descriptors. Held as long as the command.
fn reserve(descriptors: &[OwnedFd]) -> io::Result<Vec<OwnedFd>> {
    let mut reserved = Vec::new();
    let (Some(any), Ok(count)) = (descriptors.first(), i32::try_from(descriptors.len())) else { return Ok(reserved) };
    loop {
        // SAFETY: `F_DUPFD_CLOEXEC` takes a number; the descriptor is borrowed, hence open.
        let number = check(unsafe { libc::fcntl(any.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST_GIVEN) })?;
        // SAFETY: the call above made the descriptor, and nothing else knows it.
        let copy = unsafe { OwnedFd::from_raw_fd(number) };
        if number >= FIRST_GIVEN + count {
            return Ok(reserved);
        }
        reserved.push(copy);
    }
}

/// Maximum descriptors of [`give`].
pub const MAX_GIVEN: usize = 8;
/// Above all numbers of [`give`].
const PARKING: libc::c_int = 64;

/// Makes the calling process the subreaper of its descendants.
///
/// # Errors
/// `EPERM` if it is a group leader already.
pub fn start_session() -> io::Result<()> {
    // SAFETY: the call has no arguments.
    check(unsafe { libc::setsid() }).map(drop)
}

/// Makes the child leader of a session with standard input as controlling terminal.
pub fn lead_terminal(command: &mut Command) -> &mut Command {
    let set = || {
        start_session()?;
        // SAFETY: `TIOCSCTTY` on descriptor 0 takes the number 0 (do not steal) and touches no memory.
        check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }).map(drop)
    };
    // SAFETY: between fork and exec the closure only makes two system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(set) }
}

/// Sets the limit of the stack (`RLIMIT_STACK`) of this process and of those that it starts, but no higher than its hard
/// limit. Programs are loaded below the space for their stack.
///
/// # Errors
/// Those of `getrlimit()` and `setrlimit()`.
pub fn set_stack_limit(mebibytes: u16) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one rlimit into the exclusively borrowed value.
    check(unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) })?;
    limit.rlim_cur = (libc::rlim_t::from(mebibytes) << 20).min(limit.rlim_max);
    // SAFETY: the kernel reads one rlimit from the live value.
    check(unsafe { libc::setrlimit(libc::RLIMIT_STACK, &raw const limit) }).map(drop)
}

/// Sets `no_new_privs` for the calling thread and those that it starts.
///
/// # Kernel
/// `PR_SET_NO_NEW_PRIVS`, Linux 3.5.
pub fn forgo_new_privileges() -> io::Result<()> {
    let (yes, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: `PR_SET_NO_NEW_PRIVS` takes four numbers, of which the last three are 0, and touches no memory of ours.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, unused, unused, unused) }).map(drop)
}

/// Makes the calling process the parent of every descendant whose own parent has ended.
///
/// # Kernel
/// `PR_SET_CHILD_SUBREAPER`, Linux 3.4.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: `PR_SET_CHILD_SUBREAPER` takes one number and touches no memory of ours.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }).map(drop)
}

/// Kills a process (SIGKILL). A process that has ended is not an error.
///
/// # Errors
/// `EPERM` if it belongs to another user.
pub fn kill(pid: u32) -> io::Result<()> {
    send_signal(pid, libc::SIGKILL)
}

/// Sends SIGTERM. A process that has ended is not an error.
///
/// # Errors
/// As [`kill`].
pub fn terminate(pid: u32) -> io::Result<()> {
    send_signal(pid, libc::SIGTERM)
}

/// Stops a process (SIGSTOP) until [`resume`].
///
/// # Errors
/// As [`kill`].
pub fn pause(pid: u32) -> io::Result<()> {
    send_signal(pid, libc::SIGSTOP)
}

/// Continues a stopped process (SIGCONT).
///
/// # Errors
/// As [`kill`].
pub fn resume(pid: u32) -> io::Result<()> {
    send_signal(pid, libc::SIGCONT)
}

#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: geteuid() has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Sends SIGTERM to a process group. An empty group is not an error.
///
/// # Errors
/// `EPERM` if all processes belong to other users.
pub fn terminate_group(leader: u32) -> io::Result<()> {
    signal_group(leader, libc::SIGTERM)
}

/// Sends SIGKILL to a process group. An empty group is not an error.
///
/// # Errors
/// As [`terminate_group`].
pub fn kill_group(leader: u32) -> io::Result<()> {
    signal_group(leader, libc::SIGKILL)
}

fn signal_group(leader: u32, signal: libc::c_int) -> io::Result<()> {
    let leader = one_process(leader)?;
    // SAFETY: the call takes two numbers; `leader` is above 1, so its negative is one group, never all processes.
    match check(unsafe { libc::kill(-leader, signal) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        result => result.map(drop),
    }
}

fn one_process(pid: u32) -> io::Result<libc::pid_t> {
    let pid = libc::pid_t::try_from(pid).map_err(|_too_large| io::ErrorKind::InvalidInput)?;
    if pid < 2 { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(pid) }
}

pub(crate) fn send_signal(pid: u32, signal: libc::c_int) -> io::Result<()> {
    let pid = one_process(pid)?;
    // SAFETY: the call takes two numbers; `pid` is one process, never a group and never init.
    match check(unsafe { libc::kill(pid, signal) }) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        result => result.map(drop),
    }
}

/// Blocking behaviour of [`reap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    Wait,
    Peek,
}

/// A child process that ended, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    /// This child has ended.
    Child(u32, ExitStatus),
    /// None of the children has ended.
    NothingYet,
    NoChildren,
}

/// Collects the status of any child that has ended, including adopted ones.
pub fn reap(patience: Patience) -> io::Result<Reaped> {
    let options = if patience == Patience::Peek { libc::WNOHANG } else { 0 };
    loop {
        let mut status = 0;
        // SAFETY: `status` is a live integer that the call may write.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, options) };
        match u32::try_from(pid) {
            Ok(0) => return Ok(Reaped::NothingYet),
            Ok(pid) => return Ok(Reaped::Child(pid, ExitStatus::from_raw(status))),
            Err(_negative) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(Reaped::NoChildren),
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Properties of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Not mounted `noexec`.
    pub allows_exec: bool,
    /// Bytes available to this user; [`u64::MAX`] if unlimited.
    pub free_bytes: u64,
}

/// Properties of the file system of a directory.
///
/// # Errors
/// Errnos of `statvfs()`.
pub fn room(folder: &std::path::Path) -> io::Result<Room> {
    use std::os::unix::ffi::OsStrExt as _;

    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    let mut info = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` is a NUL-terminated string that outlives the call, `info` has room for the structure.
    check(unsafe { libc::statvfs(path.as_ptr(), info.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it filled the structure.
    let info = unsafe { info.assume_init() };
    // A tmpfs without a limit reports 0 blocks.
    #[expect(clippy::unnecessary_cast, reason = "32 bits on 32-bit processors")]
    let (blocks, block_bytes) = (info.f_bavail as u64, info.f_frsize as u64);
    let free_bytes = if info.f_blocks == 0 { u64::MAX } else { blocks.saturating_mul(block_bytes) };
    Ok(Room { allows_exec: info.f_flag & libc::ST_NOEXEC == 0, free_bytes })
}

/// Turns the `-1` of a system call into the error it stands for.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn given_descriptors_get_their_numbers() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo three >&3"]).stdin(Stdio::null());
        give(&mut command, vec![writer.into()]);
        let mut child = command.spawn().unwrap();
        assert!(child.wait().unwrap().success());
        drop(command);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "three\n");
    }

    #[test]
    fn giving_does_not_hide_that_a_program_is_missing() {
        let (_reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("/no such program");
        give(&mut command, vec![writer.into()]);
        assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_bound_to_this_thread_runs() {
        let mut command = Command::new("/bin/true");
        assert!(end_with_parent(&mut command).status().unwrap().success());
    }

    #[test]
    fn init_and_groups_are_not_killed() {
        assert!(kill(0).is_err());
        assert!(kill(1).is_err());
        assert!(kill(u32::MAX).is_err());
        assert!(kill_group(0).is_err());
        assert!(kill_group(1).is_err());
        assert!(kill_group(u32::MAX).is_err());
    }

    #[test]
    fn a_group_ends_with_all_its_processes() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 60 & echo; wait"]).process_group(0).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        // QEMU's user emulation loses signals that arrive before `execve()`.
        stdout.read_exact(&mut [0]).unwrap();
        terminate_group(child.id()).unwrap();
        assert!(!child.wait().unwrap().success());
        // Both had it open.
        assert_eq!(stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
        terminate_group(child.id()).unwrap();
    }

    #[test]
    fn folders_have_room() {
        assert!(room(&std::env::temp_dir()).unwrap().free_bytes > 0);
        assert_eq!(room(std::path::Path::new("/proc")).unwrap().free_bytes, u64::MAX);
        assert!(room(std::path::Path::new("/no such directory")).is_err());
    }
}
