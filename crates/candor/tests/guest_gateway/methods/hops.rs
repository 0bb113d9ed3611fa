//! `candor-lab hops`: chains of routes through virtual interfaces.

use std::path::Path;
use std::process::Command;

use super::{counts_instructions, figures};
use crate::candor::{lab, said};
use crate::kernel::{self, WithMaxHops};
use crate::require::{Bus, Feature, require, skip};

/// On virtual interfaces, which are monitor and gateway's end at once.
const ENDS: [&str; 12] = [
    "hops",
    "--echo",
    "--send",
    "t-near",
    "--monitor",
    "t-near",
    "--from",
    "t-near",
    "--to",
    "t-far",
    "--receive",
    "t-far",
];
const LAW: [&str; 4] = ["--frames", "20", "--warm-up", "5"];

fn hop_is_there(number: u8) -> bool {
    Path::new(&format!("/sys/class/net/hop{number}")).exists()
}

#[test]
#[ignore = "runs in a guest"]
fn every_route_more_is_a_pass_more() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    let Some(_with) = WithMaxHops::new(6) else { return };
    let _buses = [Bus::new("near"), Bus::new("far")];
    let all = figures(&[&ENDS[..], &LAW[..]].concat());
    let chains = all["chains"].as_array().unwrap();
    assert_eq!(chains.iter().map(|chain| chain["routes"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    for chain in chains {
        assert_eq!((&chain["lost"], &chain["latency"]["count"]), (&0.into(), &20.into()), "{chain}");
    }
    assert!(all["pass_ns"].is_f64() && all["rest_ns"].is_f64(), "{all}");
    assert!(!(1..=5).any(hop_is_there), "what was made for the measurement is gone after it");
    if counts_instructions() {
        // The frame goes round the same loop once more for each route.
        assert!(all["r_squared"].as_f64().unwrap() > 0.99, "{all}");
        assert!((1_000.0..10_000.0).contains(&all["pass_ns"].as_f64().unwrap()), "{all}");
    }
}

#[test]
#[ignore = "runs in a guest"]
fn chains_that_the_module_does_not_allow_are_refused_before_anything_is_made() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan, Feature::Cangw]) else { return };
    if kernel::max_hops() != 1 {
        return skip(Feature::Cangw, "it is loaded with another max_hops than 1");
    }
    let _buses = [Bus::new("near"), Bus::new("far")];
    let mut command = Command::new(lab());
    command.args(ENDS).args(["--routes", "3"]);
    let told = said(command);
    assert_eq!(told.status, 2, "{told:?}");
    for part in ["max_hops=1", "--module-parameter can_gw.max_hops=3", "modprobe can-gw max_hops=3", "--routes 1"] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    assert!(!hop_is_there(1));
}
