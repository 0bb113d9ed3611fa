//! Connects the host's terminal with a program in a guest.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::thread;

use candor_io::guest::{RawMode, window_size};

use super::{GuestExit, GuestSpec, LabError, run_on};
use crate::job::TerminalSize;
use crate::observer::Observer;

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("A shell needs a terminal on standard input; `candor-lab run` runs commands without one")]
    NoTerminal(#[source] io::Error),
}

/// Boots a guest and connects the terminal with the command until it ends. The terminal is in raw mode meanwhile: every
/// key goes to the guest.
pub fn shell(spec: &GuestSpec, observer: &mut dyn Observer) -> Result<GuestExit, ShellError> {
    let input = io::stdin();
    let size = window_size(&input).map_err(ShellError::NoTerminal)?;
    // Some terminals report no size.
    let or = |number, usual| if number == 0 { usual } else { number };
    let size = TerminalSize { rows: or(size.rows, 24), columns: or(size.columns, 80) };
    let (ours, theirs) = UnixStream::pair().map_err(ShellError::NoTerminal)?;
    let from_guest = ours.try_clone().map_err(ShellError::NoTerminal)?;
    let printer = thread::spawn(move || print(from_guest));
    let mut observer = Connecting { observer, keys: Some(&ours), input: &input, raw: None };
    let exit = run_on(spec, Some((size, theirs)), &mut observer);
    // The guest is gone; the rest is in the socket.
    let _ = ours.shutdown(Shutdown::Write);
    let _ = printer.join();
    drop(observer.raw);
    Ok(exit?)
}

/// Connects the keyboard when the command starts, so that Ctrl-C works while the guest boots.
struct Connecting<'a> {
    observer: &'a mut dyn Observer,
    keys: Option<&'a UnixStream>,
    input: &'a io::Stdin,
    raw: Option<RawMode<'a>>,
}

impl Observer for Connecting<'_> {
    fn stage(&mut self, stage: &str) {
        self.observer.stage(stage);
    }

    fn notice(&mut self, text: &str) {
        self.observer.notice(text);
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.observer.fetched(what, bytes, total);
    }

    fn started(&mut self) {
        self.observer.started();
        // Without raw mode the shell still works line by line.
        self.raw = RawMode::enter(self.input.as_fd()).ok();
        if let Some(Ok(keys)) = self.keys.take().map(UnixStream::try_clone) {
            // Blocked in a read when the guest ends; it ends with the process.
            thread::spawn(move || copy_keys(keys));
        }
    }

    fn file(&mut self, name: &str, bytes: u64) {
        self.observer.file(name, bytes);
    }
}

fn copy_keys(mut guest: UnixStream) {
    let mut keys = [0; 1024];
    while let Ok(count @ 1..) = io::stdin().read(&mut keys) {
        if guest.write_all(&keys[..count]).is_err() {
            return;
        }
    }
}

fn print(mut guest: UnixStream) {
    let mut buffer = [0; 4096];
    let mut screen = io::stdout();
    while let Ok(count @ 1..) = guest.read(&mut buffer) {
        if screen.write_all(&buffer[..count]).and_then(|()| screen.flush()).is_err() {
            return;
        }
    }
}
