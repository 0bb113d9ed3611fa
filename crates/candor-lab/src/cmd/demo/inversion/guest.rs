//! The acts in a guest of the instruction-counted laboratory.

use candor_lab::guest::{self, GuestSpec};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;
use candor_lab::observer::Observer;

use super::Failure;
use super::report::Report;
use crate::cli::DemoInversionArgs;
use crate::cmd::guests;
use crate::cmd::progress::Progress;

/// Boots a guest for it.
pub(super) fn play(args: &DemoInversionArgs) -> Result<Report, Failure> {
    let mut spec = GuestSpec::new(Testbed::Icount, Topology::Vcan, guest::static_lab()?, command(args));
    spec.kernel.clone_from(&args.kernel);
    spec.timeout = args.timeout;
    let mut stage = Stage { progress: Progress::new(), said: Vec::new() };
    let exit = guest::run(&spec, &mut stage);
    stage.progress.clear();
    let exit = exit.inspect_err(guests::show_console)?;
    // 1 is an answer.
    if exit.status > 1 {
        return Err(format!("It could not be played in the guest (status {})", exit.status).into());
    }
    guests::tell_platform(&exit, "played");
    Ok(serde_json::from_slice(&stage.said).map_err(|error| format!("The guest gave no figures: {error}"))?)
}

fn command(args: &DemoInversionArgs) -> Vec<String> {
    let (every, frames) = (format!("{}ns", args.every.as_nanos()), args.frames.to_string());
    let depth = args.depth.to_string();
    let words = [
        "candor-lab",
        "demo",
        "inversion",
        "--here",
        "--json",
        "--every",
        &every,
        "--frames",
        &frames,
        "--depth",
        &depth,
    ];
    words.map(str::to_owned).to_vec()
}

/// Shows how far it is, and keeps what comes out.
struct Stage {
    progress: Progress,
    said: Vec<u8>,
}

impl Observer for Stage {
    fn stage(&mut self, stage: &str) {
        self.progress.stage(stage);
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        self.progress.fetched(what, bytes, total);
    }

    fn started(&mut self) {
        self.progress.started();
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.said.extend_from_slice(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.progress.stderr(bytes);
    }
}
