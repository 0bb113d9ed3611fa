//! The laboratory from outside: the behaviour of `candor-lab`.
//!
//! These tests need a static candor in `CANDOR_STATIC` (`cargo xtask test` builds it) and what a guest needs; without
//! it they print `SKIP` and the reason, and with `CANDOR_REQUIRE=laboratory` a skip is a failure.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]
#![expect(clippy::unwrap_used, reason = "a failure in a test shows where it is")]

mod bare_metal;
mod border;
mod bounds;
mod cluster;
mod dashboard;
mod demo;
mod lateness;
mod loads;
mod measurement;
mod own_kernels;
mod papers;
mod plans;
mod recordings;
#[path = "../support/require.rs"]
mod require;
mod scripts;
mod timeline;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use candor_cli::schema::{assert_all_valid, command_of};
use serde_json::Value;
use tempfile::TempDir;

use require::require;

/// The static candor-lab, and a directory for the files of a test.
struct Lab {
    program: PathBuf,
    folder: TempDir,
}

impl Lab {
    /// `None` after printing why.
    fn find() -> Option<Self> {
        let program = std::env::var_os("CANDOR_STATIC").map(|folder| Path::new(&folder).join("candor-lab"));
        Self::of(require("laboratory", program, "CANDOR_STATIC is unset"))
    }

    /// The programs built with this test.
    fn of_plain_build() -> Option<Self> {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_candor-lab"));
        let is_complete = program.with_file_name("candor").is_file();
        Self::of(require("candor", is_complete.then_some(program), "`cargo build -p candor` has not run"))
    }

    fn of(program: Option<PathBuf>) -> Option<Self> {
        Some(Self { program: program?, folder: tempfile::tempdir().unwrap() })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env_remove("CANDOR_STATIC");
        command
    }

    fn call(&self, arguments: &[&str]) -> Called {
        Called::of(&mut self.command(arguments))
    }

    fn candor(&self, arguments: &[&str]) -> Called {
        Called::of(Command::new(self.program.with_file_name("candor")).args(arguments))
    }

    fn run(&self, options: &[&str], command: &[&str]) -> Called {
        self.call(&[&["run"], options, &["--"], command].concat())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// [`path`](Self::path) as an argument.
    fn at(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.at(name)
    }
}

/// Exit status and output of a program.
struct Called {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Called {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let arguments: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
        // A guest runs the command after `-- candor-lab`.
        let in_guest = arguments.iter().position(|word| *word == "--").map_or(0, |at| at + 2);
        if let Some(command) = command_of("candor-lab", &arguments[in_guest..])
            && output.status.code() != Some(2)
        {
            assert_all_valid(&command, &stdout);
        }
        Self { status: output.status.code(), stdout, stderr }
    }

    #[track_caller]
    fn exits_with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    fn reports(self, message: &str) -> Self {
        assert!(self.stderr.contains(message), "{}", self.stderr);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn kernels_are_listed_as_json_without_a_cache() {
    let lab = Lab::of(Some(env!("CARGO_BIN_EXE_candor-lab").into())).unwrap();
    let mut command = lab.command(&["kernels", "--json"]);
    let list = Called::of(command.env("XDG_CACHE_HOME", lab.path("cache"))).exits_with(0).json();
    let kernels = list["kernels"].as_array().unwrap();
    assert!(kernels.iter().all(|kernel| kernel["pinned"] == true && kernel["cached"] == false), "{list:#}");
    assert!(kernels.iter().any(|kernel| kernel["name"] == "debian-7.3"), "{list:#}");
    assert!(!lab.path("cache").exists());
}

#[test]
#[ignore = "boots guests"]
fn output_and_status_of_a_command_are_passed_on() {
    let Some(lab) = Lab::find() else { return };
    let version = lab.run(&[], &["candor", "--version"]).exits_with(0);
    assert_eq!(version.stdout, format!("candor {}\n", env!("CARGO_PKG_VERSION")));
    lab.run(&[], &["candor", "check", "nothing.toml"]).exits_with(2).reports("cannot read nothing.toml");
}

#[test]
#[ignore = "boots guests"]
fn missing_command_is_the_callers_mistake() {
    let Some(lab) = Lab::find() else { return };
    let missing = lab.run(&[], &["no-such-program"]).exits_with(127);
    missing.reports("program no-such-program in the guest");
    lab.run(&[], &["candor", "check", "Cargo.toml"]).reports("--copy Cargo.toml puts it into the guest");
}

#[test]
#[ignore = "boots guests"]
fn tester_that_receives_nothing_fails() {
    let Some(lab) = Lab::find() else { return };
    let options = ["--send", "vcan0", "--monitor", "vcan0", "--receive", "vcan1", "--frames", "3", "--warm-up", "0"];
    let command = ["candor-lab", "tester", "--lost-after", "50ms", "--records", "/root/out"];
    lab.run(&[], &[&command[..], &options].concat()).exits_with(1).reports("no frame arrived on vcan1");
}

#[test]
#[ignore = "boots guests"]
fn files_are_copied_in_and_out_unchanged() {
    let Some(lab) = Lab::find() else { return };
    let gateway = lab.write("gateway.toml", &fs::read_to_string(example("01-forward")).unwrap());
    let (inside, outside) = (lab.path("inside"), lab.path("outside"));
    let options = ["--copy", &gateway, "--out", &lab.at("inside")];
    lab.run(&options, &["candor", "check", "gateway.toml"]).exits_with(0);
    lab.run(&options, &["candor", "generate", "man", "/root/out"]).exits_with(0);
    lab.candor(&["generate", "man", &lab.at("outside")]).exits_with(0);
    for page in fs::read_dir(&outside).unwrap() {
        let page = page.unwrap();
        let inside = fs::read(inside.join(page.file_name())).unwrap();
        assert_eq!(inside, fs::read(page.path()).unwrap(), "{}", page.path().display());
    }
}
