//! What is in `packaging` fits the program.
#![forbid(unsafe_code)]

use std::process::Command;

const UNIT: &str = include_str!("../../../packaging/systemd/candor@.service");

#[test]
fn the_unit_starts_commands_that_there_are() {
    let commands =
        ["ExecStart=", "ExecReload="].map(|key| UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap());
    for command in commands {
        let words: Vec<_> = command.split(' ').collect();
        assert_eq!((words[0], words[2]), ("/usr/bin/candor", "/etc/candor/%i.toml"));
        // With a file that is not there, a word that candor does not know would be a complaint about the words.
        let told = Command::new(env!("CARGO_BIN_EXE_candor")).args(&words[1..]).output().unwrap();
        let says = String::from_utf8_lossy(&told.stderr);
        assert!(!says.contains("Usage:"), "{says}");
        let told = Command::new(env!("CARGO_BIN_EXE_candor")).args([words[1], "--help"]).output().unwrap();
        assert!(told.status.success() && String::from_utf8_lossy(&told.stdout).contains(words[1]), "{told:?}");
    }
}

/// A unit that systemd would have to end, because it waits for a word that candor never says, or for longer than it may.
#[test]
fn the_unit_waits_for_what_candor_says() {
    let value = |key: &str| UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    assert_eq!(value("Type="), "notify");
    assert_eq!(value("WatchdogSec="), "30s");
    // Everything that candor opens sockets of: routes, rtnetlink, rings, systemd.
    assert_eq!(value("RestrictAddressFamilies="), "AF_CAN AF_NETLINK AF_PACKET AF_UNIX");
}
