//! `candor lab precision` with the log of the buses as its witness.

use super::{BIT_NS, NEEDS, Wire};
use crate::methods::figures;
use crate::require::require;

const GATEWAY: &str = "engine = \"read-write\"\n[bus.first]\ninterface = \"t-gate-in\"\n[bus.second]\ninterface = \"t-gate-out\"\n\
                       [[route]]\nname = \"all\"\nfrom = \"first\"\nto = \"second\"\n";

#[test]
fn stamps_are_held_against_the_wire() {
    let Some(_machine) = require(NEEDS) else { return };
    let first = "near:500k:t-send,t-monitor,t-gate-in";
    let wire = Wire::start(&["--bus", first, "--bus", "away:500k:t-gate-out,t-receive"]);
    let file = wire.folder.path().join("all.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let ends = ["--send", "t-send", "--monitor", "t-monitor", "--tap", "t-gate-in", "--receive", "t-receive"];
    let law = ["--frames", "30", "--warm-up", "5", "--loads", "none", "--wire-bitrate", "500kbit/s"];
    let witness = ["--buses", "near", "away", "--wire-log", wire.log.to_str().unwrap(), file.to_str().unwrap()];
    let all = figures(&[&["precision"], &ends[..], &law[..], &witness[..]].concat());
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
