//! Another file for a gateway that runs.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use candor_config::config::Loaded;
use candor_config::plan::Engine;
use candor_core::causes::in_full;
use candor_engine::{ControlFile, Gateway, Reload};
use serde_json::{Value, json};

use super::egress::Egress;
use super::report::Report;
use super::warnings;
use crate::cli::RunArgs;
use candor_cli::gateway_file::{GatewayFile, identity, tally};
use candor_cli::render;

/// What a `SIGHUP` means to this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hangup {
    /// Whether standard input, output or error was a terminal at the start, and its end is not to be outlived.
    terminals: [bool; 3],
}

impl Hangup {
    /// `was_ignored`: whoever started the process wants it to outlive the terminal.
    pub(super) fn new(was_ignored: bool) -> Self {
        Self { terminals: terminals().map(|is_terminal| is_terminal && !was_ignored) }
    }

    /// Whether the signal came because the terminal is gone, rather than to have the file read again.
    pub(super) fn is_end(self) -> bool {
        self.terminals.into_iter().zip(terminals()).any(|(was, is)| was && !is)
    }
}

/// A terminal that is gone is none any more.
fn terminals() -> [bool; 3] {
    [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()]
}

/// Reads the file again whenever somebody asks, and answers.
#[derive(Debug)]
pub(super) struct Reloader<'a> {
    file: &'a Path,
    engine: Option<Engine>,
    /// `None` where this user has no place for it.
    control_file: Option<ControlFile>,
}

impl<'a> Reloader<'a> {
    pub(super) fn new(args: &'a RunArgs) -> Self {
        let file = Some(args.file.as_path()).filter(|file| can_be_read_again(file));
        Self { file: &args.file, engine: args.engine, control_file: ControlFile::open(file.map(identity)) }
    }

    /// Where `candor top` looks for the metrics of this process.
    pub(super) fn metrics(&self) -> Option<PathBuf> {
        self.control_file.as_ref().map(ControlFile::metrics)
    }

    /// Reads the file and goes over to it, or says why not.
    ///
    /// # Errors
    /// If the gateway cannot go on at all.
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
            let because = "it came through standard input, which cannot be read again; start candor with a file";
            return Ok(report.not_reloaded(&name, because));
        }
        let file = match GatewayFile::read_for(self.file, self.engine.map(|_other| Engine::Auto)) {
            Ok(file) => file,
            Err(error) => return Ok(report.not_reloaded(&name, &in_full(&error))),
        };
        let loaded: &Loaded = match &file.checked {
            Ok(loaded) => loaded,
            Err(findings) => {
                let why = format!("{name}: not valid: {}; what ran goes on\n", tally(findings));
                let text = render::text(&file.source, findings, false) + &why;
                return Ok(report.invalid(&name, &serde_json::json!(render::json(&file.source, findings)), text));
            }
        };
        report.warn(render::digest(&file.source, &warnings(loaded), false));
        let plan = match self.engine {
            Some(engine) => loaded.plan.clone().with_engine(engine),
            None => loaded.plan.clone(),
        };
        // The queues first: the frames of new routes find them there.
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

/// What `candor reload` is told.
pub(super) fn answer(file: &str, because: Option<&str>, findings: &Value) -> Value {
    json!({"taken": because.is_none(), "file": file, "because": because, "findings": findings})
}
