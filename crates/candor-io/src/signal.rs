//! Signals: waiting for them, and interrupting blocking calls.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::process;
use crate::socket;

/// A signal that ends a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// `SIGHUP`: terminal closed, or reload requested.
    Hangup,
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
}

impl Signal {
    const ALL: [Self; 3] = [Self::Hangup, Self::Interrupt, Self::Terminate];

    const fn number(self) -> libc::c_int {
        match self {
            Self::Hangup => libc::SIGHUP,
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
        }
    }

    /// The name in the C headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }
}

/// Sends a signal to another process. A process that has ended is not an error.
///
/// # Errors
/// `EPERM` if it belongs to another user.
pub fn send(pid: u32, signal: Signal) -> io::Result<()> {
    process::send_signal(pid, signal.number())
}

/// `SIGURG`, which is ignored unless waited for.
pub(crate) const NUDGE: libc::c_int = libc::SIGURG;

/// `F_SETSIG`, missing from libc for some targets.
const F_SETSIG: libc::c_int = 10;

/// Nudges this process whenever something arrives at a descriptor, which never blocks from now on.
pub(crate) fn nudge_when_readable(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: getpid() has no preconditions and cannot fail.
    let this_process = unsafe { libc::getpid() };
    let flags = libc::O_NONBLOCK | libc::O_ASYNC;
    for (command, value) in [(libc::F_SETOWN, this_process), (F_SETSIG, NUDGE), (libc::F_SETFL, flags)] {
        // SAFETY: the three commands take one integer and touch no memory; the descriptor is open.
        socket::check(unsafe { libc::fcntl(fd.as_raw_fd(), command, value) })?;
    }
    Ok(())
}

/// Makes the current [`EndingSignals::wait`] of this process return, from any thread.
pub fn nudge() {
    // SAFETY: getpid() has no preconditions and cannot fail.
    let this_process = unsafe { libc::getpid() };
    // SAFETY: the signal goes to this process, which either waits for it or ignores it; kill() touches no memory.
    let _cannot_fail_for_this_process = unsafe { libc::kill(this_process, NUDGE) };
}

/// The ending signals, blocked until fetched.
#[derive(Debug)]
pub struct EndingSignals {
    set: libc::sigset_t,
}

impl EndingSignals {
    /// Blocks the ending signals in this thread and in those it starts later; call it before starting threads.
    ///
    /// Signals that were ignored at the start (`nohup`, `&` in scripts) stay ignored.
    ///
    /// Child processes inherit the mask.
    pub fn block() -> io::Result<Self> {
        let mut set = signal_set(&[NUDGE])?;
        for signal in Signal::ALL.map(Signal::number) {
            // A blocked signal stays pending even if it is ignored.
            if !is_ignored(signal)? {
                add(&mut set, signal)?;
            }
        }
        // SAFETY: `set` is an initialised signal set that the call only reads; a null old set is allowed.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if status == 0 { Ok(Self { set }) } else { Err(io::Error::from_raw_os_error(status)) }
    }

    /// Also fetches `SIGHUP` if it was ignored at the start, because it requests a reload. Returns whether it was.
    pub fn take_hangups(&mut self) -> io::Result<bool> {
        let hangup = signal_set(&[Signal::Hangup.number()])?;
        // SAFETY: `hangup` is an initialised signal set that the call only reads; a null old set is allowed.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const hangup, std::ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        add(&mut self.set, Signal::Hangup.number())?;
        is_ignored(Signal::Hangup.number())
    }

    /// A descriptor that is readable while a signal waits (`signalfd()`), for [`crate::poll::wait`]; fetch the signal with
    /// [`wait`](Self::wait).
    ///
    /// # Kernel
    /// Since 2.6.27.
    ///
    /// # Errors
    /// `EMFILE` or `ENOMEM`.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is initialised and only read; -1 asks for a new descriptor.
        let fd = socket::check(unsafe { libc::signalfd(-1, &raw const self.set, libc::SFD_CLOEXEC) })?;
        // SAFETY: the descriptor was made by the call above and nothing else has seen it, so it is open and owned here.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Waits for a signal; `None` after the timeout, or if woken early ([`nudge`], [`crate::netlink::LinkWatch`]).
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<Signal>> {
        Ok(match self.wait_or_check(timeout)? {
            Woken::Signal(signal, _) => Some(signal),
            Woken::Check | Woken::Timeout => None,
        })
    }

    /// As [`wait`](Self::wait), with the reason for returning.
    pub fn wait_or_check(&self, timeout: Duration) -> io::Result<Woken> {
        let time = socket::timespec(timeout);
        // SAFETY: siginfo_t consists of integers and pointers that are not followed: all zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is initialised and the timespec live, both are only read; `info` is live, and the call fills it.
        let got = unsafe { libc::sigtimedwait(&raw const self.set, &raw mut info, &raw const time) };
        match socket::check(got) {
            Ok(number) => {
                let signal = Signal::ALL.into_iter().find(|signal| signal.number() == number);
                Ok(signal.map_or(Woken::Check, |signal| Woken::Signal(signal, Sender::of(&info))))
            }
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(Woken::Timeout),
            // Another signal, or the process was stopped and continued.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Woken::Check),
            Err(error) => Err(error),
        }
    }
}

/// Reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// [`nudge`], an interface change, or another signal.
    Check,
    /// With its sender, if that is a process.
    Signal(Signal, Option<Sender>),
    Timeout,
}

/// The process that has sent a signal, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// 0 if it is outside of the PID namespace of this process.
    pub pid: u32,
    /// Its real user id.
    pub uid: u32,
}

impl Sender {
    /// `None` for a signal of the kernel (Ctrl-C), and for one of `sigqueue()`, which lets the sender choose the numbers.
    ///
    /// # Source
    /// [sigaction(2)](https://man7.org/linux/man-pages/man2/sigaction.2.html), "The siginfo_t argument".
    fn of(info: &libc::siginfo_t) -> Option<Self> {
        if info.si_code != libc::SI_USER {
            return None;
        }
        // SAFETY: for SI_USER the kernel has filled these fields.
        let pid = unsafe { info.si_pid() };
        // SAFETY: as above.
        let uid = unsafe { info.si_uid() };
        Some(Self { pid: pid.cast_unsigned(), uid })
    }
}

/// True if an ending signal is pending.
pub fn ending_signal_waits() -> io::Result<bool> {
    any_waits(&Signal::ALL)
}

/// True if one of these signals is pending.
pub fn any_waits(signals: &[Signal]) -> io::Result<bool> {
    let mut pending = signal_set(&[])?;
    // SAFETY: `pending` is live and writable, and the call only fills it.
    socket::check(unsafe { libc::sigpending(&raw mut pending) })?;
    Ok(signals.iter().any(|signal| is_member(&pending, signal.number())))
}

/// `SIGUSR2`, with an empty handler.
const WAKE_UP: libc::c_int = libc::SIGUSR2;

/// Installs the empty handler, without restarting system calls.
pub fn allow_wake_ups() -> io::Result<()> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // SAFETY: sigaction consists of integers, a set of integers and optional function pointers: all zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: `action` is live and only read; its handler touches nothing, so it is safe at any instant; a null old
    // action is allowed. Without SA_RESTART an interrupted read() returns EINTR, which is the purpose.
    socket::check(unsafe { libc::sigaction(WAKE_UP, &raw const action, std::ptr::null_mut()) })?;
    Ok(())
}

/// Interrupts a blocking system call of another thread.
///
/// A wake-up just before the thread blocks has no effect: set a flag first, and repeat until the thread reacts.
#[derive(Clone, Debug)]
pub struct WakeUp {
    /// Thread id; `pthread_t` is a pointer in musl and cannot be shared.
    thread: Arc<Mutex<Option<libc::pid_t>>>,
}

/// Guard on the stack of the target thread.
#[derive(Debug)]
pub struct WakeTarget {
    wake_up: WakeUp,
    /// Only the thread itself may end its guard.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl WakeUp {
    /// Has no target yet.
    #[must_use]
    pub fn new() -> Self {
        Self { thread: Arc::new(Mutex::new(None)) }
    }

    /// Makes the calling thread the target until the guard is dropped, and unblocks the signal, which may have been
    /// blocked at the start.
    pub fn target_this_thread(&self) -> io::Result<WakeTarget> {
        let set = signal_set(&[WAKE_UP])?;
        // SAFETY: `set` is an initialised signal set that the call only reads; a null old set is allowed.
        let status = unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
        if status != 0 {
            return Err(io::Error::from_raw_os_error(status));
        }
        // SAFETY: gettid() has no preconditions and cannot fail.
        let thread = unsafe { libc::gettid() };
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(WakeTarget { wake_up: self.clone(), _not_send: std::marker::PhantomData })
    }

    /// Interrupts the blocking call of the target, if any.
    pub fn wake(&self) -> io::Result<()> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = *thread else { return Ok(()) };
        // SAFETY: getpid() has no preconditions and cannot fail.
        let process = unsafe { libc::getpid() };
        // SAFETY: three integers; no memory is touched. The number still means the same thread: it stores it while it
        // runs and takes it back when its `WakeTarget` is dropped on its own stack, which waits for the lock held here.
        let returned = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, WAKE_UP) };
        if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Default for WakeUp {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for WakeTarget {
    fn drop(&mut self) {
        *self.wake_up.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn is_member(set: &libc::sigset_t, signal: libc::c_int) -> bool {
    // SAFETY: the set is initialised and only read.
    unsafe { libc::sigismember(std::ptr::from_ref(set), signal) == 1 }
}

fn signal_set(signals: &[libc::c_int]) -> io::Result<libc::sigset_t> {
    // SAFETY: sigset_t consists of integers, for which all-zero bytes are valid values.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is live and writable.
    socket::check(unsafe { libc::sigemptyset(&raw mut set) })?;
    for &signal in signals {
        add(&mut set, signal)?;
    }
    Ok(set)
}

fn add(set: &mut libc::sigset_t, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: `set` is an initialised signal set, exclusively borrowed.
    socket::check(unsafe { libc::sigaddset(std::ptr::from_mut(set), signal) }).map(drop)
}

fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: sigaction consists of integers, a set of integers and optional function pointers: all zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action changes nothing; `action` is live and writable, and the call fills it.
    socket::check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_wake_up_interrupts_a_blocking_read() {
        allow_wake_ups().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let wake_up = WakeUp::new();
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let blocked = signal_set(&[WAKE_UP]).unwrap();
                // SAFETY: the set is initialised and only read; a null old set is allowed.
                unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut()) };
                let _target = wake_up.target_this_thread().unwrap();
                let mut byte = [0_u8];
                // SAFETY: the kernel writes at most one byte into the live array; the pipe is open.
                let got = unsafe { libc::read(reader.as_raw_fd(), byte.as_mut_ptr().cast(), 1) };
                sender.send(socket::check_len(got).map_err(|error| error.kind())).unwrap();
            });
            let outcome = loop {
                wake_up.wake().unwrap();
                if let Ok(outcome) = receiver.recv_timeout(Duration::from_millis(5)) {
                    break outcome;
                }
            };
            assert_eq!(outcome, Err(io::ErrorKind::Interrupted));
        });
        wake_up.wake().unwrap();
    }

    #[test]
    fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
        // The test may have been started with some of them ignored, as by `&` in a script.
        for (signal, what) in
            [(Signal::Hangup, libc::SIG_IGN), (Signal::Interrupt, libc::SIG_DFL), (Signal::Terminate, libc::SIG_DFL)]
        {
            // SAFETY: neither disposition installs code; no other test of this process waits for these signals.
            unsafe { libc::signal(signal.number(), what) };
        }
        let mut signals = EndingSignals::block().unwrap();
        let of_set = Signal::ALL.map(|signal| is_member(&signals.set, signal.number()));
        assert_eq!(of_set, [false, true, true]);
        send(std::process::id(), Signal::Hangup).unwrap();
        assert_eq!(signals.wait(Duration::from_millis(1)).unwrap(), None);

        // Unless it requests a reload. (It would arrive if the main thread had blocked it, too.)
        assert!(signals.take_hangups().unwrap(), "it was ignored");
        assert!(is_member(&signals.set, Signal::Hangup.number()));
    }

    #[test]
    fn the_sender_of_a_signal_is_known() {
        // Not an ending signal, which another test of this process could fetch.
        let set = signal_set(&[libc::SIGRTMAX()]).unwrap();
        // SAFETY: the set is initialised and only read; a null old set is allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        // SAFETY: siginfo_t consists of integers and pointers that are not followed: all zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: gettid() has no preconditions and cannot fail.
        let tid = unsafe { libc::gettid() };
        let me = std::process::id();
        // SAFETY: three integers; the signal is blocked in this thread.
        unsafe { libc::syscall(libc::SYS_tgkill, me, tid, libc::SIGRTMAX()) };
        // SAFETY: the set is initialised and only read, `info` is live.
        assert!(unsafe { libc::sigwaitinfo(&raw const set, &raw mut info) } > 0);
        info.si_code = libc::SI_USER;
        assert_eq!(Sender::of(&info).map(|sender| sender.pid), Some(me));
        for of_nobody in [libc::SI_QUEUE, libc::SI_KERNEL, libc::SI_TKILL] {
            info.si_code = of_nobody;
            assert_eq!(Sender::of(&info), None);
        }
    }

    #[test]
    fn waiting_ends_when_the_time_is_over() {
        let signals = EndingSignals::block().unwrap();
        assert_eq!(signals.wait(Duration::from_millis(1)).unwrap(), None);
        assert_eq!(signals.wait_or_check(Duration::from_millis(1)).unwrap(), Woken::Timeout);
    }
}
