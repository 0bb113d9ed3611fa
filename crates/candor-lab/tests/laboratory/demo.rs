//! The demonstrations show what they claim.

use std::fs;

use serde_json::Value;

use super::Lab;

#[test]
#[ignore = "boots guests"]
fn urgent_frames_meet_their_bound_only_with_egress() {
    // With a queue in the order of arbitration in the first act.
    urgent_frames_meet_their_bound_on("debian-7.3", [3, 3, 2]);
}

/// Without queues in BPF.
#[test]
#[ignore = "boots guests"]
fn night_urgent_frames_meet_their_bound_on_an_older_kernel() {
    urgent_frames_meet_their_bound_on("debian-6.1", [2, 3, 2]);
}

/// With this many runs of each act.
fn urgent_frames_meet_their_bound_on(kernel: &str, runs: [usize; 3]) {
    let Some(lab) = Lab::find() else { return };
    let arguments = ["--json", "--frames", "50", "--depth", "2", "--kernel", kernel, "--out", &lab.at("out")];
    let demo = lab.call(&[&["demo", "inversion"], &arguments[..]].concat()).exits_with(0);
    let report = demo.json();
    let acts = report["acts"].as_array().unwrap();
    let titles: Vec<_> = acts.iter().map(|act| act["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["one queue", "two nodes", "gateway"]);
    let played = acts.iter().map(|act| act["runs"].as_array().unwrap().len());
    assert!(played.eq(runs), "{}", demo.stderr);
    let mut names = acts[0]["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap());
    assert_eq!(names.next_back(), Some(if runs[0] == 3 { "order of arbitration" } else { "with [egress]" }));
    for (number, act) in (1..).zip(acts) {
        let [without, with @ ..] = &act["runs"].as_array().unwrap()[..] else { panic!("{act:#}") };
        assert!(without["holds"].is_null() && without["files"].as_array().unwrap().is_empty(), "{without:#}");
        let mut before = longest(without);
        for run in with {
            let part = |name: &str| run["bound"][name].as_i64().unwrap();
            let parts = ["earlier_buses_ns", "blocking_ns", "controller_ns", "other_nodes_ns", "own_ns"].map(part);
            assert_eq!(parts.iter().sum::<i64>(), part("total_ns"));
            assert_eq!(part("controller_ns"), 2 * part("blocking_ns"));
            assert!(run["holds"] == true && longest(run) <= part("total_ns"), "{run:#}");
            assert!(longest(without) > 2 * part("total_ns"), "{act:#}");
            // Each further measure helps, or does no harm: how much of the frame on the wire is left when an urgent one
            // comes is chance.
            assert!(longest(run) <= before + part("blocking_ns"), "{act:#}");
            before = longest(run);
            for file in run["files"].as_array().unwrap() {
                let file = lab.at(&format!("out/{}", file.as_str().unwrap()));
                // Whether this machine has queues in BPF does not matter.
                lab.candor(&["check", "--deny", "warnings", "--allow", "W0514", &file]).exits_with(0);
            }
        }
        let picture = fs::read_to_string(lab.path(&format!("out/act-{number}.svg"))).unwrap();
        assert_eq!(picture.matches("<path").count(), 1 + with.len());
    }
    assert_eq!(fs::read_to_string(lab.path("out/inversion.json")).unwrap(), demo.stdout);
}

fn longest(run: &Value) -> i64 {
    let all: Vec<i64> = run["latencies_ns"].as_array().unwrap().iter().map(|ns| ns.as_i64().unwrap()).collect();
    assert_eq!((all.len(), &run["refused"], &run["lost"]), (50, &0.into(), &0.into()), "{run:#}");
    let longest = *all.iter().max().unwrap();
    assert_eq!(run["latency"]["max_ns"], longest);
    longest
}
