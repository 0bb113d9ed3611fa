//! `candor-lab precision`, where two taps have one stamp.

use super::figures;
use crate::require::{Bus, Feature, require};

#[test]
#[ignore = "runs in a guest"]
fn taps_of_one_interface_have_one_stamp() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let _bus = Bus::new("tap");
    let ends = ["--send", "t-tap", "--monitor", "t-tap", "--tap", "t-tap"];
    let law = ["--frames", "20", "--warm-up", "5", "--loads", "none,timers 2"];
    let all = figures(&[&["precision"], &ends[..], &law[..]].concat());
    let own = all["own"].as_array().unwrap();
    assert_eq!(own.iter().map(|one| one["load"].as_str().unwrap()).collect::<Vec<_>>(), ["none", "timers 2"]);
    for one in own {
        // A virtual interface has one time for a frame, and nothing to be behind.
        let taps = &one["taps"];
        assert_eq!((&taps["count"], &taps["min_ns"], &taps["max_ns"]), (&20.into(), &0.into(), &0.into()), "{one}");
        assert!(one["sending"]["min_ns"].as_i64().unwrap() > 0, "{one}");
        assert!(one["stamps"].is_null() && one["unseen"] == 0, "{one}");
    }
    assert!(all["witnessed"].is_null());
}
