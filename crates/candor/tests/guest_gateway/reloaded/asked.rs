//! `candor reload`: who is asked, and what is answered.

use std::process::{Command, Output};

use super::*;
use crate::candor::program;

/// `candor reload` with these arguments.
fn ask(place: &Place, arguments: &[&str]) -> Output {
    Command::new(program()).arg("reload").args(arguments).env("CANDOR_RUN_DIR", place.run_dir()).output().unwrap()
}

#[track_caller]
fn says(output: &Output, status: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
}

#[test]
#[ignore = "runs in a guest"]
fn who_asks_learns_what_became_of_the_file() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, files) = (Place::new(), files());
    let file = place.file();
    let name = file.to_str().unwrap();
    says(&ask(&place, &[]), 2, &["no gateway is running"]);
    let candor = place.start(&files[0], "auto");

    write(&file, &files[1]);
    says(&ask(&place, &[]), 0, &["reloaded: ", name, "new: beside, back"]);
    write(&file, &files[0]);
    let answer = ask(&place, &[name, "--json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!((&answer["taken"], &answer["gone_routes"][0]["route"]), (&true.into(), &"beside".into()), "{answer}");

    write(&file, "[bus.left]\ninterface = 7\n");
    says(&ask(&place, &[]), 1, &["error[E", "interface = 7", "not valid", "the running gateway is unchanged"]);
    let answer: Value = serde_json::from_slice(&ask(&place, &["--json"]).stdout).unwrap();
    assert_eq!(answer["taken"], false, "{answer}");
    let lines = answer["findings"].as_array().unwrap().iter().map(|finding| &finding["line"]);
    assert!(lines.into_iter().any(|line| *line == 2), "{answer}");

    write(&file, &files[0].replace("t-right", "t-nowhere"));
    says(&ask(&place, &[]), 1, &["was not loaded, and the running gateway is unchanged", "interface t-nowhere (bus "]);
    std::fs::remove_file(&file).unwrap();
    says(&ask(&place, &[]), 1, &["was not loaded", "cannot read"]);
    says(&ask(&place, &["/nowhere.toml"]), 2, &["no gateway is running /nowhere.toml; running: ", name]);

    let stream = Stream::new(&place);
    assert_eq!(stream.flows(64, || {})[1], 0);
    assert!(candor.end(Signal::Terminate).status.success());
}

#[test]
#[ignore = "runs in a guest"]
fn what_cannot_be_exchanged_asks_for_a_restart() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, files) = (Place::new(), files());
    let with = |engine: &str| format!("engine = \"{engine}\"\n{}", files[0]);
    write(&place.file(), &with("read-write"));
    let mut run = Command::new(program());
    let run = run.arg("run").arg(place.file()).arg("--json").env("CANDOR_RUN_DIR", place.run_dir());
    let mut candor = run.stdout(std::process::Stdio::null()).spawn().unwrap();
    while ask(&place, &[]).status.code() != Some(0) {
        assert_eq!(candor.try_wait().unwrap(), None);
    }
    write(&place.file(), &with("mmap-write"));
    says(&ask(&place, &[]), 1, &["restart candor to change the engine: read-write runs, the file says mmap-write"]);
    // What is not told of on standard output is told at the desk only; the gateway goes on.
    assert_eq!(Stream::new(&place).flows(64, || {})[1], 0);
    signal::send(candor.id(), Signal::Terminate).unwrap();
    assert!(candor.wait().unwrap().success());
}

#[test]
#[ignore = "runs in a guest"]
fn a_file_from_standard_input_cannot_be_read_again() {
    let Some(_machine) = require(NEEDS) else { return };
    let (place, files) = (Place::new(), files());
    let candor = Run { gateway: &files[0], engine: "auto", run_dir: place.run_dir(), uid: None }.start();
    says(&ask(&place, &[]), 2, &["from standard input"]);
    signal::send(candor.pid(), Signal::Hangup).unwrap();
    let said = candor.event(&["not-reloaded"]);
    assert!(said["because"].as_str().unwrap().contains("standard input"), "{said}");
    assert!(candor.end(Signal::Terminate).status.success());
}
