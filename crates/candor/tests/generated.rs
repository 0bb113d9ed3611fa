//! Man pages and completions of all commands, and the files in `packaging`.

mod candor;

use candor::candor;

const UNIT: &str = include_str!("../../../packaging/systemd/candor@.service");

fn of_unit(key: &str) -> &'static str {
    UNIT.lines().find_map(|line| line.strip_prefix(key)).expect("the unit has this key")
}

#[test]
fn every_visible_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man").to_str().unwrap().to_owned();
    let run = candor(".", &["generate", "man", &path]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    for page in ["candor.1", "candor-check.1", "candor-show.1", "candor-run.1", "candor-lab.1"] {
        assert!(folder.path().join("man").join(page).exists(), "{page}");
    }
}

#[test]
fn completions_have_the_visible_commands() {
    for shell in ["bash", "fish", "zsh"] {
        let run = candor(".", &["generate", "completions", shell]);
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{shell}");
        assert!(run.stdout.contains("check") && run.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn the_unit_starts_existing_commands() {
    for command in ["ExecStart=", "ExecReload="].map(of_unit) {
        let words: Vec<_> = command.split(' ').collect();
        assert_eq!((words[0], words[2]), ("/usr/bin/candor", "/etc/candor/%i.toml"));
        // The file is missing, so an unknown word would be the first error.
        let run = candor(".", &words[1..]);
        assert!(!run.stderr.contains("Usage:"), "{}", run.stderr);
        let help = candor(".", &[words[1], "--help"]);
        assert!(help.status == 0 && help.stdout.contains(words[1]), "{help:?}");
    }
}

#[test]
fn the_unit_on_armhf_differs_in_seccomp_alone() {
    let armhf = include_str!("../../../packaging/systemd-armhf/armhf.conf");
    let command = of_unit("ExecStart=").replace(" --seccomp", "");
    assert!(armhf.ends_with(&format!("\nExecStart=\nExecStart={command}\n")), "{armhf}");
}

/// systemd ends a unit whose messages are late.
#[test]
fn the_unit_agrees_with_the_messages_of_candor() {
    assert_eq!(of_unit("Type="), "notify");
    assert_eq!(of_unit("WatchdogSec="), "30s");
    // Routes, links, rtnetlink, rings, systemd.
    assert_eq!(of_unit("RestrictAddressFamilies="), "AF_CAN AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_UNIX");
}
