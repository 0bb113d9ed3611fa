//! Running commands, and reporting what runs and how long it took.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};

/// Steps that have ended, in their order.
static ENDED: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// The top directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies in a directory of the workspace").to_path_buf()
}

/// The cargo that started this xtask.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command; its exit status is the error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// True if a command can be started and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// The standard output of a command that succeeds.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = show(command);
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} prints other than UTF-8"))
}

/// True if `CANDOR_REQUIRE` lists a feature.
pub(crate) fn is_required(feature: &str) -> bool {
    std::env::var("CANDOR_REQUIRE").is_ok_and(|all| all.split(',').any(|one| one == feature))
}

/// Announces a step, runs it, and notes how long it took.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    println!("==> {name}");
    let start = Instant::now();
    let result = work().with_context(|| format!("step \"{name}\" failed"));
    ended(name, start);
    result
}

fn ended(name: &str, start: Instant) {
    let took = start.elapsed();
    println!("<== {name}: {:.1} s", took.as_secs_f64());
    ENDED.lock().expect("no step panics while it is noted").push((name.to_owned(), took));
}

/// Prints how long each step took, after the work, and whatever its result.
pub(crate) fn with_times(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let start = Instant::now();
    let result = work();
    let steps = ENDED.lock().expect("no step panics while it is noted");
    let width = steps.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(5);
    println!("\n{:width$} {:>9}", "step", "s");
    for (name, took) in steps.iter() {
        println!("{name:width$} {:9.1}", took.as_secs_f64());
    }
    let total = start.elapsed().as_secs_f64();
    println!("{:width$} {total:9.1} ({:.1} min)", "total", total / 60.0);
    result
}

/// A command as a step; its output goes to a file first.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) name: String,
    pub(crate) command: Command,
}

/// Runs lists of steps at the same time, each list in its order. The output of a step is shown when it ends, so that
/// outputs do not mix. A list continues after a failed step; all failures are reported.
pub(crate) fn lanes(lanes: Vec<Vec<Logged>>) -> anyhow::Result<()> {
    let logs = metadata()?.target_directory.join("logs").into_std_path_buf();
    std::fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let failures: Vec<anyhow::Error> = thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .into_iter()
            .map(|lane| scope.spawn(|| lane.into_iter().filter_map(|step| step.run(&logs).err()).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a lane does not panic")).collect()
    });
    let mut failures = failures.into_iter().map(|error| format!("{error:#}"));
    match failures.next() {
        None => Ok(()),
        Some(first) => Err(anyhow!(failures.fold(first, |all, one| format!("{all}\n{one}")))),
    }
}

impl Logged {
    fn run(mut self, logs: &Path) -> anyhow::Result<()> {
        static SHOWN: Mutex<()> = Mutex::new(());
        let name = self.name.replace(|one: char| !one.is_alphanumeric(), "-");
        let path = logs.join(name).with_extension("log");
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let shown = show(&self.command);
        println!("==> {}: output in {}", self.name, path.display());
        let start = Instant::now();
        self.command.stdin(Stdio::null()).stderr(file.try_clone().context("cannot share a file")?).stdout(file);
        let status = self.command.status().with_context(|| format!("cannot start {shown}"))?;
        let _one_at_a_time = SHOWN.lock().expect("showing does not panic");
        println!("==> output of {}", self.name);
        let mut output = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        std::io::copy(&mut output, &mut std::io::stdout()).context("cannot show the output")?;
        ended(&self.name, start);
        if !status.success() {
            bail!("step \"{}\" failed: {shown}: {status}", self.name);
        }
        Ok(())
    }
}

/// The workspace as cargo sees it.
pub(crate) fn metadata() -> anyhow::Result<cargo_metadata::Metadata> {
    let manifest = root().join("Cargo.toml");
    cargo_metadata::MetadataCommand::new().manifest_path(manifest).no_deps().exec().context("cargo metadata")
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
