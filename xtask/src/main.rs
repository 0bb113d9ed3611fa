//! Every habit of the workspace as a command: `cargo xtask --help`.
#![forbid(unsafe_code)]

fn main() {}
