//! The `--json` output of commands that run everywhere, against its published schema.
#![expect(clippy::unwrap_used, reason = "a failing test shall panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use candor_cli::schema::validate;
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The gateway files of a directory.
fn files(directory: &str) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(repository().join(directory)).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
}

/// Runs `candor COMMAND ARGUMENTS` and validates what it prints. Returns false if it could not run on this machine.
fn is_valid(command: &str, arguments: &[&str], file: Option<&Path>) -> bool {
    let mut candor = Command::new(env!("CARGO_BIN_EXE_candor"));
    candor.args(command.split(' ')).arg("--json").args(arguments).args(file).stdin(Stdio::null());
    let output = candor.output().unwrap();
    let schema = repository().join(format!("docs/schema/{}.schema.json", command.replace(' ', "-")));
    let schema = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    if output.status.code() == Some(2) {
        return false;
    }
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(validate(&schema, &printed), Ok(()), "{candor:?}: {printed:#}");
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
fn findings_in_json() {
    for file in files("crates/candor/tests/findings") {
        is_valid("check", &[], Some(&file));
    }
    let file = repository().join("crates/candor/tests/findings/five-mistakes.toml");
    for command in
        ["show", "plan", "apply", "run", "doctor", "egress plan", "egress verify", "egress apply", "egress watch"]
    {
        assert!(is_valid(command, &[], Some(&file)), "{command}");
    }
    assert!(is_valid("explain", &["--on", "a", "--frame", "123#"], Some(&file)));
}

#[test]
fn this_machine_in_json() {
    let skipped =
        ["engines", "doctor", "status", "egress show"].into_iter().filter(|command| !is_valid(command, &[], None));
    println!("could not run here: {:?}", skipped.collect::<Vec<_>>());
}
