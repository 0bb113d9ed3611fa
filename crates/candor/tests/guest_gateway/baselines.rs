//! `candor-lab baseline` forwards frames like a gateway.

use std::io::{BufRead, BufReader};

use candor_config::engine::UserEngine;

use crate::prelude::*;
use crate::traffic::Traffic;

/// Frames in flight; fewer than any queue on the way holds.
const BURST: usize = 8;
const BURSTS: usize = 5;

/// A vxcan pair on each side: the far end also hears what a ring sends.
#[test]
#[ignore = "runs in a guest"]
fn every_baseline_forwards_bytes_in_order() {
    let Some(_machine) = require(VCAN) else { return };
    let (left, right) = (Pair::new(["t-l0", "t-l1"]), Pair::new(["t-r0", "t-r1"]));
    let [sender, listener] = [left.near, right.far].map(listener_on);
    for (engine, seed) in UserEngine::all().zip(1..) {
        let arguments = ["baseline", engine.name(), "--from", "t-l1", "--to", "t-r0"];
        let mut running = Guarded::spawn(Command::new(lab()).args(arguments).stdout(Stdio::piped()));
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), format!("ready: {engine} without rules, t-l1 to t-r0"));
        let mut traffic = Traffic::from_seed(seed);
        for _ in 0..BURSTS {
            let burst: Vec<Frame> = (0..BURST).map(|_| traffic.frame()).collect();
            burst.iter().for_each(|frame| send(&sender, frame));
            let heard: Vec<Frame> = burst.iter().map_while(|_| hear(&listener, PATIENCE)).collect();
            assert_eq!(heard, burst, "{engine}");
        }
        terminate(running);
    }
    assert_eq!(hear(&listener, Duration::ZERO), None, "a frame came twice");
}

#[test]
#[ignore = "runs in a guest"]
fn refuses_what_a_baseline_cannot_do() {
    let Some(_scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    for (arguments, expected) in [
        ("mmap-mmap --to t-right --echo", "transmit ring always suppresses echoes on t-right: omit --echo"),
        ("read-write --to t-none", "t-none not found"),
        ("kernel --to t-right", "invalid value 'kernel'"),
    ] {
        let words: Vec<_> = ["baseline", "--from", "t-left"].into_iter().chain(arguments.split(' ')).collect();
        lab_output(&words).assert(2, &[expected]);
    }
}
