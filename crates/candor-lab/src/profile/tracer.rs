//! Control of QEMU's log through its monitor.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Measured frames before the guest waits for the trace.
pub const UNTRACED: u32 = 100;
/// Traced frames.
pub const TRACED: u32 = 12;

/// The scratch register of the first serial port, which nothing uses: the host writes to it, and the guest reads it.
const REGISTER: u64 = 0x3ff;
const IS_TRACED: u8 = 0x5a;

/// The monitor of a guest with [`Traced`](crate::guest::Traced).
#[derive(Debug)]
pub struct Tracer {
    monitor: UnixStream,
}

impl Tracer {
    /// # Errors
    /// `NotFound` or `ConnectionRefused` if there is no such guest, or it has ended.
    pub fn connect(monitor: &Path) -> io::Result<Self> {
        Ok(Self { monitor: UnixStream::connect(monitor)? })
    }

    /// Begins to log each instruction, which slows the guest down a hundred times, and ends [`wait_for_trace`].
    ///
    /// # Errors
    /// `BrokenPipe` if the guest has ended.
    pub fn start(&mut self) -> io::Result<()> {
        // The second name is that of QEMU 8.1 and later; each version complains about the other and goes on.
        let commands = "singlestep on\none-insn-per-tb on\nlog exec,nochain\n";
        self.monitor.write_all(format!("{commands}o /b {REGISTER:#x} {IS_TRACED:#x}\n").as_bytes())
    }

    /// # Errors
    /// As [`start`](Self::start).
    pub fn stop(&mut self) -> io::Result<()> {
        self.monitor.write_all(b"log none\nsinglestep off\none-insn-per-tb off\n")
    }
}

/// Waits in a guest until the host traces it.
///
/// # Kernel
/// `/dev/port`, `CONFIG_DEVPORT`; needs CAP_SYS_RAWIO.
///
/// # Errors
/// Those of reading the register, and `TimedOut`.
pub fn wait_for_trace() -> io::Result<()> {
    /// Idle time passes at once, so this is a matter of instructions.
    const TRIES: u32 = 200_000;
    let (port, mut value) = (File::open("/dev/port")?, [0]);
    for _ in 0..TRIES {
        port.read_exact_at(&mut value, REGISTER)?;
        if value == [IS_TRACED] {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}
