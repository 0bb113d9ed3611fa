//! Man pages and completions of all commands.

mod candor;

use std::fs;
use std::process::{Command, Stdio};

use candor::candor;

#[test]
fn every_visible_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man").to_str().unwrap().to_owned();
    let run = candor(".", &["generate", "man", &path]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let mut pages: Vec<_> =
        fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    for page in ["candor.1", "candor-check.1", "candor-show.1", "candor-run.1", "candor-lab.1"] {
        assert!(pages.iter().any(|found| found == page), "{page} is not in {pages:?}");
    }
}

#[test]
fn completions_know_the_visible_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = candor(".", &["generate", "completions", shell]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{shell}");
        assert!(run.stdout.contains("check") && run.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(["generate", "completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
