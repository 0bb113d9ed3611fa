//! Runs blocks on testbeds other than guests: on this machine, or on a board.

use std::io::Write as _;
use std::path::{Path, absolute};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use candor_io::process;
use candor_lab::board::Board;
use candor_lab::cells::{Order, Said, SupervisorOrder};
use candor_lab::device::lines_of;
use candor_lab::experiment::{Block, Plan, Testbed};
use candor_lab::guest;

use super::progress::Event;
use super::results::Results;
use crate::cli::GuestLimits;
use crate::cmd::preflight::Wanted;

/// Time for the gateway of a killed tester to end.
const END_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Machines {
    /// Its destructor removes candor from the board.
    _board: Option<Board>,
    pub(super) supervisors: Supervisors,
}

#[derive(Clone, Debug)]
pub(super) struct Supervisors {
    on_board: Option<SupervisorOrder>,
}

impl Machines {
    /// Checks that everything these blocks need is available, and connects to the board if one is needed.
    ///
    /// # Errors
    /// Everything that is missing.
    pub(super) fn ready(
        plan: &Plan,
        plan_folder: &Path,
        todo: &[(&Block<'_>, Order)],
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let of = |testbed: Testbed| todo.iter().filter(move |(block, _)| block.conditions.testbed == testbed);
        let ends = plan.bench.as_ref().and_then(|bench| bench.gateway.as_ref());
        let (mut here, mut there) = (Wanted::default(), Wanted::default());
        for (block, order) in todo.iter().filter(|(block, _)| !block.conditions.testbed.is_guest()) {
            let gateways = if block.conditions.testbed == Testbed::Host { &mut here } else { &mut there };
            order.cells.iter().for_each(|cell| gateways.by_gateway(cell, ends));
            order.cells.iter().for_each(|cell| here.by_tester(cell));
        }
        lacks("This machine", &here.lacking())?;
        let (board, on_board) = match &plan.ssh {
            Some(ssh) if of(Testbed::Ssh).next().is_some() => {
                let candor = match &ssh.candor {
                    Some(path) => plan_folder.join(path),
                    None => guest::lab_program()?,
                };
                let board = Board::reach(ssh, &candor)?;
                lacks(&ssh.host, &board.look(&there.arguments())?)?;
                let supervisor = SupervisorOrder { command: board.supervisor(), machine: Some(ssh.host.clone()) };
                (Some(board), Some(supervisor))
            }
            _ => (None, None),
        };
        Ok(Self { _board: board, supervisors: Supervisors { on_board } })
    }
}

impl Supervisors {
    fn of(&self, testbed: Testbed, candor: &Path) -> SupervisorOrder {
        match &self.on_board {
            Some(supervisor) if testbed == Testbed::Ssh => supervisor.clone(),
            _ => {
                let command = [&candor.display().to_string(), "supervise"].map(str::to_owned).into();
                SupervisorOrder { command, machine: None }
            }
        }
    }

    pub(super) fn one(
        &self,
        limits: GuestLimits,
        results: &Results,
        (block, order): &(&Block<'_>, Order),
        events: &Sender<Event>,
    ) -> Result<(), String> {
        let part = results.begin(&block.name).map_err(|error| error.to_string())?;
        let candor = std::env::current_exe().map_err(|error| format!("Cannot find the running program: {error}"))?;
        let testbed = block.conditions.testbed;
        let order = Order { supervisor: Some(self.of(testbed, &candor)), ..order.clone() };
        let written = written(&order).map_err(|error| format!("Cannot write the order: {error}"))?;
        let records = absolute(&part).map_err(|error| format!("Cannot use {}: {error}", part.display()))?;
        let mut command = Command::new(&candor);
        command.args(["cells"]).arg(written.path()).arg("--records").arg(records);
        command.env("CANDOR_TESTBED", testbed.name()).env("CANDOR_TOPOLOGY", block.conditions.topology.name());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = process::end_with_parent(&mut command).spawn();
        let mut child = child.map_err(|error| format!("Cannot start {}: {error}", candor.display()))?;
        let (states, complaint) = collect_output(&mut child, limits.timeout, events)?;
        let status = child.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            let last = complaint.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
            return Err(if last.is_empty() { format!("the tester ended with {status}") } else { last.to_owned() });
        }
        results.finish_block(&part, block, &order, &states)
    }
}

fn lacks(machine: &str, lacking: &[String]) -> Result<(), String> {
    match lacking {
        [] => Ok(()),
        [one] => Err(format!("{machine} is not ready to measure: {one}")),
        all => Err(format!("{machine} is not ready to measure:\n  {}", all.join("\n  "))),
    }
}

fn written(order: &Order) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("candor-cells-").suffix(".json").tempfile()?;
    file.write_all(&serde_json::to_vec(order)?)?;
    Ok(file)
}

/// Collects the tester's messages until it ends, and the standard error of tester and gateways until all of them have
/// ended: gateways do not overlap.
fn collect_output(child: &mut Child, timeout: Duration, events: &Sender<Event>) -> Result<(Vec<Said>, String), String> {
    let begin = Instant::now();
    let output = lines_of(child.stdout.take());
    let complaints = lines_of(child.stderr.take());
    let (mut states, mut complaint) = (Vec::new(), String::new());
    let mut is_late = false;
    loop {
        match output.recv_timeout(timeout.saturating_sub(begin.elapsed())) {
            Ok(line) => {
                if let Ok(said) = serde_json::from_str::<Said>(&line) {
                    states.push(said.clone());
                    // The receiver is gone only at the end.
                    let _ = events.send(Event::Said(said));
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                is_late = true;
                child.kill().map_err(|error| error.to_string())?;
                break;
            }
        }
    }
    let end = Instant::now();
    while let Ok(line) = complaints.recv_timeout(END_TIMEOUT.saturating_sub(end.elapsed())) {
        complaint.push_str(&line);
        complaint.push('\n');
        let _ = events.send(Event::Complaint(line + "\n"));
    }
    if is_late {
        let _ended = child.wait();
        return Err(format!("killed after {} s; --timeout allows more", timeout.as_secs()));
    }
    Ok((states, complaint))
}
