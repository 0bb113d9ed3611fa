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
    let Some((lab, peer)) = places() else { return };
    let file = example("23-dashboard");
    judge(&lab, &peer, "example", &in_examples("powertrain.dbc"), &in_examples("drive.log"), &file);
}

/// The same drive in the frames of a car of opendbc.
#[test]
#[ignore = "boots guests"]
fn dashboard_of_a_real_car_agrees_with_cantools() {
    let Some((lab, peer)) = places() else { return };
    let folder = std::env::var_os("CANDOR_DATABASES").map(PathBuf::from);
    let file = folder.map(|folder| folder.join("opendbc/dbc/vw_mqb.dbc")).filter(|file| file.exists());
    let Some(database) = require("opendbc", file, "CANDOR_DATABASES is no checkout of github.com/commaai/opendbc")
    else {
        return;
    };
    let database = database.to_str().unwrap().to_owned();
    let log = lab.write("drive.log", "");
    let example = in_examples("powertrain.dbc");
    python(&peer, &["drive", &example, &in_examples("drive.log"), "mqb", &database, &log]);
    let text = include_str!("../../../../examples/23-dashboard.toml");
    let sources = [
        ("\"powertrain.dbc\"", "\"vw_mqb.dbc\""),
        ("ABS1.VehSpd", "ESP_21.ESP_v_Signal"),
        ("ABS1.Braking", "ESP_05.ESP_Fahrer_bremst"),
        ("TCU1.Gear", "Getriebe_11.GE_Fahrstufe"),
        ("Tank.Level", "Kombi_03.KBI_Tankfuellstand_Prozent"),
        ("PARK = ", "P = "),
        ("REVERSE = ", "R = "),
        ("NEUTRAL = ", "N = "),
        ("DRIVE = ", "D = "),
    ];
    let text = sources.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    judge(&lab, &peer, "mqb", &database, &log, &lab.write("23-dashboard.toml", &text));
}

fn places() -> Option<(Lab, PathBuf)> {
    let lab = Lab::find()?;
    let peer = std::env::var_os("CANDOR_CANTOOLS").map(PathBuf::from);
    Some((lab, require("cantools", peer, "CANDOR_CANTOOLS is not set; cargo xtask cantools prints it")?))
}

fn in_examples(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    folder.join(name).to_str().unwrap().to_owned()
}

/// Plays a drive of a car, and has cantools judge what was composed.
fn judge(lab: &Lab, peer: &Path, car: &str, database: &str, drive: &str, file: &str) {
    let (script, body) = (lab.write("script", SCRIPT), in_examples("body.dbc"));
    let options = ["--copy", file, "--copy", database, "--copy", &body, "--copy", drive, "--copy", &script];
    let run = lab.run(&options, &["sh", "script"]).exits_with(0);
    let log = lab.write("both.log", &run.stdout);
    println!("{}", python(peer, &["judge", car, database, &body, &log, drive]));
}

/// Runs the judge; returns what it says.
fn python(peer: &Path, arguments: &[&str]) -> String {
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/laboratory/dashboard.py");
    let output = Command::new(peer.join("venv/bin/python")).arg(judge).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}
