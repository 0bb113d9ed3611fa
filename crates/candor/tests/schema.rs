//! The `--json` output of commands that run everywhere, against its published schema.
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]
#![expect(clippy::unwrap_used, reason = "a failing test shall panic")]

#[path = "../../candor-lab/tests/support/require.rs"]
mod require;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_cli::schema::assert_valid;
use require::require;
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The gateway files of a directory.
fn files(directory: &str) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(repository().join(directory)).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
}

/// Runs `candor COMMAND ARGUMENTS` and validates what it prints. Returns false if it could not run.
fn is_valid(command: &str, arguments: &[&str], file: Option<&Path>) -> bool {
    let mut candor = Command::new(env!("CARGO_BIN_EXE_candor"));
    candor.args(command.split(' ')).arg("--json").args(arguments).args(file).stdin(Stdio::null());
    let output = candor.output().unwrap();
    if output.status.code() == Some(2) {
        return false;
    }
    assert_valid(&format!("candor {command}"), &serde_json::from_slice::<Value>(&output.stdout).unwrap());
    true
}

#[test]
fn gateway_files_in_json() {
    for file in files("examples") {
        let output = Command::new(env!("CARGO_BIN_EXE_candor")).args(["show", "--json"]).arg(&file).output();
        let shown: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let bus = shown["buses"][0]["name"].as_str().unwrap();
        assert!(is_valid("check", &[], Some(&file)));
        assert!(is_valid("show", &[], Some(&file)));
        assert!(is_valid("egress show", &["--wanted"], Some(&file)));
        let frames = ["--on", bus, "--frame", "123#1122", "--frame", "18DA00F1#", "--frame", "100##1AA"];
        assert!(is_valid("explain", &frames, Some(&file)), "{}", file.display());
    }
}

#[test]
fn bounds_in_json() {
    let file = repository().join("examples/26-bounds.toml");
    assert!(is_valid("bounds", &["--latency", "200us", "--limits"], Some(&file)));
    assert!(is_valid("bounds", &["--latency", "200us", "--quantile", "0.99", "--errors", "9"], Some(&file)));
    assert!(is_valid("bounds", &[], Some(&repository().join("crates/candor/tests/cmd/overload.toml"))));
}

#[test]
fn findings_in_json() {
    for file in files("crates/candor/tests/findings") {
        assert!(is_valid("check", &[], Some(&file)), "{}", file.display());
    }
    let file = repository().join("crates/candor/tests/findings/five-mistakes.toml");
    for command in [
        "show",
        "bounds",
        "plan",
        "apply",
        "run",
        "doctor",
        "egress plan",
        "egress verify",
        "egress apply",
        "egress watch",
    ] {
        assert!(is_valid(command, &[], Some(&file)), "{command}");
    }
    assert!(is_valid("explain", &["--on", "a", "--frame", "123#"], Some(&file)));
}

#[test]
fn this_machine_in_json() {
    for command in ["engines", "doctor"] {
        assert!(is_valid(command, &[], None), "{command}");
    }
    for command in ["status", "egress show"] {
        require("netlink", is_valid(command, &[], None).then_some(()), &format!("candor {command} cannot run"));
    }
}
