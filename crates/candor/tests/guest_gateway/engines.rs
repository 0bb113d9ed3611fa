//! `candor engines` agrees with the kernel and the privileges of the user.

use std::os::unix::process::CommandExt;

use candor_config::engine::{Receiver, UserEngine};

use crate::prelude::*;

const NOBODY: u32 = 65_534;

#[test]
#[ignore = "runs in a guest"]
fn engines_with_rings_need_privileges() {
    let Some(scene) = Scenario::new(VCAN, []) else { return };
    let of_root = scene.json(&["engines"]);
    let all = of_root["engines"].as_array().unwrap();
    assert_eq!(all.len(), UserEngine::all().count());
    assert!(all.iter().all(|engine| engine["runs_here"] == true), "{of_root:#}");
    assert_eq!(of_root["auto_user_engine"], "mmap-adaptive");

    let of_nobody = output(scene.command(&["engines", "--json"]).uid(NOBODY).gid(NOBODY)).json();
    assert_eq!(of_nobody["auto_user_engine"], "read-write");
    for (engine, described) in UserEngine::all().zip(of_nobody["engines"].as_array().unwrap()) {
        if engine.receiver().has_ring() || engine.sender().has_ring() {
            assert_eq!(described["runs_here"], false, "{described}");
            // The receiver's reason comes first.
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
