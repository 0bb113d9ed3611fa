//! `candor-lab evidence-runs`: what crosses a border, measured in a guest for `candor-lab evidence`.
//!
//! ```text
//!  in_guest ─▶ guest: play ─▶ drivers ─▶ paths ─┬─▶ flood, order, jitter (vcan)
//!                                               └─▶ inversion (candor-lab wire) ─▶ spoofed ─▶ Runs
//! ```

mod drivers;
mod gateway;
mod inversion;
mod paths;
mod spoofed;
mod traffic;
mod way;

use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use std::{fs, path};

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::plan::{BusIndex, Plan};
use candor_lab::border::Runs;
use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;

use super::{guests, tester};
use crate::cli::EvidenceRunsArgs;

type Failure = Box<dyn std::error::Error>;

pub(crate) fn run(args: &EvidenceRunsArgs) -> Outcome {
    let file = GatewayFile::read(&args.gateway)?;
    let Some(loaded) = file.gateway_or_say(Form::Object)? else { return Ok(Exit::No) };
    let untrusted = buses(&loaded.plan, &args.untrusted)?;
    let runs = if args.here {
        play(&args.gateway, &loaded.plan, &untrusted)?
    } else {
        in_guest(&args.gateway, &args.untrusted, args.kernel.as_deref(), args.timeout)?
    };
    render::out(&render::object(&runs))?;
    Ok(Exit::Fine)
}

fn buses(plan: &Plan, names: &[String]) -> Result<Vec<BusIndex>, String> {
    let place = |name: &String| plan.buses().iter().position(|bus| bus.name == *name).map(BusIndex);
    names.iter().map(|name| place(name).ok_or_else(|| format!("The gateway has no bus {name} (--untrusted)"))).collect()
}

/// Where the host's files are in the guest: below this, their relative paths stay valid.
const FOLDER: &str = "/host";

/// Boots a guest and runs everything there. The file and its databases are copied; key files are not.
///
/// # Errors
/// If a file cannot be read, the guest does not boot, or a run fails.
pub(super) fn in_guest(
    file: &Path,
    untrusted: &[String],
    kernel: Option<&str>,
    timeout: Duration,
) -> Result<Runs, Failure> {
    let file = plain(&path::absolute(file)?);
    let mut words = ["candor-lab".to_owned(), "evidence-runs".to_owned(), in_guest_path(&file)].to_vec();
    words.extend(untrusted.iter().map(|name| format!("--untrusted={name}")));
    words.push("--here".to_owned());
    // Its cards give a driver whose order is measured, too.
    let mut spec = GuestSpec::new(Testbed::Icount, Topology::Kvaser, guest::guest_lab()?, words);
    spec.files.extend(files_for_guest(&file)?);
    spec.kernel = kernel.map(str::to_owned);
    spec.timeout = timeout;
    // Each gateway of a run repeats the warnings of the file.
    guests::figures(&spec)
}

/// Where a file of the host is in the guest.
pub(super) fn in_guest_path(path: &Path) -> String {
    format!("{FOLDER}{}", path.display())
}

/// A gateway file and its databases, as a guest gets them.
pub(super) fn files_for_guest(file: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for content in GatewayFile::read(file)?.contents {
        let path = plain(Path::new(&content.file));
        let bytes = fs::read(&path).map_err(|error| format!("Cannot read {}: {error}", path.display()))?;
        // The second is for absolute paths in the file.
        files.push((in_guest_path(&path), bytes.clone()));
        if path != file {
            files.push((path.display().to_string(), bytes));
        }
    }
    Ok(files)
}

/// Without `.` and `..`: links of directories are not followed.
pub(super) fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            other => all.push(other),
        }
        all
    })
}

/// Runs everything on this machine.
fn play(file: &Path, plan: &Plan, untrusted: &[BusIndex]) -> Result<Runs, Failure> {
    let drivers = drivers::measure()?;
    let (paths, not_run) = paths::measure(file, plan, untrusted)?;
    let spoofed = spoofed::measure(file, plan, untrusted)?;
    Ok(Runs { kernel_release: tester::kernel_release(), paths, not_run, spoofed, drivers })
}
