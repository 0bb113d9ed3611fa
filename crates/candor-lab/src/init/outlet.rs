//! The guest's end of the channel: one thread owns the port or terminal.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use candor_io::guest::{self, DebugPort, RawMode, WindowSize};

use super::{InitError, kernel};
use crate::channel::{Message, Sender};
use crate::job::TerminalSize;
use crate::kernel::Testbed;

/// Queue length; senders wait when it is full.
const WAITING: usize = 16;
const UML_CHANNEL: &str = "/dev/tty1";
const UML_TERMINAL: &str = "/dev/tty2";
const ICOUNT_TERMINAL: &str = "/dev/ttyS1";
/// Init has no controlling terminal.
const O_NOCTTY: i32 = 0o400;

#[derive(Clone, Debug)]
pub(super) struct Outlet {
    messages: SyncSender<Message>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Outlet {
    /// Only its own thread may use the debug port, so programs of the guest do not pay for it.
    pub(super) fn open(testbed: Testbed) -> Result<Self, InitError> {
        let (messages, waiting) = mpsc::sync_channel(WAITING);
        let (tell, opened) = mpsc::channel();
        let writer = thread::spawn(move || match open_stream(testbed).and_then(Sender::begin) {
            Ok(sender) => {
                // The opener waits for this.
                let _ = tell.send(Ok(()));
                write_all(&waiting, sender);
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        });
        let opened = opened.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()));
        opened.map_err(kernel("Cannot open the channel to the host"))?;
        Ok(Self { messages, writer: Arc::new(Mutex::new(Some(writer))) })
    }

    pub(super) fn send(&self, message: Message) {
        if self.messages.send(message).is_err() {
            eprintln!("candor: the channel to the host is closed");
        }
    }

    /// Waits until everything is written. No other clone may be left.
    pub(super) fn close(self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(self.messages);
        if let Some(writer) = writer {
            // The writer does not panic; errors are on the console.
            let _ = writer.join();
        }
    }
}

pub(super) fn terminal(testbed: Testbed, size: TerminalSize) -> Result<File, InitError> {
    let path = match testbed {
        Testbed::Icount => ICOUNT_TERMINAL,
        Testbed::Uml => UML_TERMINAL,
    };
    let terminal = open_terminal(path).map_err(kernel(path))?;
    let size = WindowSize { rows: size.rows, columns: size.columns };
    guest::set_window_size(&terminal, size).map_err(kernel(path))?;
    Ok(terminal)
}

fn open_stream(testbed: Testbed) -> io::Result<Box<dyn Write>> {
    match testbed {
        Testbed::Icount => Ok(Box::new(DebugPort::open()?)),
        Testbed::Uml => {
            let line = open_terminal(UML_CHANNEL)?;
            RawMode::enter(line.as_fd())?.keep();
            Ok(Box::new(line))
        }
    }
}

fn open_terminal(path: &str) -> io::Result<File> {
    File::options().read(true).write(true).custom_flags(O_NOCTTY).open(path)
}

fn write_all(waiting: &Receiver<Message>, mut sender: Sender<Box<dyn Write>>) {
    for message in waiting {
        if let Err(error) = sender.send(&message) {
            eprintln!("candor: cannot write to the host: {error}");
            return;
        }
    }
}
