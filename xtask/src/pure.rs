//! Proof that candor-core needs no operating system: it builds for bare WebAssembly.

use crate::{static_build, step};

const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn run() -> anyhow::Result<()> {
    static_build::ensure_target(TARGET)?;
    step::run(step::cargo().args(["check", "--quiet", "--package", "candor-core", "--target", TARGET]))?;
    println!("pure: candor-core builds for {TARGET}");
    Ok(())
}
