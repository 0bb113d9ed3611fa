//! The buses of the topology `wire`: a `candor-lab wire` that runs beside the command.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use candor_io::process as processes;

use super::outlet::Outlet;
use super::{InitError, file, kernel, pass_on, wait_for};
use crate::channel::Message;
use crate::job::{OUT, WIRE_BUSES};

/// Where the image has candor.
const PROGRAM: &str = "/bin/candor-lab";
/// What happened on the buses, in the form of docs/wire.md.
const LOG: &str = "wire.log";
/// Its report, a JSON object per line.
const REPORT: &str = "wire.json";

/// Buses that are being played.
pub(super) struct Wire {
    pid: u32,
    report: JoinHandle<std::io::Result<String>>,
    warnings: Option<JoinHandle<()>>,
}

impl Wire {
    /// Returns when the interfaces are there and operational.
    pub(super) fn start(adapters: &[String], outlet: &Outlet) -> Result<Self, InitError> {
        let mut command = Command::new(PROGRAM);
        command.args(["wire", "--json", "--log", &format!("{OUT}/{LOG}")]);
        command.args(WIRE_BUSES.iter().flat_map(|bus| ["--bus", bus]));
        command.args(adapters.iter().flat_map(|adapter| ["--adapter", adapter]));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |source| InitError::Command { program: PROGRAM.to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let warnings = child.stderr.take().map(|pipe| pass_on(pipe, outlet.clone(), Message::Stderr));
        let mut stdout = BufReader::new(child.stdout.take().ok_or(InitError::NoWire)?);
        let mut report = String::new();
        while !report.contains("\"ready\"") {
            if stdout.read_line(&mut report).map_err(kernel("Cannot hear candor-lab wire"))? == 0 {
                // Its text is on its way: the guest must not be gone before.
                let _ = warnings.map(JoinHandle::join);
                return Err(InitError::NoWire);
            }
        }
        let rest = move || stdout.read_to_string(&mut report).map(|_| report);
        Ok(Self { pid: child.id(), report: thread::spawn(rest), warnings })
    }

    /// Ends it, and leaves its report where the command leaves its files. Says whether its times can be believed.
    pub(super) fn end(self) -> Result<bool, InitError> {
        processes::terminate(self.pid).map_err(|_gone| InitError::NoWire)?;
        let status = wait_for(self.pid)?;
        // A reader only ends with its pipe; it does not panic.
        let _ = self.warnings.map(JoinHandle::join);
        let report = self.report.join().map_err(|_panic| InitError::NoWire)?;
        let path = format!("{OUT}/{REPORT}");
        std::fs::write(&path, report.map_err(kernel("Cannot hear candor-lab wire"))?).map_err(file(&path))?;
        Ok(status.success())
    }
}
