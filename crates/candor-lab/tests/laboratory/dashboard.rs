//! A frame composed of the messages of another bus, from a log of a drive, as cantools decodes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Lab, example};
use crate::require::require;

/// Plays the drive, in which ABS1 falls silent after two seconds, and logs both buses.
const SCRIPT: &str = "candor run 23-dashboard.toml > said &
until grep -q '^ready' said; do sleep 0.1; done
candump -L vcan0 vcan1 > both.log &
sleep 0.1
canplayer -I drive.log
sleep 0.3
cat both.log
";

#[test]
#[ignore = "boots guests"]
fn dashboard_agrees_with_cantools() {
    let Some(lab) = Lab::find() else { return };
    let peer = std::env::var_os("CANDOR_CANTOOLS").map(PathBuf::from);
    let Some(peer) = require("cantools", peer, "CANDOR_CANTOOLS is not set; cargo xtask cantools prints it") else {
        return;
    };
    let script = lab.write("script", SCRIPT);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let [powertrain, body, drive] =
        ["powertrain.dbc", "body.dbc", "drive.log"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    let file = example("23-dashboard");
    let options = ["--copy", &file, "--copy", &powertrain, "--copy", &body, "--copy", &drive, "--copy", &script];
    let run = lab.run(&options, &["sh", "script"]).exits_with(0);
    let log = lab.write("both.log", &run.stdout);
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laboratory/dashboard.py");
    let mut python = Command::new(peer.join("venv/bin/python"));
    let output = python.arg(judge).args([&powertrain, &body, &log]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", run.stdout);
    println!("{said}");
}
