//! The demonstrations show what they claim.

use std::process::Command;

use serde_json::Value;

use super::{static_lab, text};

#[test]
#[ignore = "boots guests"]
fn urgent_frames_stay_within_their_bound_with_egress_and_far_beyond_it_without() {
    let Some(lab) = static_lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(&lab)
        .args(["demo", "inversion", "--json", "--frames", "50", "--depth", "2", "--out"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let acts = report["acts"].as_array().unwrap();
    let titles: Vec<_> = acts.iter().map(|act| act["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["one queue", "two nodes", "gateway"]);
    for (number, act) in (1..).zip(acts) {
        let [without, with @ ..] = &act["runs"].as_array().unwrap()[..] else { panic!("{act:#}") };
        assert!(without["holds"].is_null() && without["files"].as_array().unwrap().is_empty(), "{without:#}");
        assert!(!with.is_empty());
        let mut before = longest(without);
        for run in with {
            let part = |name: &str| run["bound"][name].as_i64().unwrap();
            let parts = ["earlier_buses_ns", "blocking_ns", "controller_ns", "other_nodes_ns", "own_ns"].map(part);
            assert_eq!(parts.iter().sum::<i64>(), part("total_ns"));
            assert_eq!(part("controller_ns"), 2 * part("blocking_ns"));
            assert!(run["holds"] == true && longest(run) <= part("total_ns"), "{run:#}");
            assert!(longest(without) > 2 * part("total_ns"), "{act:#}");
            // Each further measure helps.
            assert!(longest(run) < before, "{act:#}");
            before = longest(run);
            for file in run["files"].as_array().unwrap() {
                let file = folder.path().join(file.as_str().unwrap());
                let checked = Command::new(&lab).args(["check", "--deny", "warnings"]).arg(&file).output().unwrap();
                assert!(checked.status.success(), "{}", text(&checked.stderr));
            }
        }
        let picture = std::fs::read_to_string(folder.path().join(format!("act-{number}.svg"))).unwrap();
        assert_eq!(picture.matches("<path").count(), 1 + with.len());
    }
    assert_eq!(std::fs::read(folder.path().join("inversion.json")).unwrap(), output.stdout);
}

/// Every frame must have a latency.
fn longest(run: &Value) -> i64 {
    let all: Vec<i64> = run["latencies_ns"].as_array().unwrap().iter().map(|ns| ns.as_i64().unwrap()).collect();
    assert_eq!((all.len(), &run["refused"], &run["lost"]), (50, &0.into(), &0.into()), "{run:#}");
    let longest = *all.iter().max().unwrap();
    assert_eq!(run["latency"]["max_ns"], longest);
    longest
}
