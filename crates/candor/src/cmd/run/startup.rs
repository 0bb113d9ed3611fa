//! The process state that must be in place before the gateway starts.

mod privileges;
#[cfg(target_pointer_width = "64")]
mod seccomp;
#[cfg(target_pointer_width = "32")]
#[path = "startup/no_seccomp.rs"]
mod seccomp;

use std::error::Error;

use candor_cli::gateway_file::Form;
use candor_cli::render;
use candor_config::plan::{Engine, Plan};
use candor_io::signal::EndingSignals;

use super::links::LinkProgram;
use super::log::Log;
use super::metrics::Metrics;
use super::output::Output;
use super::reload::{Hangup, Origin};
use super::report::{self, Report};
use super::warnings;
use crate::cli::{Address, LogForm, RunArgs};
use crate::cmd::audit::Who;
use crate::cmd::{plan_for, read_file};
use crate::netns;

/// Everything that [`start`] has set up.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) plan: Plan,
    pub(super) origin: Origin,
    pub(super) signals: EndingSignals,
    pub(super) hangup: Hangup,
    pub(super) report: Report,
    pub(super) metrics: Metrics,
    pub(super) links: Option<LinkProgram>,
}

/// Prepares the process; `None` if the gateway file is not valid, which has been reported.
///
/// Each step affects the whole process and works only at its position, so each consumes the result of the one before it.
pub(super) fn start(args: &RunArgs) -> Result<Option<Started>, Box<dyn Error>> {
    let Some(file) = Namespace::enter(args)?.read_file()? else { return Ok(None) };
    file.own_run_dir()?
        .start_links()?
        .give_up_privileges()?
        .filter_system_calls()?
        .block_signals()?
        .start_output()
        .map(Some)
}

/// In the network namespace of the gateway.
struct Namespace<'a>(&'a RunArgs);

/// After the step `Done`, with the plan and where it came from.
struct After<'a, Done> {
    args: &'a RunArgs,
    plan: Plan,
    origin: Origin,
    links: Option<LinkProgram>,
    done: Done,
}

struct FileRead;
struct RunDirOwned;
struct LinksStarted;
struct PrivilegesGivenUp;
struct SystemCallsFiltered;
struct SignalsBlocked(EndingSignals, Hangup);

impl<'a> Namespace<'a> {
    /// First, because `setns()` moves only the calling thread and no socket that is already open.
    fn enter(args: &'a RunArgs) -> Result<Self, Box<dyn Error>> {
        netns::enter(&args.netns)?;
        Ok(Self(args))
    }

    /// With the privileges of root: without `CAP_DAC_READ_SEARCH` the file of another user may not open.
    fn read_file(self) -> Result<Option<After<'a, FileRead>>, Box<dyn Error>> {
        let Some((plan, origin)) = read(self.0)? else { return Ok(None) };
        Ok(Some(After { args: self.0, plan, origin, links: None, done: FileRead }))
    }
}

impl<'a, Done> After<'a, Done> {
    fn then<Next>(self, done: Next) -> After<'a, Next> {
        After { args: self.args, plan: self.plan, origin: self.origin, links: self.links, done }
    }
}

impl<'a> After<'a, FileRead> {
    /// Still as root: `chown()` needs a capability that the next step drops.
    fn own_run_dir(self) -> Result<After<'a, RunDirOwned>, Box<dyn Error>> {
        match self.args.user {
            Some(user) => candor_engine::give_run_dir(user.user.as_raw(), user.group.as_raw())?,
            None => candor_engine::take_run_dir_back()?,
        }
        Ok(self.then(RunDirOwned))
    }
}

impl<'a> After<'a, RunDirOwned> {
    /// While another user can be chosen for the program, and before seccomp forbids to start one.
    fn start_links(mut self) -> Result<After<'a, LinksStarted>, Box<dyn Error>> {
        self.links = LinkProgram::start(&self.plan)?;
        Ok(self.then(LinksStarted))
    }
}

impl<'a> After<'a, LinksStarted> {
    /// In a single thread, because new threads inherit capabilities and user IDs. Before seccomp, which needs `no_new_privs`
    /// and denies `capset()` and `setresuid()`.
    fn give_up_privileges(self) -> Result<After<'a, PrivilegesGivenUp>, Box<dyn Error>> {
        privileges::give_up(&self.plan, &self.args.file, self.args.user)?;
        Ok(self.then(PrivilegesGivenUp))
    }
}

impl<'a> After<'a, PrivilegesGivenUp> {
    /// Before the first thread: a filter applies to the calling thread and to those that it starts.
    fn filter_system_calls(self) -> Result<After<'a, SystemCallsFiltered>, Box<dyn Error>> {
        if self.args.seccomp {
            seccomp::confine(seccomp::Needs {
                internet: matches!(self.args.metrics, Some(Address::Tcp(_))),
                namespaces: privileges::tries_crc8(&self.plan),
                programs: privileges::loads_programs(&self.plan),
                queues: self.plan.has_arbitration(),
            })?;
        }
        Ok(self.then(SystemCallsFiltered))
    }
}

impl<'a> After<'a, SystemCallsFiltered> {
    /// Before the first thread, because threads inherit the mask: only the supervisor receives these signals. Before any
    /// can-gw job: a signal that arrives meanwhile stays pending until the jobs can be removed.
    fn block_signals(self) -> Result<After<'a, SignalsBlocked>, Box<dyn Error>> {
        let mut signals = EndingSignals::block()?;
        let hangup = Hangup::new(signals.take_hangups()?);
        Ok(self.then(SignalsBlocked(signals, hangup)))
    }
}

impl After<'_, SignalsBlocked> {
    /// Starts the thread that writes, which inherits the seccomp filter and the signal mask. Then listens for metrics before
    /// the gateway: an address in use is an error while nothing is installed.
    fn start_output(self) -> Result<Started, Box<dyn Error>> {
        let Self { args, plan, origin, links, done: SignalsBlocked(signals, hangup) } = self;
        let log = args.log.map(Log::open).transpose()?;
        let form = match (args.json, &log) {
            (true, _) => report::Form::Json,
            (false, Some(_)) => report::Form::Log,
            (false, None) => report::Form::Text,
        };
        // Of text, only the audit lines.
        let journal = || (form == report::Form::Text).then(|| Log::open(LogForm::Journald).ok()).flatten();
        let report = Report::new(form, Output::start(log.or_else(journal))?);
        let mut metrics = Metrics::new();
        args.metrics.iter().try_for_each(|address| metrics.listen(address))?;
        Ok(Started { plan, origin, signals, hangup, report, metrics, links })
    }
}

/// The plan and where it came from; text and findings of the file are not kept while the gateway runs.
fn read(args: &RunArgs) -> Result<Option<(Plan, Origin)>, Box<dyn Error>> {
    let (who, keys) = (Who::this_process(), args.verify.keys_of_machine()?);
    // With --engine, the gateway checks that engine instead of the one in the file.
    let file = read_file(&args.file, args.engine.map(|_other| Engine::Auto), &keys)?;
    let Some(loaded) = file.gateway_or_say(Form::running(args.json))? else { return Ok(None) };
    render::err(&render::digest(&file.source, &warnings(loaded), render::wants_colour()));
    let (plan, name) = (plan_for(&loaded.plan, args.engine), file.source.name().to_owned());
    Ok(Some((plan, Origin { name, contents: file.contents, keys, who })))
}
