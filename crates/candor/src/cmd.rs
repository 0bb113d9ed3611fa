//! One module per command.

pub(crate) mod apply;
mod audit;
pub(crate) mod bounds;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod down;
mod driver;
pub(crate) mod dump;
pub(crate) mod egress;
pub(crate) mod engines;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod init;
mod job_text;
pub(crate) mod lab;
mod listening;
pub(crate) mod mode;
pub(crate) mod networkd;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod reload;
pub(crate) mod run;
mod running;
#[cfg(test)]
mod schema;
pub(crate) mod show;
pub(crate) mod status;
#[cfg(test)]
mod test_links;
mod time_text;
pub(crate) mod top;
pub(crate) mod verifier;
pub(crate) mod watch;

use std::path::Path;

use candor_cli::gateway_file::{GatewayFile, ReadError};
use candor_cli::signed::Keys;
use candor_cli::table;
use candor_config::plan::{Engine, Plan};
use candor_egress::netlink::arbitration;

/// Reads a file and checks it for this engine instead of the one in the file. Where this kernel has no queues in BPF, their
/// place is taken by the bands, with a warning.
///
/// # Errors
/// As [`GatewayFile::read_for`].
fn read_file(path: &Path, engine: Option<Engine>, keys: &Keys) -> Result<GatewayFile, ReadError> {
    let mut file = GatewayFile::read_for(path, engine, keys)?;
    if let Ok(loaded) = &mut file.checked {
        loaded.settle_queues(|| arbitration::layout().is_ok());
    }
    Ok(file)
}

/// The plan in a mode of its file, if one is wanted.
///
/// # Errors
/// If the file has no such mode.
fn in_mode(plan: Plan, mode: Option<&str>) -> Result<Plan, String> {
    let Some(name) = mode else { return Ok(plan) };
    plan.in_mode(name).ok_or_else(|| no_mode(&plan, name))
}

/// Says that there is no mode of this name, and which there are.
fn no_mode(plan: &Plan, name: &str) -> String {
    let known: Vec<_> = plan.modes().iter().map(|mode| mode.name.as_str()).collect();
    match known.as_slice() {
        [] => format!("there is no mode {name:?}: the file has no mode"),
        known => format!("there is no mode {name:?}; modes: {}", known.join(", ")),
    }
}

/// The plan of a file; run by `engine` instead of its own if one is given.
fn plan_for(plan: &Plan, engine: Option<Engine>) -> Plan {
    match engine {
        Some(engine) => plan.clone().with_engine(engine),
        None => plan.clone(),
    }
}
