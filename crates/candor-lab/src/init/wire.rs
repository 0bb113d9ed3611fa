use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use candor_io::process as processes;

use super::outlet::Outlet;
use super::{InitError, file, kernel, pass_on, wait_for};
use crate::channel::Message;
use crate::job::{OUT, WIRE_BUSES};

const PROGRAM: &str = "/bin/candor-lab";
const LOG: &str = "wire.log";
const REPORT: &str = "wire.json";

/// `candor-lab wire`, which emulates the buses of the topology `wire`.
pub(super) struct Wire {
    pid: u32,
    report: JoinHandle<std::io::Result<String>>,
    warnings: Option<JoinHandle<()>>,
}

impl Wire {
    /// Returns when the interfaces are operational.
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
                // Its error message has to arrive before the guest ends.
                let _ = warnings.map(JoinHandle::join);
                return Err(InitError::NoWire);
            }
        }
        let rest = move || stdout.read_to_string(&mut report).map(|_| report);
        Ok(Self { pid: child.id(), report: thread::spawn(rest), warnings })
    }

    /// Stops it and stores its report in `$CANDOR_OUT`. Returns whether the run is valid.
    pub(super) fn end(self) -> Result<bool, InitError> {
        processes::terminate(self.pid).map_err(|_gone| InitError::NoWire)?;
        let status = wait_for(self.pid)?;
        // A reader ends with its pipe and does not panic.
        let _ = self.warnings.map(JoinHandle::join);
        let report = self.report.join().map_err(|_panic| InitError::NoWire)?;
        let path = format!("{OUT}/{REPORT}");
        std::fs::write(&path, report.map_err(kernel("Cannot hear candor-lab wire"))?).map_err(file(&path))?;
        Ok(status.success())
    }
}
