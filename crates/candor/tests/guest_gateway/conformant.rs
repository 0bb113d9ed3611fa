//! `candor-lab conformance` on gateways that are right, and on one that is not.

mod broken;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_io::signal::{self, Signal};
use serde_json::Value;

use crate::candor::{lab, program};
use crate::require::{Bus, Feature, jobs_between, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan, Feature::Cangw];

const ONE_WAY: &str = "\
[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
[[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\n";
const BOTH_WAYS: &str = "\
[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
[[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\necho = true\nboth-ways = true\n";

/// What `candor-lab conformance` found, and how it exited.
struct Found {
    status: i32,
    report: Value,
    errors: String,
}

impl Found {
    /// The names of the properties with this verdict.
    fn with(&self, verdict: &str) -> Vec<&str> {
        let properties = self.report["properties"].as_array().unwrap().iter();
        properties.filter(|line| line["verdict"] == verdict).map(|line| line["name"].as_str().unwrap()).collect()
    }

    fn detail(&self, name: &str) -> &str {
        let properties = self.report["properties"].as_array().unwrap();
        properties.iter().find(|line| line["name"] == name).unwrap()["detail"].as_str().unwrap()
    }
}

/// Runs `candor-lab conformance --json` between two buses of its own.
fn conformance(run_dir: &Path, arguments: &[&str]) -> Found {
    conformance_of("t-left:t-right", run_dir, arguments)
}

/// The same where the broken gateway is given these words.
fn conformance_of(broken: &str, run_dir: &Path, arguments: &[&str]) -> Found {
    let output = Command::new(lab())
        .args(["conformance", "--from", "t-left", "--to", "t-right", "--json"])
        .args(arguments)
        .env("CANDOR_RUN_DIR", run_dir)
        .env(broken::VARIABLE, broken)
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Found { status: output.status.code().unwrap(), report, errors }
}

/// A folder with a gateway file, and its path.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
#[ignore = "runs in a guest"]
fn both_engines_do_everything_right() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = [Bus::new("left"), Bus::new("right")];
    let candor = program().to_str().unwrap().to_owned();
    for engine in ["kernel", "read-write"] {
        for (text, left_out) in [(ONE_WAY, vec!["reverse"]), (BOTH_WAYS, vec![])] {
            let (folder, path) = file(text);
            let found = conformance(folder.path(), &["--fd", "--", &candor, "run", &path, "--engine", engine]);
            assert_eq!((found.status, found.with("no")), (0, vec![]), "{engine}: {:#} {}", found.report, found.errors);
            assert_eq!(found.with("not applicable"), left_out, "{engine}");
            assert_eq!((&found.report["state"], &found.report["all_right"]), (&"runs".into(), &true.into()));
        }
    }
}

#[test]
#[ignore = "runs in a guest"]
fn applied_jobs_do_everything_right_and_are_taken_down() {
    let Some(_machine) = require(NEEDS) else { return };
    let buses = [Bus::new("left"), Bus::new("right")];
    let candor = program().to_str().unwrap().to_owned();
    let (folder, path) = file(BOTH_WAYS);
    let teardown = format!("{candor} down {path}");
    let found = conformance(folder.path(), &["--both-ways", "--teardown", &teardown, "--", &candor, "apply", &path]);
    assert_eq!((found.status, found.with("no")), (0, vec![]), "{:#} {}", found.report, found.errors);
    assert_eq!(found.report["state"], "returned");
    assert_eq!(jobs_between(&[&buses[0], &buses[1]]), []);
}

#[test]
#[ignore = "runs in a guest"]
fn a_rule_of_cangw_carries_classic_frames() {
    let needs = [NEEDS, &[Feature::CanUtils]].concat();
    let Some(_machine) = require(&needs) else { return };
    let buses = [Bus::new("left"), Bus::new("right")];
    let folder = tempfile::tempdir().unwrap();
    let rule = ["-s", "t-left", "-d", "t-right", "-e"];
    let teardown = format!("cangw -D {}", rule.join(" "));
    let command = |options: &[&str]| {
        let words = [options, &["--teardown", &teardown, "--", "cangw", "-A"], &rule].concat();
        conformance(folder.path(), &words)
    };
    let fd = ["fd-lengths", "fd-flags", "fd-ids", "fd-payload-bits"];
    let found = command(&[]);
    assert_eq!((found.status, found.with("no")), (1, fd.to_vec()), "{:#} {}", found.report, found.errors);
    let found = command(&["--classic-only", "--one-way"]);
    assert_eq!((found.status, found.with("no")), (0, vec![]), "{:#} {}", found.report, found.errors);
    assert_eq!(found.with("not applicable"), [&fd[..], &["reverse"]].concat());
    assert_eq!(jobs_between(&[&buses[0], &buses[1]]), []);
}

/// What the broken gateway does wrong is named, and nothing else.
#[test]
#[ignore = "runs in a guest"]
fn a_broken_gateway_is_described_exactly() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = [Bus::new("left"), Bus::new("right")];
    let folder = tempfile::tempdir().unwrap();
    let command = broken::command();
    let words: Vec<_> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let found = conformance(folder.path(), &words);
    assert_eq!(found.status, 1, "{:#} {}", found.report, found.errors);
    assert_eq!(found.with("no"), ["raw-dlc", "remote", "order", "doubled"], "{:#}", found.report);
    assert_eq!(found.detail("remote"), "none of 18 arrived");
    assert!(found.detail("raw-dlc").starts_with("7 of 7 changed; first: 080#"), "{}", found.detail("raw-dlc"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_gateway_that_gives_up_is_noticed() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = [Bus::new("left"), Bus::new("right")];
    let folder = tempfile::tempdir().unwrap();
    let command = broken::command();
    let words: Vec<_> = ["--lost-after", "20ms", "--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let found = conformance_of("t-left:t-right:1500", folder.path(), &words);
    assert_eq!(found.status, 1, "{:#} {}", found.report, found.errors);
    assert!(found.with("no").contains(&"ends") && found.with("ok").contains(&"classic-lengths"), "{:#}", found.report);
    assert!(found.detail("ends").contains("ended by itself"), "{}", found.detail("ends"));
}

#[test]
#[ignore = "runs in a guest"]
fn a_signal_ends_the_test_and_takes_the_gateway_down() {
    let Some(_machine) = require(NEEDS) else { return };
    let buses = [Bus::new("left"), Bus::new("right")];
    let candor = program().to_str().unwrap().to_owned();
    // Without echo nothing is seen, so it waits.
    let (folder, path) = file(&ONE_WAY.replace("echo = true\n", ""));
    let test = Command::new(&candor)
        .args(["conformance", "--from", "t-left", "--to", "t-right", "--wait", "60s"])
        .args(["--teardown", &format!("{candor} down {path}"), "--", &candor, "apply", &path])
        .env("CANDOR_RUN_DIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while jobs_between(&[&buses[0], &buses[1]]).len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    // The signals are held when the first frame is tried, soon after the command was started.
    std::thread::sleep(Duration::from_millis(200));
    signal::send(test.id(), Signal::Terminate).unwrap();
    let output = test.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("Interrupted"), "{errors}");
    assert_eq!(jobs_between(&[&buses[0], &buses[1]]), []);
}

#[test]
#[ignore = "runs in a guest"]
fn what_cannot_be_tested_is_said() {
    let Some(_machine) = require(NEEDS) else { return };
    let _buses = [Bus::new("left"), Bus::new("right")];
    let folder = tempfile::tempdir().unwrap();
    let candor = program().to_str().unwrap().to_owned();
    // Nothing forwards: a finding.
    let found = conformance(folder.path(), &["--wait", "200ms"]);
    assert_eq!((found.status, found.with("no")), (1, vec!["crosses"]), "{}", found.errors);
    assert!(found.detail("crosses").contains("needs echo"), "{}", found.detail("crosses"));
    // The rest are no findings.
    for (arguments, says) in [
        (vec!["--", "no-such-program"], "Cannot start no-such-program"),
        (vec!["--", &candor, "run", "no-such-file"], "ended with exit status: 2"),
        (vec!["--to", "t-left"], "cannot be used multiple times"),
    ] {
        let found = conformance(folder.path(), &arguments);
        assert_eq!(found.status, 2, "{arguments:?}: {}", found.errors);
        assert!(found.errors.contains(says), "{arguments:?}: {}", found.errors);
    }
}
