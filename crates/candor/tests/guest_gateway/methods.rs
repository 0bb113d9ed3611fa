//! The papers' own methods, on a real kernel: whole, in their order, and with the shape that instructions give them.

mod can_send;
mod hops;
mod precision;
mod system_calls;

use std::process::Command;

use serde_json::Value;

use crate::candor::lab;

/// What a command of the laboratory says for programs, after it was measured.
pub(crate) fn figures(arguments: &[&str]) -> Value {
    let output = Command::new(lab()).args(arguments).arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether the clock of this machine counts instructions: then figures may be held against each other.
fn counts_instructions() -> bool {
    std::env::var("CANDOR_TESTBED").is_ok_and(|testbed| testbed == "icount")
}
