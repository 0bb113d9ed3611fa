//! `cargo xtask soak`: the long run of the gateway tests, in user-mode Linux with a clock that skips idle time.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::static_build::Arch;
use crate::{guest, step};

/// All of them run by default. The engines of `candor engines`, as `--engine` of `candor run` takes them.
const ENGINES: [&str; 2] = ["kernel", "mmap-adaptive"];

/// Longer than any run takes.
const TIMEOUT: &str = "96h";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Virtual time of each engine, with its unit. 24h take one to two hours.
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

/// As many guests at a time as there are processors, each on its own.
fn all(time: &str, engines: &[&str]) -> anyhow::Result<()> {
    let (lab, test) = guest::build(Arch::X86_64)?;
    let library = step::step("library that skips idle time", skip_idle)?;
    let processors = std::thread::available_parallelism().context("cannot count the processors")?.get();
    let mut lanes: Vec<Vec<_>> = (0..processors).map(|_| Vec::new()).collect();
    for (at, engine) in engines.iter().enumerate() {
        let processor = at % processors;
        let mut command = Command::new("taskset");
        command.current_dir(step::root()).env("LD_PRELOAD", &library).arg("--cpu-list").arg(processor.to_string());
        command.arg(&lab).args(["run", "--timeout", TIMEOUT, "--copy"]).arg(&test);
        let variables = [("REQUIRE", "root,slcan,vcan,cangw"), ("SOAK_TIME", time), ("SOAK_ENGINES", engine)];
        command.args(variables.iter().flat_map(|(name, value)| ["--env".into(), format!("CANDOR_{name}={value}")]));
        command.arg("--").arg(format!("./{}", test.file_name().unwrap_or_default().display()));
        command.args(["--test-threads=1", "--include-ignored", "--nocapture", guest::LONG_RUN]);
        lanes[processor].push(step::Logged { name: format!("long run of {engine}"), command });
    }
    step::lanes(lanes)
}

fn skip_idle() -> anyhow::Result<PathBuf> {
    let library = step::metadata()?.target_directory.as_std_path().join("skip-idle.so");
    let source = step::root().join("xtask/src/soak/skip_idle.c");
    step::run(Command::new("cc").args(["-O2", "-Wall", "-shared", "-fPIC", "-o"]).arg(&library).arg(source))?;
    Ok(library)
}
