//! `candor-lab system-calls`: read() against recvmmsg(), write() against sendmmsg().

use std::process::Command;

use serde_json::{Value, json};

use super::{counts_instructions, figures};
use crate::candor::{lab, said};
use crate::require::{Bus, Feature, require};

const ARGUMENTS: [&str; 7] = ["system-calls", "--interface", "t-calls", "--points", "1,50,100,1500", "--repeats", "2"];

fn calls(arguments: &[&str]) -> Vec<Value> {
    figures(&[&ARGUMENTS[..], arguments].concat())["calls"].as_array().unwrap().clone()
}

#[test]
#[ignore = "runs in a guest"]
fn every_call_has_its_line() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let _bus = Bus::new("calls");
    let calls = calls(&[]);
    let names: Vec<_> = calls.iter().map(|call| call["call"].clone()).collect();
    let (receive, send) = (["read", "recvmmsg", "recvmmsg of 64"], ["write", "sendmmsg", "sendmmsg of 64"]);
    assert_eq!(names, [receive, send].concat());
    for call in &calls {
        let points = call["points"].as_array().unwrap();
        let frames: Vec<_> = points.iter().map(|point| point["frames"].clone()).collect();
        assert_eq!(frames, [1, 50, 100, 1500].map(|frames| json!(frames)));
        assert!(points.iter().all(|point| point["took_ns"].as_i64().unwrap() > 0), "{call}");
        assert!(call["intercept_ns"].is_f64(), "{call}");
    }
    if counts_instructions() {
        let slope = |position: usize| calls[position]["slope_ns_per_frame"].as_f64().unwrap();
        // Section 4.1: "For all system calls the time depends almost linearly on the number of frames."
        assert!(calls.iter().all(|call| call["r_squared"].as_f64().unwrap() > 0.99), "{calls:?}");
        // "The recvmmsg() system call is 7% faster than read()", and sending takes more than receiving.
        assert!(slope(1) < slope(0) && slope(0) < slope(3), "{calls:?}");
    }
}

/// Frames of 72 bytes take the same way.
#[test]
#[ignore = "runs in a guest"]
fn fd_frames_are_measured_too() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let bus = Bus::new("calls");
    bus.set_down();
    let mut client = candor_netlink::client::Client::open().unwrap();
    candor_netlink::link::set_mtu(&mut client, bus.index, 72).unwrap();
    bus.set_up();
    assert_eq!(calls(&["--frame", "123##1001122"]).len(), 6);
}

/// A frame that does not come, or a stranger, is told of and not measured around.
#[test]
#[ignore = "runs in a guest"]
fn what_cannot_be_measured_is_refused() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let refused = |interface: &str| {
        let mut command = Command::new(lab());
        command.args(["system-calls", "--interface", interface, "--points", "3"]);
        said(command)
    };
    let nowhere = refused("t-none");
    assert_eq!(nowhere.status, 2);
    assert!(nowhere.err.contains("t-none"), "{}", nowhere.err);
    let bus = Bus::new("calls");
    bus.set_down();
    assert_eq!(refused("t-calls").status, 2);
}
