//! `candor-lab run`, `shell` and `kernels`, and what all commands that boot guests share.

use std::io;
use std::path::Path;

use candor_cli::{Exit, Outcome, render};
use candor_core::causes;
use candor_lab::cache::Cache;
use candor_lab::guest::{self, ClockShift, GuestExit, GuestSpec, LabError, ShellError, guest_lab};
use candor_lab::job::Topology;
use candor_lab::kernel::{self, Kernel, Move};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::progress::Progress;
use crate::cli::{GuestArgs, LabKernelsArgs, LabRunArgs, LabShellArgs};

pub(crate) fn run(args: &LabRunArgs) -> Outcome {
    let mut spec = specification(&args.guest, args.command.clone())?;
    spec.out.clone_from(&args.out);
    let mut progress = Progress::new();
    let exit = guest::run(&spec, &mut progress);
    progress.clear();
    let exit = exit.inspect_err(show_console)?;
    if exit.status != 0 {
        hint_at_copy(args);
    }
    match progress.failed {
        // The reader has enough, as in `| head -1`.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Guest(exit.status)),
        Some(error) => Err(error.into()),
        None => Ok(Exit::Guest(exit.status)),
    }
}

/// The JSON that a command prints in a guest. What it writes on standard error is shown only if it fails.
///
/// # Errors
/// If the guest does not boot, or the command fails or prints something else.
pub(crate) fn figures<T: DeserializeOwned>(spec: &GuestSpec) -> Result<T, Box<dyn std::error::Error>> {
    let mut progress = Progress::new();
    (progress.kept, progress.kept_errors) = (Some(Vec::new()), Some(Vec::new()));
    let exit = guest::run(spec, &mut progress);
    progress.clear();
    let exit = exit.inspect_err(show_console)?;
    if exit.status != 0 {
        render::err(&String::from_utf8_lossy(&progress.kept_errors.unwrap_or_default()));
        return Err(format!("The runs failed in the guest (status {})", exit.status).into());
    }
    let figures = serde_json::from_slice(&progress.kept.unwrap_or_default());
    Ok(figures.map_err(|error| format!("The guest printed no figures: {error}"))?)
}

/// The arguments of a failed command may be files of this machine that are missing in the guest.
fn hint_at_copy(args: &LabRunArgs) {
    let copied = |name: &str| args.guest.copy.iter().any(|file| file.ends_with(name));
    let files = args.command.iter().skip(1).filter(|word| Path::new(word).is_file() && !copied(word));
    for file in files {
        render::err(&format!(
            "candor-lab: {file} is a file of this machine; --copy {file} puts it into the guest's working directory\n"
        ));
    }
}

pub(crate) fn shell(args: &LabShellArgs) -> Outcome {
    let mut spec = specification(&args.guest, vec!["sh".to_owned()])?;
    let term = std::env::var("TERM").unwrap_or_else(|_| "dumb".to_owned());
    spec.environment.insert("TERM".to_owned(), term);
    spec.environment.insert("PS1".to_owned(), format!("{}:\\w# ", spec.testbed.name()));
    let mut progress = Progress::new();
    let exit = guest::shell(&spec, &mut progress);
    progress.clear();
    if let Err(ShellError::Lab(error)) = &exit {
        show_console(error);
    }
    Ok(Exit::Guest(exit?.status))
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct KernelsView {
    kernels: Vec<Kernel>,
}

pub(crate) fn kernels(args: &LabKernelsArgs) -> Outcome {
    if let Some(file) = &args.move_pins {
        return move_pins(file, &args.moves);
    }
    if let Some(name) = &args.build_files {
        let mut progress = Progress::new();
        let folder = kernel::build_files(&Cache::of_user()?.of(args.arch), name, &mut progress);
        progress.clear();
        return render::answer(&format!("{}\n", folder?.display()), Exit::Fine);
    }
    let kernels = kernel::list(&Cache::of_user()?.of(args.arch));
    if args.json {
        render::out(&render::object(&KernelsView { kernels }))?;
    } else {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(["name", "testbed", "release", "version", "suite", "pinned", "cached"]);
        for kernel in kernels {
            table.add_row([
                kernel.name.as_str(),
                kernel.testbed.name(),
                kernel.release.as_deref().unwrap_or("(known once cached)"),
                &kernel.version,
                &kernel.suite,
                yes_or_no(kernel.pinned),
                yes_or_no(kernel.cached),
            ]);
        }
        render::out(&format!("{table}\n"))?;
    }
    Ok(Exit::Fine)
}

const fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn move_pins(file: &Path, moves: &[Move]) -> Outcome {
    let mut progress = Progress::new();
    let changes = kernel::move_pins(&Cache::of_user()?, file, moves, &mut progress);
    progress.clear();
    changes?.iter().try_for_each(|change| render::out(&format!("{change}\n")))?;
    Ok(Exit::Fine)
}

/// The guest that the options describe.
fn specification(args: &GuestArgs, command: Vec<String>) -> Result<GuestSpec, Box<dyn std::error::Error>> {
    let mut spec = GuestSpec::new(args.testbed, args.topology, guest_lab()?, command);
    spec.tools = true;
    if !args.wire_adapter.is_empty() && spec.topology != Topology::Wire {
        return Err("--wire-adapter is for buses of candor-lab wire: add --topology wire".into());
    }
    spec.wire_adapters = args.wire_adapter.iter().map(ToString::to_string).collect();
    spec.bare_metal = args.bare_metal;
    spec.arch = args.arch;
    spec.kernel.clone_from(&args.kernel);
    spec.modules.clone_from(&args.module);
    spec.copies.clone_from(&args.copy);
    bring_command(&mut spec);
    spec.programs.clone_from(&args.program);
    spec.module_parameters.clone_from(&args.module_parameter);
    spec.timeout = args.timeout;
    spec.clock = ClockShift::new(args.shift).unwrap_or_default();
    for file in &args.copy {
        std::fs::File::open(file).map_err(|error| format!("Cannot read {} for --copy: {error}", file.display()))?;
    }
    spec.environment.extend(std::env::var("NO_COLOR").ok().map(|value| ("NO_COLOR".to_owned(), value)));
    for written in &args.env {
        let (name, value) = variable(written)?;
        spec.environment.insert(name.to_owned(), value.to_owned());
    }
    Ok(spec)
}

/// Copies the command to the working directory if it is the path of a file of this machine, and not a copied one.
fn bring_command(spec: &mut GuestSpec) {
    let path = Path::new(&spec.command[0]);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    let is_path = spec.command[0].contains('/') && path.is_file();
    if is_path && spec.copies.iter().all(|copy| !copy.ends_with(name)) {
        let copied = format!("./{name}");
        spec.copies.push(path.to_owned());
        spec.command[0] = copied;
    }
}

/// A variable that the laboratory does not set.
fn variable(written: &str) -> Result<(&str, &str), String> {
    let (name, value) =
        written.split_once('=').ok_or_else(|| format!("--env takes NAME=VALUE, and {written} has no ="))?;
    if name.is_empty() {
        return Err(format!("--env takes NAME=VALUE, and {written} has no name"));
    }
    if GuestSpec::OWN_VARIABLES.contains(&name) {
        return Err(format!("--env cannot set {name}, which the laboratory sets"));
    }
    Ok((name, value))
}

/// Reports the platform of a guest and its run time on standard error, because the host's clock is not part of the result.
/// `done` is a past participle.
pub(crate) fn report_platform(exit: &GuestExit, done: &str) {
    let platform = &exit.platform;
    render::err(&format!(
        "candor-lab: {} ({}) with QEMU {}, booted and {done} in {:.0} s\n",
        platform.kernel,
        platform.release,
        platform.qemu.as_deref().unwrap_or("unknown"),
        exit.wall.as_secs_f64()
    ));
}

/// Shows the last lines of the guest's console where they explain an error.
pub(crate) fn show_console(error: &LabError) {
    render::err(&console_text(error.console()));
}

/// The last lines of a guest's console; empty if there are none.
fn console_text(lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  | {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("candor-lab: last output of the guest's console:\n{lines}") }
}

/// The reason why one of several guests failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Failure {
    pub(crate) why: String,
    /// The last lines of its console where they explain it.
    console: Vec<String>,
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { why, console: Vec::new() }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self { why: causes::in_full(&error), console: error.console().to_vec() }
    }
}

/// A line for each failure, and its console unless that is the console of the failure before it.
pub(crate) fn failures_text<'a>(failures: impl IntoIterator<Item = (String, &'a Failure)>) -> String {
    let mut text = String::new();
    let mut before: &[String] = &[];
    for (what, Failure { why, console }) in failures {
        text += &format!("candor-lab: {what}: {why}\n");
        if console != before {
            text += &console_text(console);
        }
        before = console;
    }
    text
}

#[cfg(test)]
mod tests {
    use candor_lab::kernel::Testbed;

    use super::*;

    #[test]
    fn command_with_a_path_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "").unwrap();
        let brought = |command: &str, copies: &[&Path]| {
            let mut spec = GuestSpec::new(Testbed::Uml, Topology::Vcan, "candor-lab".into(), vec![command.to_owned()]);
            spec.copies = copies.iter().map(|&path| path.to_owned()).collect();
            bring_command(&mut spec);
            (spec.command[0].clone(), spec.copies)
        };
        let path = script.to_str().unwrap();
        let missing = format!("{path}.sh");
        assert_eq!(brought(path, &[]), ("./script".to_owned(), vec![script.clone()]));
        assert_eq!(brought(path, &[&script]), (path.to_owned(), vec![script.clone()]));
        for unchanged in ["./no-such-file", "sh", &missing] {
            assert_eq!(brought(unchanged, &[]), (unchanged.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn failures_show_each_console_once() {
        let failed = |console: &[&str]| {
            let (reason, console) =
                ("it powered off".to_owned(), console.iter().map(|&line| line.to_owned()).collect());
            Failure::from(LabError::DidNotBoot { reason, console })
        };
        let failures = [failed(&["panic"]), failed(&["panic"]), failed(&["other", "panic"]), failed(&[])];
        let text = failures_text((1..).zip(&failures).map(|(number, failure)| (format!("block {number}"), failure)));
        let wanted = "candor-lab: block 1: The guest did not boot: it powered off
candor-lab: last output of the guest's console:
  | panic
candor-lab: block 2: The guest did not boot: it powered off
candor-lab: block 3: The guest did not boot: it powered off
candor-lab: last output of the guest's console:
  | other
  | panic
candor-lab: block 4: The guest did not boot: it powered off (and its console is empty)
";
        assert_eq!(text, wanted);
        assert_eq!(failures_text([("b".to_owned(), &"no room".to_owned().into())]), "candor-lab: b: no room\n");
    }

    #[test]
    fn variables_of_the_laboratory_are_refused() {
        assert_eq!(variable("A=b=c"), Ok(("A", "b=c")));
        assert_eq!(variable("CANDOR_REQUIRE="), Ok(("CANDOR_REQUIRE", "")));
        for written in ["PATH=/x", "HOME=", "CANDOR_OUT=/", "=x", "A"] {
            assert!(variable(written).is_err(), "{written}");
        }
    }
}
