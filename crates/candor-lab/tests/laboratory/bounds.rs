//! Guests end: at the timeout, with candor, and when they do not boot.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{lab_run, static_lab, text};

const FORWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/01-forward.toml");

#[test]
#[ignore = "boots guests"]
fn a_guest_that_takes_too_long_is_ended() {
    let Some(lab) = static_lab() else { return };
    let run = lab_run(&lab, &["--timeout", "4s", "--copy", FORWARD], &["candor", "run", "01-forward.toml"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("The guest was ended after 4 s"), "{}", text(&run.stderr));
}

#[test]
#[ignore = "boots guests"]
fn a_guest_that_does_not_boot_says_why() {
    let Some(lab) = static_lab() else { return };
    // A cache whose kernel is a script that prints a message and exits.
    assert!(lab_run(&lab, &[], &["candor", "--version"]).status.success());
    let cache = tempfile::tempdir().unwrap();
    let kernels = cache.path().join("candor/kernels");
    copy_folder(&real_cache().join("kernels/uml-6.1"), &kernels.join("uml-6.1"));
    let kernel = kernels.join("uml-6.1/kernel");
    fs::remove_file(&kernel).unwrap();
    fs::write(&kernel, "#!/bin/sh\necho Kernel panic: no working init >&2\nexit 3\n").unwrap();
    fs::set_permissions(&kernel, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = Command::new(&lab)
        .args(["run", "--kernel", "uml-6.1", "--", "candor", "--version"])
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap();
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("The guest did not boot") && said.contains("Kernel panic: no working init"), "{said}");
}

#[test]
#[ignore = "boots guests"]
fn killing_candor_ends_the_guest() {
    let Some(lab) = static_lab() else { return };
    for testbed in ["uml", "icount"] {
        let mut running = Command::new(&lab)
            .args(["run", "--testbed", testbed, "--copy", FORWARD, "--", "candor", "run", "01-forward.toml"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(running.stdout.take().unwrap());
        assert!(output.lines().map_while(Result::ok).any(|line| line.starts_with("ready")), "{testbed}");
        let family = descendants(running.id());
        assert!(family.len() >= 2, "a guard and a guest are expected: {family:?}");
        running.kill().unwrap();
        running.wait().unwrap();
        let begin = Instant::now();
        while family.iter().any(|pid| is_alive(*pid)) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{testbed}: some of {family:?} still run");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn real_cache() -> std::path::PathBuf {
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, Into::into).join("candor")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Children, their children, and so on.
fn descendants(of: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![of];
    while let Some(parent) = open.pop() {
        let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            (parent_of(pid)? == parent).then_some(pid)
        });
        for child in children {
            if found.insert(child) {
                open.push(child);
            }
        }
    }
    found
}

fn stat_fields(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain blanks and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

fn parent_of(pid: u32) -> Option<u32> {
    stat_fields(pid).map(|(_, parent)| parent)
}

/// Zombies do not count: their new parent collects them later.
fn is_alive(pid: u32) -> bool {
    stat_fields(pid).is_some_and(|(state, _)| state != "Z")
}
