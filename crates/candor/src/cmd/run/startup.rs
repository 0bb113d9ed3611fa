//! The process state that must be in place before the gateway starts.
//!
//! Each step has side effects on the whole process and works only at its position. So each is a type that only the step
//! before it gives, and that the next one consumes:
//!
//! ```text
//!  InNamespace ─▶ Configured ─▶ RunDirOwned ─▶ Unprivileged ─▶ Confined ─▶ SignalsBlocked ─▶ Reporting ─▶ Started
//!                                        single thread up to here ┘                 first thread ┘
//! ```

mod privileges;
mod seccomp;

use std::error::Error;
use std::io;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::render;
use candor_config::plan::{Engine, Plan};
use candor_engine::RunDirError;
use candor_io::signal::EndingSignals;

use super::log::Log;
use super::metrics::{Address, Metrics, MetricsError};
use super::output::Output;
use super::reload::Hangup;
use super::report::{self, Report};
use super::warnings;
use crate::cli::RunArgs;
use crate::netns::{self, NetnsError};
use privileges::PrivilegesError;
use seccomp::SeccompError;

/// The process is in the network namespace of `--netns`.
///
/// First, because `setns()` moves only the calling thread and no socket that is open already.
#[derive(Debug)]
pub(super) struct InNamespace(());

/// The gateway file is read and valid.
///
/// While the process has root's rights: without `CAP_DAC_READ_SEARCH` the file of another user may not open. All later steps
/// depend on the plan.
#[derive(Debug)]
pub(super) struct Configured {
    plan: Plan,
    /// The file as messages name it.
    file: String,
}

/// `/run/candor` belongs to the user that the gateway will run as.
///
/// While the process is still root: `chown()` needs a capability that the next step drops.
#[derive(Debug)]
pub(super) struct RunDirOwned(Configured);

/// Only the capabilities that the plan needs are left, and the process runs as `--user`.
///
/// While there is one thread: capabilities and user ids belong to threads, and new threads inherit them. Before seccomp,
/// which needs `no_new_privs` and denies `capset()` and `setresuid()`.
#[derive(Debug)]
pub(super) struct Unprivileged(Configured);

/// With `--seccomp`, the process makes only the system calls of a gateway.
///
/// Before the first thread starts, because a filter applies to the calling thread and to those that it starts.
#[derive(Debug)]
pub(super) struct Confined(Configured);

/// `SIGHUP`, `SIGINT` and `SIGTERM` are blocked and wait to be fetched.
///
/// Before the first thread starts, because threads inherit the mask: only the supervisor receives them. Before any can-gw job
/// is installed: a signal that comes meanwhile waits until the jobs can be removed.
#[derive(Debug)]
pub(super) struct SignalsBlocked {
    configured: Configured,
    signals: EndingSignals,
    hangup: Hangup,
}

/// The writing thread runs, so that output never blocks the supervisor.
///
/// After seccomp and the signal mask, which this thread inherits. Before the metrics, whose failures it does not report, and
/// before the gateway, whose notices it writes.
#[derive(Debug)]
pub(super) struct Reporting {
    before: SignalsBlocked,
    report: Report,
}

/// Everything is in place, and `--metrics` is bound.
///
/// Before the gateway: an address in use is an error while nothing is installed.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) plan: Plan,
    pub(super) file: String,
    pub(super) signals: EndingSignals,
    pub(super) hangup: Hangup,
    pub(super) report: Report,
    pub(super) metrics: Metrics,
}

/// All steps in their order; `None` if the gateway file is not valid, which has been reported.
pub(super) fn start(args: &RunArgs) -> Result<Option<Started>, Box<dyn Error>> {
    let Some(configured) = InNamespace::enter(args)?.read(args)? else { return Ok(None) };
    let unprivileged = configured.own_run_dir(args)?.drop_privileges(args)?;
    let reporting = unprivileged.confine(args)?.block_signals()?.report(args)?;
    Ok(Some(reporting.listen(args)?))
}

impl InNamespace {
    fn enter(args: &RunArgs) -> Result<Self, NetnsError> {
        netns::enter(&args.netns).map(Self)
    }

    fn read(self, args: &RunArgs) -> Result<Option<Configured>, Box<dyn Error>> {
        // With --engine, the engine that the file names need not be able to run the routes: the gateway checks the other one.
        let file = GatewayFile::read_for(&args.file, args.engine.map(|_other| Engine::Auto))?;
        let Some(loaded) = file.gateway_or_say(Form::running(args.json))? else { return Ok(None) };
        render::err(&render::digest(&file.source, &warnings(loaded), render::wants_colour()));
        // Dropped here: text and findings of a large file are not kept for as long as the gateway runs.
        let GatewayFile { source, checked } = file;
        let file = source.name().to_owned();
        let Ok(loaded) = checked else { return Ok(None) };
        let plan = match args.engine {
            Some(engine) => loaded.plan.with_engine(engine),
            None => loaded.plan,
        };
        Ok(Some(Configured { plan, file }))
    }
}

impl Configured {
    fn own_run_dir(self, args: &RunArgs) -> Result<RunDirOwned, RunDirError> {
        match args.user {
            Some(user) => candor_engine::give_run_dir(user.user.as_raw(), user.group.as_raw())?,
            None => candor_engine::take_run_dir_back()?,
        }
        Ok(RunDirOwned(self))
    }
}

impl RunDirOwned {
    fn drop_privileges(self, args: &RunArgs) -> Result<Unprivileged, PrivilegesError> {
        privileges::give_up(&self.0.plan, &args.file, args.user)?;
        Ok(Unprivileged(self.0))
    }
}

impl Unprivileged {
    fn confine(self, args: &RunArgs) -> Result<Confined, SeccompError> {
        if args.seccomp {
            seccomp::confine(seccomp::Needs {
                internet: matches!(args.metrics, Some(Address::Tcp(_))),
                namespaces: privileges::tries_crc8(&self.0.plan),
                programs: privileges::loads_programs(&self.0.plan),
            })?;
        }
        Ok(Confined(self.0))
    }
}

impl Confined {
    fn block_signals(self) -> io::Result<SignalsBlocked> {
        let mut signals = EndingSignals::block()?;
        let hangup = Hangup::new(signals.take_hangups()?);
        Ok(SignalsBlocked { configured: self.0, signals, hangup })
    }
}

impl SignalsBlocked {
    fn report(self, args: &RunArgs) -> Result<Reporting, Box<dyn Error>> {
        let log = args.log.map(Log::open).transpose()?;
        let form = match (args.json, &log) {
            (true, _) => report::Form::Json,
            (false, Some(_)) => report::Form::Log,
            (false, None) => report::Form::Text,
        };
        Ok(Reporting { before: self, report: Report::new(form, Output::start(log)?) })
    }
}

impl Reporting {
    fn listen(self, args: &RunArgs) -> Result<Started, MetricsError> {
        let mut metrics = Metrics::new();
        args.metrics.iter().try_for_each(|address| metrics.listen(address))?;
        let Self { before: SignalsBlocked { configured: Configured { plan, file }, signals, hangup }, report } = self;
        Ok(Started { plan, file, signals, hangup, report, metrics })
    }
}
