//! `SIGHUP`: reloading the gateway file, or the end of the terminal.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use candor_config::config::Loaded;
use candor_config::plan::Engine;
use candor_core::causes::in_full;
use candor_engine::{ControlFile, Gateway, Reload};
use serde_json::Value;

use super::egress::Egress;
use super::report::Report;
use super::warnings;
use crate::cli::RunArgs;
use crate::cmd::{plan_for, read_file};
use candor_cli::gateway_file::{identity, tally};
use candor_cli::render;

/// Distinguishes the two meanings of `SIGHUP`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hangup {
    /// True for each of stdin, stdout and stderr that was a terminal at the start; the gateway ends if it closes.
    terminals: [bool; 3],
}

impl Hangup {
    /// `was_ignored`: the process was started to outlive its terminal (`nohup`).
    pub(super) fn new(was_ignored: bool) -> Self {
        Self { terminals: terminals().map(|is_terminal| is_terminal && !was_ignored) }
    }

    /// True if a terminal was closed since the start; otherwise the signal requests a reload.
    pub(super) fn is_end(self) -> bool {
        self.terminals.into_iter().zip(terminals()).any(|(was, is)| was && !is)
    }
}

/// `isatty()` is false for a terminal that was closed.
fn terminals() -> [bool; 3] {
    [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()]
}

/// Reloads the gateway file and answers through the control file.
#[derive(Debug)]
pub(super) struct Reloader<'a> {
    file: &'a Path,
    engine: Option<Engine>,
    /// `None` if this user has no run directory.
    control_file: Option<ControlFile>,
}

impl<'a> Reloader<'a> {
    pub(super) fn new(args: &'a RunArgs) -> Self {
        let file = Some(args.file.as_path()).filter(|file| can_be_read_again(file));
        Self { file: &args.file, engine: args.engine, control_file: ControlFile::open(file.map(identity)) }
    }

    /// Path of the metrics socket for `candor top`.
    pub(super) fn metrics(&self) -> Option<PathBuf> {
        self.control_file.as_ref().map(ControlFile::metrics)
    }

    /// Reads the file and switches to it, or reports why not.
    ///
    /// # Errors
    /// The gateway cannot continue. An invalid or unsuitable file is not an error.
    pub(super) fn reload(
        &mut self,
        gateway: &mut Gateway,
        egress: &mut Egress<'_>,
        report: &Report,
    ) -> Result<(), Box<dyn Error>> {
        if let Some(control_file) = &mut self.control_file {
            control_file.begin();
        }
        let answer = self.try_to(gateway, egress, report)?;
        if let Some(control_file) = &mut self.control_file {
            control_file.answer(answer);
        }
        Ok(())
    }

    fn try_to(&self, gateway: &mut Gateway, egress: &mut Egress<'_>, report: &Report) -> Result<Value, Box<dyn Error>> {
        let name = self.file.display().to_string();
        if !can_be_read_again(self.file) {
            let because = "it came from standard input, which cannot be read again; start candor with a file";
            return Ok(report.not_reloaded(&name, because));
        }
        let file = match read_file(self.file, self.engine.map(|_other| Engine::Auto)) {
            Ok(file) => file,
            Err(error) => return Ok(report.not_reloaded(&name, &in_full(&error))),
        };
        let loaded: &Loaded = match &file.checked {
            Ok(loaded) => loaded,
            Err(findings) => {
                let why = format!("{name}: not valid: {}; the running gateway is unchanged\n", tally(findings));
                let text = render::text(&file.source, findings, false) + &why;
                return Ok(report.invalid(&name, render::json(&file.source, findings), &text));
            }
        };
        report.warn(render::digest(&file.source, &warnings(loaded), false));
        let plan = plan_for(&loaded.plan, self.engine);
        // Queues first, so that they exist before new routes send.
        let before = match egress.change(&plan) {
            Ok(before) => before,
            Err(error) => return Ok(report.not_reloaded(&name, &in_full(&error))),
        };
        match gateway.reload(plan, &mut |notice| report.notice(&notice))? {
            Reload::Done(reloaded) => Ok(report.reloaded(gateway, &name, &reloaded)),
            Reload::Refused(error) => {
                egress.back(before);
                Ok(report.not_reloaded(&name, &in_full(&error)))
            }
            _ => Ok(Value::Null),
        }
    }
}

fn can_be_read_again(file: &Path) -> bool {
    file.as_os_str() != "-"
}
