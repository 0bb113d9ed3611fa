//! How many frames a program may write before it waits or fails: what `candor doctor egress` reckons, tried.

use std::process::Command;

use candor_core::frame::CANFD_MTU;
use candor_egress::text;
use serde_json::Value;

use super::{NEAR, NEEDS, Place};
use crate::candor::program;
use crate::frames::{classic, listener_on};
use crate::require::require;

const ENOBUFS: i32 = 105;
const EAGAIN: i32 = 11;

/// Writes until nothing more is taken: how many frames were, and why it ended.
fn fill(place: &Place) -> (u32, i32) {
    let socket = listener_on(place.pair.near);
    for count in 0.. {
        let mut bytes = [0; CANFD_MTU];
        let len = classic(0x123, &[0; 8]).to_kernel(&mut bytes);
        if let Err(error) = socket.send_now(&bytes[..len]) {
            return (count, error.raw_os_error().unwrap());
        }
    }
    unreachable!("it would take for ever")
}

/// What is said of `ENOBUFS`.
fn reckoned() -> String {
    let output = Command::new(program()).args(["doctor", "egress", "--interface", NEAR, "--json"]).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = said["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "ENOBUFS").unwrap();
    check["found"].as_str().unwrap().to_owned()
}

fn number_behind(text: &str, words: &str) -> u32 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no {words:?} in {text:?}"));
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "runs in a guest"]
fn who_waits_and_who_fails_is_reckoned_right() {
    let Some(_machine) = require(NEEDS) else { return };
    let mut place = Place::new();
    // One frame in ten seconds leaves, so that all of them wait.
    for (limit, expected) in [(10, ENOBUFS), (100, ENOBUFS), (1000, EAGAIN)] {
        let lines = format!(
            "qdisc root handle 1: tbf rate 13bit burst 16 limit 100000\nqdisc parent 1:1 handle 2: pfifo limit {limit}"
        );
        place.make(&text::parse(&lines).unwrap().tree).unwrap();
        let (frames, why) = fill(&place);
        let said = reckoned();
        let told = match expected {
            ENOBUFS => number_behind(&said, "comes after "),
            _ => number_behind(&said, "write() waits, at "),
        };
        assert_eq!(why, expected, "{limit}: {frames} frames; {said}");
        assert!(frames.abs_diff(told) <= 1, "{limit}: {frames} frames were taken; {said}");
        place.clear();
    }
}
