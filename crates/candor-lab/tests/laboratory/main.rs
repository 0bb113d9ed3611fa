//! The laboratory from outside: the behaviour of `candor-lab`.
//!
//! These tests need a static candor in `CANDOR_STATIC` (`cargo xtask test` builds it) and what a guest needs; without
//! it they print `SKIP` and the reason, and with `CANDOR_REQUIRE=laboratory` a skip is a failure.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a skipped test says why")]
#![expect(clippy::unwrap_used, reason = "what fails in a test is to be seen in the test")]

mod bounds;
mod demo;
mod loads;
mod measurement;
mod papers;
mod plans;

use std::path::PathBuf;
use std::process::{Command, Output};

/// The static candor-lab, or `None` after printing why.
fn static_lab() -> Option<PathBuf> {
    let path = std::env::var_os("CANDOR_STATIC").map(|folder| PathBuf::from(folder).join("candor-lab"));
    if path.is_none() {
        let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
        assert!(
            !demanded.split(',').any(|one| one == "laboratory"),
            "laboratory is required, but CANDOR_STATIC is unset"
        );
        println!("SKIP needs laboratory: CANDOR_STATIC names no static candor");
    }
    path
}

fn lab_run(lab: &PathBuf, options: &[&str], command: &[&str]) -> Output {
    Command::new(lab).args(["run"]).args(options).arg("--").args(command).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "boots guests"]
fn a_command_runs_in_uml_and_its_output_and_status_come_back() {
    let Some(lab) = static_lab() else { return };
    let version = lab_run(&lab, &[], &["candor", "--version"]);
    assert!(version.status.success(), "{}", text(&version.stderr));
    assert_eq!(text(&version.stdout), format!("candor {}\n", env!("CARGO_PKG_VERSION")));
    let missing = lab_run(&lab, &[], &["candor", "check", "nothing.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("cannot read nothing.toml"), "{}", text(&missing.stderr));
}

#[test]
#[ignore = "boots guests"]
fn a_command_that_is_not_there_is_the_callers_mistake() {
    let Some(lab) = static_lab() else { return };
    let run = lab_run(&lab, &[], &["no-such-program"]);
    assert_eq!(run.status.code(), Some(127));
    assert!(text(&run.stderr).contains("There is no program no-such-program in the guest"), "{}", text(&run.stderr));
    let forgotten = lab_run(&lab, &[], &["candor", "check", "Cargo.toml"]);
    assert!(
        text(&forgotten.stderr).contains("--copy Cargo.toml puts it into the guest"),
        "{}",
        text(&forgotten.stderr)
    );
}

#[test]
#[ignore = "boots guests"]
fn a_tester_that_receives_nothing_says_no() {
    let Some(lab) = static_lab() else { return };
    let options = ["--send", "vcan0", "--monitor", "vcan0", "--receive", "vcan1", "--frames", "3", "--warm-up", "0"];
    let command = ["candor-lab", "tester", "--lost-after", "50ms", "--records", "/root/out"];
    let run = lab_run(&lab, &[], &[&command[..], &options].concat());
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("no frame arrived on vcan1"), "{}", text(&run.stderr));
}

#[test]
#[ignore = "boots guests"]
fn files_go_in_and_come_out_unchanged() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let gateway = folder.path().join("gateway.toml");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/01-forward.toml"), &gateway).unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    let options = ["--copy", gateway.to_str().unwrap(), "--out", inside.to_str().unwrap()];
    let check = lab_run(&lab, &options, &["candor", "check", "gateway.toml"]);
    assert!(check.status.success(), "{}", text(&check.stderr));
    let made = lab_run(&lab, &options, &["candor", "generate", "man", "/root/out"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(Command::new(&lab).args(["generate", "man"]).arg(&outside).status().unwrap().success());
    for page in std::fs::read_dir(&outside).unwrap() {
        let page = page.unwrap();
        let inside = std::fs::read(inside.join(page.file_name())).unwrap();
        assert_eq!(inside, std::fs::read(page.path()).unwrap(), "{}", page.path().display());
    }
}
