//! `candor-lab can-send`: measures what a file says, and gives the interface back what it had.

use std::process::Command;

use serde_json::Value;

use super::*;
use crate::candor::lab;

const GATEWAY: &str = "[bus.near]\ninterface = \"t-near\"\n[[egress.near.band]]\nname = \"urgent\"\nmatch = \"123\"\n\
                       [[egress.near.band]]\nname = \"rest\"\n";

fn can_send(file: &std::path::Path) -> (Option<i32>, Vec<u8>) {
    let mut command = Command::new(lab());
    command.args(["can-send", "--interface", NEAR, "--frames", "3", "--frame", "123#00", "--frame", "124#R"]);
    let output = command.arg("--json").arg(file).output().unwrap();
    (output.status.code(), output.stdout)
}

#[test]
#[ignore = "runs in a guest"]
fn what_stands_before_a_bus_is_measured_and_taken_back() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    let before = of(vec![prio()], vec![], vec![filter(Handle::new(1, 0), Classifier::Matchall)]);
    place.make(&before).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bands.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let (code, said) = can_send(&file);
    assert_eq!(code, Some(0));
    let said: Value = serde_json::from_slice(&said).unwrap();
    let names: Vec<_> = said["measured"].as_array().unwrap().iter().map(|one| one["before"].clone()).collect();
    assert_eq!(names, ["as it is", "bands"]);
    for one in said["measured"].as_array().unwrap() {
        let calls = one["calls"].as_array().unwrap();
        assert_eq!(calls.iter().map(|call| call["frame"].clone()).collect::<Vec<_>>(), ["123#00", "124#R"]);
        let is_ordered = |call: &Value| {
            let [min, p50, max] = ["min_ns", "p50_ns", "max_ns"].map(|key| call[key].as_i64().unwrap());
            min <= p50 && p50 <= max
        };
        assert!(calls.iter().all(is_ordered), "{calls:?}");
    }
    assert_eq!(differences(&before, &place.observe().tree), []);
    // A file that says nothing of this interface is no measurement, and changes nothing.
    std::fs::write(&file, GATEWAY.replace("t-near", "t-far")).unwrap();
    assert_eq!(can_send(&file).0, Some(2));
    assert_eq!(differences(&before, &place.observe().tree), []);
    place.clear();
}
