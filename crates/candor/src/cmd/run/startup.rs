//! The process state that must be in place before the gateway starts.

mod privileges;
#[cfg(target_pointer_width = "64")]
mod seccomp;
#[cfg(target_pointer_width = "32")]
#[path = "startup/no_seccomp.rs"]
mod seccomp;

use std::error::Error;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::render;
use candor_config::plan::{Engine, Plan};
use candor_io::signal::EndingSignals;

use super::log::Log;
use super::metrics::Metrics;
use super::output::Output;
use super::reload::Hangup;
use super::report::{self, Report};
use super::warnings;
use crate::cli::{Address, RunArgs};
use crate::cmd::plan_for;
use crate::netns;

/// Everything that [`start`] has set up.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) plan: Plan,
    /// Name of the file in messages.
    pub(super) file: String,
    pub(super) signals: EndingSignals,
    pub(super) hangup: Hangup,
    pub(super) report: Report,
    pub(super) metrics: Metrics,
}

/// Prepares the process; `None` if the gateway file is not valid, which has been reported.
///
/// Each step affects the whole process and works only at its position:
///
/// ```text
///  namespace ─▶ file ─▶ run directory ─▶ privileges ─▶ seccomp ─▶ signals ─▶ output ─▶ metrics
///                                  single thread up to here ┘          first thread ┘
/// ```
pub(super) fn start(args: &RunArgs) -> Result<Option<Started>, Box<dyn Error>> {
    // First, because setns() moves only the calling thread and no socket that is already open.
    netns::enter(&args.netns)?;
    // With the privileges of root: without CAP_DAC_READ_SEARCH the file of another user may not open.
    let Some((plan, file)) = read(args)? else { return Ok(None) };
    // Still as root: chown() needs a capability that the next step drops.
    match args.user {
        Some(user) => candor_engine::give_run_dir(user.user.as_raw(), user.group.as_raw())?,
        None => candor_engine::take_run_dir_back()?,
    }
    // In a single thread, because new threads inherit capabilities and user IDs. Before seccomp, which needs no_new_privs and
    // denies capset() and setresuid().
    privileges::give_up(&plan, &args.file, args.user)?;
    // Before the first thread: a filter applies to the calling thread and to those that it starts.
    if args.seccomp {
        seccomp::confine(seccomp::Needs {
            internet: matches!(args.metrics, Some(Address::Tcp(_))),
            namespaces: privileges::tries_crc8(&plan),
            programs: privileges::loads_programs(&plan),
        })?;
    }
    // Before the first thread, because threads inherit the mask: only the supervisor receives these signals. Before any can-gw
    // job: a signal that arrives meanwhile stays pending until the jobs can be removed.
    let mut signals = EndingSignals::block()?;
    let hangup = Hangup::new(signals.take_hangups()?);
    // The writing thread inherits the seccomp filter and the signal mask.
    let log = args.log.map(Log::open).transpose()?;
    let form = match (args.json, &log) {
        (true, _) => report::Form::Json,
        (false, Some(_)) => report::Form::Log,
        (false, None) => report::Form::Text,
    };
    let report = Report::new(form, Output::start(log)?);
    // Before the gateway: an address in use is an error while nothing is installed.
    let mut metrics = Metrics::new();
    args.metrics.iter().try_for_each(|address| metrics.listen(address))?;
    Ok(Some(Started { plan, file, signals, hangup, report, metrics }))
}

/// The plan and the name of the file, whose text and findings are not kept while the gateway runs.
fn read(args: &RunArgs) -> Result<Option<(Plan, String)>, Box<dyn Error>> {
    // With --engine, the gateway checks that engine instead of the one in the file.
    let file = GatewayFile::read_for(&args.file, args.engine.map(|_other| Engine::Auto))?;
    let Some(loaded) = file.gateway_or_say(Form::running(args.json))? else { return Ok(None) };
    render::err(&render::digest(&file.source, &warnings(loaded), render::wants_colour()));
    Ok(Some((plan_for(&loaded.plan, args.engine), file.source.name().to_owned())))
}
