//! `candor engines`: what is said of this kernel and this user is so.

use std::os::unix::process::CommandExt;
use std::process::Command;

use candor_config::engine::{Receiver, UserEngine};
use serde_json::Value;

use crate::candor::program;
use crate::require::{Feature, require};

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const NOBODY: u32 = 65_534;

fn listed(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn root_runs_all_and_others_those_without_rings() {
    let Some(_machine) = require(NEEDS) else { return };
    let engines = || {
        let mut command = Command::new(program());
        command.args(["engines", "--json"]);
        command
    };
    let of_root = listed(&mut engines());
    let all = of_root["engines"].as_array().unwrap();
    assert_eq!(all.len(), UserEngine::all().count());
    assert!(all.iter().all(|engine| engine["runs_here"] == true), "{of_root:#}");
    assert_eq!(of_root["auto_user_engine"], "mmap-adaptive");

    let of_nobody = listed(engines().uid(NOBODY).gid(NOBODY));
    assert_eq!(of_nobody["auto_user_engine"], "read-write");
    for (engine, described) in UserEngine::all().zip(of_nobody["engines"].as_array().unwrap()) {
        if engine.receiver().has_ring() || engine.sender().has_ring() {
            assert_eq!(described["runs_here"], false, "{described}");
            // What the receiver lacks is told first.
            let because = match engine.receiver() {
                Receiver::ReadBusy => "SO_BUSY_POLL needs CAP_NET_ADMIN",
                _ => "packet rings need CAP_NET_RAW",
            };
            assert_eq!(described["because"], because, "{described}");
        }
        if engine == UserEngine::PLAINEST {
            assert_eq!(described["runs_here"], true, "{described}");
        }
    }
}
