//! `candor-lab baseline` forwards frames like a gateway.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_config::engine::UserEngine;
use candor_core::frame::Frame;
use candor_io::signal::{self, Signal};

use crate::candor::lab;
use crate::frames::{hear, listener_on, send};
use crate::pair::Pair;
use crate::require::{Bus, Feature, require};
use crate::traffic::Traffic;

const NEEDS: &[Feature] = &[Feature::Root, Feature::Vcan];
const PATIENCE: Duration = Duration::from_secs(20);
/// Frames that wait together; fewer than any queue on the way holds.
const BURST: usize = 8;
const BURSTS: usize = 5;

fn baseline(arguments: &[&str]) -> Command {
    let mut command = Command::new(lab());
    command.args(["baseline"]).args(arguments);
    command
}

/// A pair for each side: the far end hears what a ring sends, too.
#[test]
fn every_baseline_forwards_bytes_in_their_order() {
    let Some(_machine) = require(NEEDS) else { return };
    let (left, right) = (Pair::new(["t-l0", "t-l1"]), Pair::new(["t-r0", "t-r1"]));
    let [sends, hears] = [left.near, right.far].map(listener_on);
    for (engine, seed) in UserEngine::all().zip(1..) {
        let mut running =
            baseline(&[engine.name(), "--from", "t-l1", "--to", "t-r0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), format!("ready: {engine} without rules, t-l1 to t-r0"));
        let mut traffic = Traffic::from_seed(seed);
        for _ in 0..BURSTS {
            let burst: Vec<Frame> = (0..BURST).map(|_| traffic.frame()).collect();
            burst.iter().for_each(|frame| send(&sends, frame));
            let heard: Vec<Frame> = burst.iter().map_while(|_| hear(&hears, PATIENCE)).collect();
            assert_eq!(heard, burst, "{engine}");
        }
        signal::send(running.id(), Signal::Terminate).unwrap();
        assert!(running.wait().unwrap().success(), "{engine}");
    }
    assert_eq!(hear(&hears, Duration::ZERO), None, "a frame came twice");
}

#[test]
fn what_a_baseline_cannot_do_is_said() {
    let Some(_machine) = require(NEEDS) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let refused = |arguments: &[&str], expected: &str| {
        let output = baseline(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    let ring = ["mmap-mmap", "--from", "t-left", "--to", "t-right", "--echo"];
    refused(&ring, "A transmit ring does not echo on t-right, whatever one asks for: leave out --echo");
    refused(&["read-write", "--from", "t-left", "--to", "t-none"], "There is no interface t-none");
    refused(&["kernel", "--from", "t-left", "--to", "t-right"], "invalid value 'kernel'");
}
