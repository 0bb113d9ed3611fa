//! Guests end: at the timeout, with candor, and when they do not boot.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{Called, Lab, example};

#[test]
#[ignore = "boots guests"]
fn guest_is_ended_at_the_timeout() {
    let Some(lab) = Lab::find() else { return };
    let options = ["--timeout", "4s", "--copy", &example("01-forward")];
    let run = lab.run(&options, &["candor", "run", "01-forward.toml"]).exits_with(2);
    run.reports("guest was killed after 4 s");
}

#[test]
#[ignore = "boots guests"]
fn console_explains_a_failed_boot() {
    let Some(lab) = Lab::find() else { return };
    // A cache whose kernel is a script that prints a message and exits.
    lab.run(&[], &["candor", "--version"]).exits_with(0);
    let kernels = lab.path("candor/kernels");
    copy_folder(&real_cache().join("kernels/uml-6.1"), &kernels.join("uml-6.1"));
    let kernel = kernels.join("uml-6.1/kernel");
    fs::remove_file(&kernel).unwrap();
    fs::write(&kernel, "#!/bin/sh\necho Kernel panic: no working init >&2\nexit 3\n").unwrap();
    fs::set_permissions(&kernel, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = lab.command(&["run", "--kernel", "uml-6.1", "--", "candor", "--version"]);
    let run = Called::of(command.env("XDG_CACHE_HOME", lab.folder.path())).exits_with(2);
    run.reports("guest did not boot").reports("Kernel panic: no working init");
}

#[test]
#[ignore = "boots guests"]
fn guest_ends_when_candor_is_killed() {
    let Some(lab) = Lab::find() else { return };
    for testbed in ["uml", "icount"] {
        let mut running = lab
            .command(&["run", "--testbed", testbed, "--copy", &example("01-forward")])
            .args(["--", "candor", "run", "01-forward.toml"])
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

pub(super) fn real_cache() -> PathBuf {
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

fn descendants(of: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![of];
    while let Some(parent) = open.pop() {
        let children = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            (stat(pid)?.1 == parent).then_some(pid)
        });
        for child in children {
            if found.insert(child) {
                open.push(child);
            }
        }
    }
    found
}

fn stat(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain blanks and parentheses.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Zombies do not count: their new parent collects them later.
fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != "Z")
}
