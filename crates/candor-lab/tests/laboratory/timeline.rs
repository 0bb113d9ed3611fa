//! The fixed plan is measured once on each kernel, and the last one is compared with the one before it.

use std::fs;

use super::{Called, Lab};

#[test]
#[ignore = "boots guests"]
fn kernels_are_measured_once_and_compared() {
    let Some(lab) = Lab::find() else { return };
    let timeline = |options: &[&str]| {
        let mut command = lab.command(&["timeline", "--json", "--out", &lab.at("out")]);
        Called::of(command.args(options))
    };
    timeline(&["--kernel", "debian-6.1", "--fail-above", "2%"]).exits_with(2).reports("name two with --kernel");
    let one = timeline(&["--kernel", "debian-6.1"]).exits_with(0).json();
    let measured = one["lines"][0]["measurements"].as_array().unwrap();
    let cost = |at: usize| measured[at]["p50_instructions"][0].as_u64().unwrap();
    assert_eq!(measured.len(), 7);
    // More rules take longer, and so does user space.
    assert!(cost(1) < cost(2) && cost(0) < cost(4), "{one:#}");

    // Twice the same kernel: there is nothing to measure, and nothing is slower.
    let twice = timeline(&["--kernel", "debian-6.1", "--kernel", "debian-6.1", "--fail-above", "0%"]).exits_with(0);
    assert!(!twice.stderr.contains(": ok"), "{}", twice.stderr);
    let twice = twice.json();
    assert_eq!(twice["slower"].as_array().map(Vec::len), Some(0));
    assert_eq!(twice["lines"][0]["measurements"][0]["ratio"][1], 1.0);
    let page = fs::read_to_string(lab.path("out/README.md")).unwrap();
    assert!(page.contains("| measurement | 6.1 | 6.1 |"), "{page}");
}
