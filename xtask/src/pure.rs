//! Proof that the pure crates need no operating system: they build for bare WebAssembly.

use crate::{static_build, step};

const TARGET: &str = "wasm32-unknown-unknown";

/// No clock, file, socket or environment.
pub(crate) const PURE: [&str; 14] = [
    "candor-core",
    "candor-bus",
    "candor-bounds",
    "candor-bpf",
    "candor-signals",
    "candor-e2e",
    "candor-guard",
    "candor-secoc",
    "candor-learn",
    "candor-link",
    "candor-recording",
    "candor-sja1000",
    "candor-egress",
    "candor-config",
];

pub(crate) fn run() -> anyhow::Result<()> {
    static_build::ensure_target(TARGET)?;
    for package in PURE {
        step::run(step::cargo().args(["check", "--quiet", "--package", package, "--target", TARGET]))?;
    }
    println!("pure: {} build for {TARGET}", PURE.join(", "));
    Ok(())
}
