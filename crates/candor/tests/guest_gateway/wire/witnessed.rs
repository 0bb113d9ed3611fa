//! `candor-lab precision` with the log of the buses as its witness.

use std::process::Command;

use serde_json::Value;

use super::{BIT_NS, NEEDS, Wire};
use crate::candor::{lab, said};
use crate::methods::figures;
use crate::require::require;

const GATEWAY: &str = "engine = \"read-write\"\n[bus.first]\ninterface = \"t-gate-in\"\n[bus.second]\ninterface = \"t-gate-out\"\n\
                       [[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\n";
const BUSES: [&str; 4] = ["--bus", "near:500k:t-send,t-monitor,t-gate-in", "--bus", "away:500k:t-gate-out,t-receive"];
const ENDS: [&str; 6] = ["--send", "t-send", "--monitor", "t-monitor", "--receive", "t-receive"];
/// The clock of the adapter counts microseconds.
const TICK_NS: i64 = 1000;

/// 30 frames, with and without a gateway, by the tester's stamps and by the log of these buses.
fn precision(wire: &Wire, further: &[&str]) -> Value {
    let file = wire.folder.path().join("all.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let law = ["--frames", "30", "--warm-up", "5", "--loads", "none", "--wire-bitrate", "500kbit/s"];
    let witness = ["--buses", "near", "away", "--wire-log", wire.log.to_str().unwrap(), file.to_str().unwrap()];
    figures(&[&["precision", "--tap", "t-gate-in"], &ENDS[..], &law[..], further, &witness[..]].concat())
}

#[test]
#[ignore = "runs in a guest"]
fn stamps_are_held_against_the_wire() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&BUSES);
    let all = precision(&wire, &[]);
    let own = &all["own"][0];
    assert_eq!((&own["stamps"]["count"], &own["stamps"]["min_ns"]), (&30.into(), &0.into()), "{own}");
    assert!(own["sending"]["min_ns"].as_i64().unwrap() > 0, "{own}");
    let witnessed = &all["witnessed"];
    assert_eq!((&witnessed["gateway"], &witnessed["unseen"]), (&"all".into(), &0.into()));
    assert_eq!(witnessed["difference"]["count"], 30, "{witnessed}");
    // 30 frames more than those of the warm-up, on both buses; and those without a gateway on the first.
    let log = wire.end().frames();
    let on = |bus: &str| log.iter().filter(|logged| logged.bus == bus).count();
    assert_eq!((on("near"), on("away")), (70, 35));
    // The time on the second wire is in the latency: a frame of two bytes has 60 bits at least.
    let shortest = witnessed["by_witness"]["min_ns"].as_u64().unwrap();
    assert!(shortest > 60 * BIT_NS, "{witnessed}");
}

/// The log is the truth, and it knows nothing of USB, drivers and clocks.
#[test]
#[ignore = "runs in a guest"]
fn stamps_of_the_adapter_are_those_of_the_wire() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&[&BUSES[..], &["--adapter", "t-monitor,t-gate-in,t-receive"]].concat());
    let witnessed = precision(&wire, &["--stamps", "hardware"])["witnessed"].take();
    let difference = |of: &str| witnessed["difference"][of].as_i64().unwrap();
    assert_eq!((difference("count"), &witnessed["unseen"]), (30, &0.into()), "{witnessed}");
    // Each of two stamps is up to a tick before its moment.
    assert!(difference("min_ns") > -TICK_NS && difference("max_ns") < TICK_NS, "{witnessed}");
    let stamps = ["min_ns", "p50_ns", "max_ns"].map(|of| witnessed["by_stamps"][of].as_i64().unwrap());
    assert!(stamps.iter().all(|ns| ns % TICK_NS == 0), "they are the adapter's: {witnessed}");
    wire.end();
}

#[test]
#[ignore = "runs in a guest"]
fn stamps_of_two_clocks_are_refused() {
    let Some(_machine) = require(NEEDS) else { return };
    let wire = Wire::start(&BUSES);
    let file = wire.folder.path().join("all.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let mut tester = Command::new(lab());
    tester.arg("tester").args(ENDS).args(["--stamps", "hardware", "--records"]).arg(wire.folder.path()).arg(&file);
    let refused = said(tester);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.err.contains("t-monitor and t-receive are not channels of one adapter"), "{refused:?}");
    assert_eq!(wire.end().frames().len(), 0, "nothing was sent");
}
