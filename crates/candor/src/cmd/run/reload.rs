//! `SIGHUP`: reloading the gateway file, another mode, or the end of the terminal.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use candor_config::changes::Changes;
use candor_config::config::Loaded;
use candor_config::plan::Engine;
use candor_core::causes::in_full;
use candor_engine::{ControlFile, Gateway, ModeCause, ModeChange, ModeRequest, Reload};
use candor_io::signal::{Sender, Signal};
use serde_json::Value;

use super::egress::Egress;
use super::links::Links;
use super::report::Report;
use super::report::events::ModeView;
use super::warnings;
use crate::cli::RunArgs;
use crate::cmd::audit::{Audit, Cause, FileView, Who};
use crate::cmd::{no_mode, plan_for, read_file};
use candor_cli::gateway_file::{Content, identity, tally};
use candor_cli::render;
use candor_cli::signed::Keys;

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

/// Where the plan came from.
#[derive(Debug)]
pub(super) struct Origin {
    /// Name of the file in messages.
    pub(super) name: String,
    pub(super) contents: Vec<Content>,
    /// The keys of which the file and later ones need a signature.
    pub(super) keys: Keys,
    /// Who started the gateway.
    pub(super) who: Who,
}

/// Reloads the gateway file and answers through the control file.
#[derive(Debug)]
pub(super) struct Reloader<'a> {
    file: &'a Path,
    engine: Option<Engine>,
    origin: Origin,
    /// `None` if this user has no run directory.
    control_file: Option<ControlFile>,
}

impl<'a> Reloader<'a> {
    pub(super) fn new(args: &'a RunArgs, origin: Origin) -> Self {
        let file = Some(args.file.as_path()).filter(|file| can_be_read_again(file));
        let signer = origin.contents.first().and_then(|content| content.signer.as_ref());
        let control_file = ControlFile::open(file.map(identity), signer);
        Self { file: &args.file, engine: args.engine, origin, control_file }
    }

    /// Path of the metrics socket for `candor top`.
    pub(super) fn metrics(&self) -> Option<PathBuf> {
        self.control_file.as_ref().map(ControlFile::metrics)
    }

    /// Where the plan that runs came from.
    pub(super) const fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Reads the file and switches to it, or reports why not; or does what `candor mode` asks for. Signatures are verified with the keys of the start.
    ///
    /// # Errors
    /// The gateway cannot continue. An invalid or unsuitable file is not an error.
    pub(super) fn reload(
        &mut self,
        gateway: &mut Gateway,
        around: (&mut Egress<'_>, &mut Links<'_>),
        report: &Report,
        sender: Option<Sender>,
    ) -> Result<(), Box<dyn Error>> {
        let who = Who::sender(sender);
        let request = self.control_file.as_ref().and_then(ControlFile::take_mode_request);
        if let Some(control_file) = &mut self.control_file {
            control_file.begin();
        }
        if let Some(request) = request {
            let answer = self.switch_mode(&request, who, gateway, report)?;
            if let Some(control_file) = &mut self.control_file {
                control_file.answer(answer);
            }
            return Ok(());
        }
        let before = gateway.plan().clone();
        let (answer, contents) = self.try_to(gateway, around, report)?;
        let taken = answer["taken"] == true;
        report.audit(&Audit {
            cause: Cause::Reload,
            mode: None,
            who,
            signal: Some(Signal::Hangup.name()),
            files: if contents.is_empty() {
                vec![FileView::unread(&self.origin.name)]
            } else {
                FileView::all(&contents)
            },
            changes: Changes::between(Some(&before), Some(gateway.plan())),
            because: (!taken).then(|| answer["because"].as_str().unwrap_or_default().to_owned()),
        });
        if taken {
            self.origin.contents = contents;
        }
        if let (Some(mode), None) = (before.mode(), gateway.mode()) {
            report.message(&format!("Mode {:?} is over, because the new file does not have it", mode.name), false);
        }
        if let Some(control_file) = &mut self.control_file {
            control_file.signed_by(self.origin.contents.first().and_then(|content| content.signer.as_ref()));
            control_file.answer(answer);
        }
        Ok(())
    }

    /// The answer to `candor mode`.
    fn switch_mode(
        &self,
        request: &ModeRequest,
        who: Who,
        gateway: &mut Gateway,
        report: &Report,
    ) -> Result<Value, Box<dyn Error>> {
        let wanted = match request {
            ModeRequest::Enter(name) => Some(name.as_str()),
            ModeRequest::Leave => None,
            ModeRequest::Show => return Ok(report.mode(&ModeView::of(gateway, None))),
        };
        let mut change = gateway.switch_mode(wanted, ModeCause::Command, &mut |notice| report.notice(&notice))?;
        if let Some(name) = wanted.filter(|name| !gateway.plan().modes().iter().any(|mode| mode.name == *name)) {
            change.outcome = Err(no_mode(gateway.plan(), name));
        }
        Ok(self.tell_mode(&change, (who, Some(Signal::Hangup)), gateway, report))
    }

    /// Reports a change of the mode. Returns the answer for `candor mode`.
    pub(super) fn tell_mode(
        &self,
        change: &ModeChange,
        (who, signal): (Who, Option<Signal>),
        gateway: &Gateway,
        report: &Report,
    ) -> Value {
        let view = ModeView::of(gateway, Some(change));
        let answer = report.mode(&view);
        // A mode that goes on changes nothing that crosses.
        if change.before != change.wanted {
            report.audit(&Audit {
                cause: Cause::Mode,
                mode: Some(view.audited()),
                who,
                signal: signal.map(Signal::name),
                files: FileView::all(&self.origin.contents),
                changes: change.outcome.as_ref().map(|outcome| outcome.changes.clone()).unwrap_or_default(),
                because: change.outcome.as_ref().err().cloned(),
            });
        }
        answer
    }

    /// The answer, and what was read.
    fn try_to(
        &self,
        gateway: &mut Gateway,
        (egress, links): (&mut Egress<'_>, &mut Links<'_>),
        report: &Report,
    ) -> Result<(Value, Vec<Content>), Box<dyn Error>> {
        let name = self.file.display().to_string();
        if !can_be_read_again(self.file) {
            let because = "it came from standard input, which cannot be read again; start candor with a file";
            return Ok((report.not_reloaded(&name, because), Vec::new()));
        }
        let file = match read_file(self.file, self.engine.map(|_other| Engine::Auto), &self.origin.keys) {
            Ok(file) => file,
            Err(error) => return Ok((report.not_reloaded(&name, &in_full(&error)), Vec::new())),
        };
        let contents = file.contents;
        let loaded: &Loaded = match &file.checked {
            Ok(loaded) => loaded,
            Err(findings) => {
                let why = format!("{name}: not valid: {}; the running gateway is unchanged\n", tally(findings));
                let text = render::text(&file.source, findings, false) + &why;
                return Ok((report.invalid(&name, render::json(&file.source, findings), &text), contents));
            }
        };
        report.warn(render::digest(&file.source, &warnings(loaded), false));
        let plan = plan_for(&loaded.plan, self.engine);
        // Interfaces before their queues.
        let links_before = match links.change(&plan) {
            Ok(before) => before,
            Err(error) => return Ok((report.not_reloaded(&name, &in_full(&error)), contents)),
        };
        // Queues first, so that they exist before new routes send.
        let before = match egress.change(&plan) {
            Ok(before) => before,
            Err(error) => {
                links.back(links_before);
                return Ok((report.not_reloaded(&name, &in_full(&error)), contents));
            }
        };
        let answer = match gateway.reload(plan, &mut |notice| report.notice(&notice))? {
            Reload::Done(reloaded) => {
                links.settle(gateway.plan());
                report.reloaded(gateway, &name, &reloaded)
            }
            Reload::Refused(error) => {
                egress.back(before);
                links.back(links_before);
                report.not_reloaded(&name, &in_full(&error))
            }
            _ => Value::Null,
        };
        Ok((answer, contents))
    }
}

fn can_be_read_again(file: &Path) -> bool {
    file.as_os_str() != "-"
}
