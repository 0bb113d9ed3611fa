//! Gateway and load of a cell, here or under a supervisor.

use std::path::Path;

use candor_cli::{Exit, render};
use candor_lab::batch;
use candor_lab::cells::{CellOrder, SupervisorOrder};
use candor_lab::device::{BARE_METAL, Device};
use candor_lab::experiment::load::Load;
use candor_lab::load::Running;
use candor_lab::record::{self, Header};
use candor_lab::supervisor::{Assignment, Ended, Supervised, SupervisorError};

use super::method::Failed;
use super::tester;

/// Timeout for a tester on another machine.
const SILENCE_S: u64 = 20;

/// The connection to the supervisor is lost, so the state of the cell is unknown.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Gone(String);

/// The running gateway and load.
pub(super) enum CellDevice {
    Here {
        gateway: Option<Device>,
        loaded: Option<Running>,
    },
    /// A supervisor has them.
    Supervised(Supervised),
}

impl CellDevice {
    pub(super) fn start(
        candor: &Path,
        cell: &CellOrder,
        load: Load,
        supervisor: Option<&SupervisorOrder>,
    ) -> Result<Self, Failed> {
        let Some(supervisor) = supervisor else {
            let gateway = cell.device.gateway(Path::new(""), &cell.name)?;
            let gateway = gateway.map(|gateway| Device::start(candor, &gateway)).transpose()?;
            // After the gateway, because setting up thousands of rules takes long under load.
            let loaded = Running::start(candor, load)?;
            return Ok(Self::Here { gateway, loaded });
        };
        let assignment = Assignment {
            name: cell.name.clone(),
            device: cell.device.clone(),
            load: cell.load.clone(),
            silence_s: supervisor.machine.as_ref().map(|_| SILENCE_S),
        };
        let gone = gone(supervisor);
        let gone = move || {
            // The series of this cell might never end.
            render::error_chain("candor-lab", &gone);
            Exit::CouldNotRun.at_once();
        };
        Ok(Self::Supervised(
            Supervised::start(&supervisor.command, &assignment, gone).map_err(|error| failed(error, supervisor))?,
        ))
    }

    /// Ends both. Completes the header and returns the output of the gateway.
    pub(super) fn end(self, header: &mut Header, supervisor: Option<&SupervisorOrder>) -> Result<Vec<String>, Failed> {
        let (supervised, supervisor) = match (self, supervisor) {
            (Self::Supervised(supervised), Some(supervisor)) => (supervised, supervisor),
            (Self::Here { gateway, loaded }, _) => {
                drop(loaded);
                let said = gateway.map_or(Ok(Vec::new()), Device::stop)?;
                return Ok(if header.engine == BARE_METAL { said } else { Vec::new() });
            }
            (Self::Supervised(supervised), None) => return Ok(supervised.end()?.said),
        };
        let machine = supervised.machine.clone();
        let Ended { said, activity_per_second } = supervised.end().map_err(|error| failed(error, supervisor))?;
        if let Some(board) = &supervisor.machine {
            let here = std::mem::replace(&mut header.kernel_release, machine.kernel_release);
            // The platform of the gateway, not that of the tester.
            header.platform = tester::platform(None, &machine.kernel_command_line);
            let platform = [("board", board.clone()), ("architecture", machine.architecture), ("tester_kernel", here)];
            header.platform.extend(platform.map(|(key, value)| (key.to_owned(), value)));
            header.activity_per_second = activity_per_second;
        }
        header.platform.insert(record::HOST.to_owned(), batch::node(|name| std::env::var(name).ok()));
        Ok(said)
    }
}

fn failed(error: SupervisorError, supervisor: &SupervisorOrder) -> Failed {
    match error {
        SupervisorError::Gone => Box::new(gone(supervisor)),
        error => Box::new(error),
    }
}

fn gone(supervisor: &SupervisorOrder) -> Gone {
    match &supervisor.machine {
        Some(board) => Gone(format!("The connection to {board} is gone")),
        None => Gone(SupervisorError::Gone.to_string()),
    }
}
