//! `cargo xtask soak`: the long run of the gateway tests, in user-mode Linux with a clock that skips idle time.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::{guest, step};

/// All of them run by default. The engines of `candor engines`, as `--engine` of `candor run` takes them.
const ENGINES: [&str; 2] = ["kernel", "mmap-adaptive"];

/// Longer than any run takes.
const TIMEOUT: &str = "96h";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Virtual time of each engine, with its unit. 24h take about an hour.
    #[arg(long, value_name = "TIME", default_value = "24h")]
    time: String,
    /// Engine of the gateway; can be repeated.
    #[arg(long, value_name = "ENGINE", default_values = ENGINES)]
    engine: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let engines: Vec<&str> = args.engine.iter().map(String::as_str).collect();
    all(&args.time, &engines)
}

/// Two virtual hours of each engine, for `cargo xtask nightly`.
pub(crate) fn short() -> anyhow::Result<()> {
    all("2h", &ENGINES)
}

/// A guest has one processor: as many guests at a time as there are processors, and each stays on its own. The kernel
/// of a guest and its processes alternate, which takes three times as long on two processors.
fn all(time: &str, engines: &[&str]) -> anyhow::Result<()> {
    let (lab, test) = guest::build()?;
    let library = step::step("library that skips idle time", skip_idle)?;
    let processors = std::thread::available_parallelism().context("cannot count the processors")?.get();
    let mut lanes: Vec<Vec<_>> = (0..processors).map(|_| Vec::new()).collect();
    for (at, engine) in engines.iter().enumerate() {
        let processor = at % processors;
        lanes[processor].push(long_run((&lab, &test), &library, time, engine, processor));
    }
    step::lanes(lanes)
}

fn long_run((lab, test): (&Path, &Path), library: &Path, time: &str, engine: &str, processor: usize) -> step::Logged {
    let variables = [format!("CANDOR_SOAK_TIME={time}"), format!("CANDOR_SOAK_ENGINES={engine}")];
    let tests = [guest::LONG_RUN, "--nocapture"];
    let guest = guest::command(lab, test, guest::Testbed::Uml, None, &tests, TIMEOUT, &variables);
    let mut command = Command::new("taskset");
    command.current_dir(step::root()).args(["--cpu-list", &processor.to_string()]);
    command.arg(guest.get_program()).args(guest.get_args()).env("LD_PRELOAD", library);
    step::Logged { name: format!("long run of {engine}"), command }
}

fn skip_idle() -> anyhow::Result<PathBuf> {
    let library = step::metadata()?.target_directory.as_std_path().join("skip-idle.so");
    let source = step::root().join("xtask/src/soak/skip_idle.c");
    step::run(Command::new("cc").args(["-O2", "-Wall", "-shared", "-fPIC", "-o"]).arg(&library).arg(source))?;
    Ok(library)
}
