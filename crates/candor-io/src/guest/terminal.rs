//! Raw mode and window size of terminals.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::process::check;

/// Raw mode until dropped.
#[derive(Debug)]
pub struct RawMode<'fd> {
    terminal: BorrowedFd<'fd>,
    before: libc::termios,
}

impl<'fd> RawMode<'fd> {
    /// Turns off echo, line editing, signals and translation.
    ///
    /// # Errors
    /// `ENOTTY` if it is not a terminal.
    pub fn enter(terminal: BorrowedFd<'fd>) -> io::Result<Self> {
        let before = settings(terminal)?;
        let mut raw = before;
        // SAFETY: `raw` is an initialised structure that the call only changes in place.
        unsafe { libc::cfmakeraw(&raw mut raw) };
        apply(terminal, &raw)?;
        Ok(Self { terminal, before })
    }

    /// Keeps the terminal in raw mode.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for RawMode<'_> {
    fn drop(&mut self) {
        // A closed terminal needs no restoring.
        let _ = apply(self.terminal, &self.before);
    }
}

/// Size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    pub rows: u16,
    pub columns: u16,
}

/// Reads the size of a terminal.
///
/// # Errors
/// `ENOTTY` if it is no terminal.
pub fn window_size(terminal: impl AsFd) -> io::Result<WindowSize> {
    let mut size = MaybeUninit::<libc::winsize>::uninit();
    // SAFETY: `TIOCGWINSZ` writes one `struct winsize`, for which there is room.
    check(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCGWINSZ, size.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it filled the structure.
    let size = unsafe { size.assume_init() };
    Ok(WindowSize { rows: size.ws_row, columns: size.ws_col })
}

/// Sets the size of a terminal.
///
/// # Errors
/// `ENOTTY` if it is no terminal.
pub fn set_window_size(terminal: impl AsFd, size: WindowSize) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `TIOCSWINSZ` reads one `struct winsize`, which outlives the call.
    check(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }).map(drop)
}

fn settings(terminal: BorrowedFd<'_>) -> io::Result<libc::termios> {
    let mut settings = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: the call writes one `struct termios`, for which there is room.
    check(unsafe { libc::tcgetattr(terminal.as_raw_fd(), settings.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so it filled the structure.
    Ok(unsafe { settings.assume_init() })
}

fn apply(terminal: BorrowedFd<'_>, settings: &libc::termios) -> io::Result<()> {
    // SAFETY: the call reads one `struct termios`, which outlives it.
    check(unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, settings) }).map(drop)
}
